import { sha256 } from '../../domain/kernel/digest.ts';
import { messageStream } from '../../domain/kernel/streams.ts';
import { message } from '../../domain/message/message.ts';
import {
  recordEngagement as decideRecordEngagement,
  type Engagement,
} from '../../domain/message/recipient-feedback.ts';
import type { TrackedRecipient } from '../../domain/tracking/tracking.ts';
import { type CommandContext, eventContext } from '../context.ts';
import { erasedRecord } from '../erasure.ts';
import { execute, load } from '../execute.ts';
import { recipientOrigin } from './unsubscribe-recipient.ts';

/** Engagements of one recipient, as the tracking requests reported them. */
export interface RecordEngagement extends TrackedRecipient {
  /** `url`: address of the link; null: the message was opened. */
  readonly engagements: readonly (Omit<Engagement, 'click'> & {
    readonly click: { readonly link: number; readonly links: number; readonly url: string } | null;
  })[];
}

/** The same for the same link of a message: its address is stored once. A UUID (RFC 9562 §5.8). */
const linkIdOf = (messageId: string, link: number, url: string): string => {
  const bytes = sha256(`${messageId}\0${link}\0${url}`).subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
};

/**
 * Records openings and clicks of one recipient that were gathered over some seconds; of a message that is not there,
 * nothing.
 */
export const recordEngagement = async (
  context: Pick<CommandContext, 'store' | 'contents' | 'system'>,
  { messageId, recipientId, engagements }: RecordEngagement,
): Promise<void> => {
  const stream = messageStream(messageId);
  const known = await load(context.store, message, stream);
  if (known.state.status === 'absent') return;
  const { organizationId } = known.state;
  const told = engagements.map(({ click, ...engagement }) => {
    if (click === null) return { ...engagement, click };
    const { link, links, url } = click;
    return { ...engagement, click: { link, links, linkId: linkIdOf(messageId, link, url) } };
  });
  const urls = engagements.flatMap(({ click }) =>
    click === null ? [] : [[linkIdOf(messageId, click.link, click.url), click.url] as const],
  );
  // Links name people as well: of an erased message none is stored any more.
  const erased = urls.length === 0 ? null : await erasedRecord(context.contents, known.state.accepted.contentId);
  await execute(context, {
    aggregate: message,
    stream,
    known,
    context: eventContext(recipientOrigin(known.state, recipientId, null), context.system.now().toISOString()),
    decide: (state) => decideRecordEngagement(state, { recipientId, engagements: told }),
    contents: [...new Map(urls)].map(([id, url]) => ({
      id,
      organizationId,
      body: erased ?? { kind: 'link', messageId, url },
    })),
  });
};
