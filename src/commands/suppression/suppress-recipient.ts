import { message } from '../../domain/message/message.ts';
import type { Contents, StoredHead } from '../../domain/ports/contents.ts';
import { messageStream } from '../../domain/streams.ts';
import { type SuppressingEvent, suppressionFor } from '../../domain/suppression/suppressing-event.ts';
import type { CommandContext, Origin } from '../context.ts';
import { load } from '../execute.ts';
import { recordSuppression } from './change-suppression.ts';

const originOf = ({ id, metadata }: SuppressingEvent): Origin => ({
  actor: 'worker:suppress-recipients',
  requestId: null,
  organizationId: metadata.organizationId,
  environment: metadata.environment,
  correlationId: metadata.$correlationId,
  causationId: id,
});

const replyIdOf = ({ type, data }: SuppressingEvent): string | null =>
  type === 'RecipientBounced' ? data.smtp.replyId : null;

/** The address and the server's reply; null once erased from the vault. */
const evidenceOf = async (contents: Pick<Contents, 'heads'>, event: SuppressingEvent) => {
  const replyId = replyIdOf(event);
  const { contentId, recipientId } = event.data;
  const found = await contents.heads(replyId === null ? [contentId] : [contentId, replyId]);
  const body = found.get(contentId);
  const reply: StoredHead | undefined = found.get(replyId ?? '');
  const recipients = body?.kind === 'message' ? body.recipients : [];
  return {
    address: recipients.find(({ id }) => id === recipientId)?.address ?? null,
    text: reply?.kind === 'reply' ? reply.text : null,
  };
};

/**
 * Suppresses the address of a bounce, a complaint or an unsubscription. Idempotent for an event.
 */
export const suppressRecipient = async (
  context: Pick<CommandContext, 'store' | 'contents' | 'system'>,
  event: SuppressingEvent,
): Promise<void> => {
  const { messageId, recipientId } = event.data;
  const { state } = await load(context.store, message, messageStream(messageId));
  if (state.status === 'absent') return;
  const recipient = state.accepted.recipients.find(({ id }) => id === recipientId);
  if (recipient === undefined) return;
  await recordSuppression(context, originOf(event), {
    environment: state.environment,
    digest: recipient.digest,
    expiresAt: null,
    ...suppressionFor(event, state.accepted.stream),
    ...(await evidenceOf(context.contents, event)),
    source: { messageId, recipientId, eventId: event.id },
    causedAt: event.position,
  });
};
