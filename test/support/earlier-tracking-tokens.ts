import { createHmac } from 'node:crypto';
import { bytesOfId } from '../../src/domain/kernel/ids.ts';
import type { TrackedRecipient, TrackingKeys } from '../../src/domain/tracking/tracking.ts';

/** Paths of tracked links and images from versions whose tokens named no organization. */

const tokenOf = (
  [key]: TrackingKeys,
  purpose: 'click' | 'open',
  { messageId, recipientId, link, links }: TrackedRecipient & { readonly link: number; readonly links: number },
  url: string,
): string => {
  const head = Buffer.alloc(38);
  head.set(key.id, 0);
  head.set(bytesOfId(messageId), 2);
  head.set(bytesOfId(recipientId), 18);
  head.writeUInt16BE(link, 34);
  head.writeUInt16BE(links, 36);
  const mac = createHmac('sha256', key.bytes)
    .update(`${purpose}\0${head.toString('latin1')}\0${url}`)
    .digest();
  return Buffer.concat([head, mac.subarray(0, 16)]).toString('base64url');
};

export const earlierClickToken = (
  keys: TrackingKeys,
  link: TrackedRecipient & { readonly link: number; readonly links: number },
  url: string,
): string => tokenOf(keys, 'click', link, url);

export const earlierOpenToken = (keys: TrackingKeys, copy: TrackedRecipient): string =>
  tokenOf(keys, 'open', { ...copy, link: 0, links: 0 }, '');
