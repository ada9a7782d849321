import { timingSafeEqual } from 'node:crypto';
import { keyedBytes } from '../kernel/digest.ts';
import { bytesOfId, formatId, ID_BYTES } from '../kernel/ids.ts';

/**
 * Links to attachments of inbound messages, which need no API key. The token names the message, the part and the last day, with
 * an HMAC that is keyed by the secret of the organization.
 */

/** Days for which a link works at least. Programs that wait longer get a new one from the API. */
export const ATTACHMENT_LINK_DAYS = 7;

const DAY_MS = 86_400_000;
/** More than enough: tokens of all links have the same length. */
const MAC_BYTES = 28;
const NUMBER_BYTES = 2;
/** 48 bytes leave no unused bits, so each token has one spelling. */
const TOKEN = /^[\w-]{64}$/;

interface AttachmentPlace {
  readonly inboundId: string;
  /** Place among the parts of the mail. */
  readonly part: number;
}

/** Claim made by a link. It is unproved until the MAC is checked with the organization's secret. */
interface AttachmentLink extends AttachmentPlace {
  /** Days since 1970 (UTC) at whose end the link has expired. */
  readonly day: number;
  readonly mac: Buffer;
}

const macOf = (secret: Uint8Array, { inboundId, part, day }: Omit<AttachmentLink, 'mac'>): Buffer =>
  keyedBytes(secret, 'inbound attachment', `${inboundId}\0${part}\0${day}`).subarray(0, MAC_BYTES);

const numbered = (value: number): Buffer => {
  const bytes = Buffer.alloc(NUMBER_BYTES);
  bytes.writeUInt16BE(value);
  return bytes;
};

/**
 * A link ends with a day (UTC), so that all that are made on one day are the same.
 * @param publicUrl base URL of this service, without a trailing slash.
 */
export const attachmentLink = (
  secret: Uint8Array,
  { now, publicUrl, ...place }: AttachmentPlace & { readonly now: Date; readonly publicUrl: string },
): { readonly url: string; readonly expiresAt: string } => {
  const day = Math.floor(now.getTime() / DAY_MS) + ATTACHMENT_LINK_DAYS;
  const mac = macOf(secret, { ...place, day });
  const token = Buffer.concat([bytesOfId(place.inboundId), numbered(place.part), numbered(day), mac]);
  const link = { ...place, day, mac };
  return { url: `${publicUrl}/inbound-attachments/${token.toString('base64url')}`, expiresAt: expiryOf(link) };
};

/** ISO 8601. */
export const expiryOf = ({ day }: AttachmentLink): string => new Date((day + 1) * DAY_MS).toISOString();

/** Parses a token; null if the text cannot be one. */
export const readAttachmentLink = (text: string): AttachmentLink | null => {
  if (!TOKEN.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  return {
    inboundId: formatId('inb', bytes.subarray(0, ID_BYTES)),
    part: bytes.readUInt16BE(ID_BYTES),
    day: bytes.readUInt16BE(ID_BYTES + NUMBER_BYTES),
    mac: bytes.subarray(ID_BYTES + 2 * NUMBER_BYTES),
  };
};

/** Whether the link was made with this secret. Takes constant time. */
export const isAttachmentLink = (secret: Uint8Array, link: AttachmentLink): boolean =>
  timingSafeEqual(macOf(secret, link), link.mac);
