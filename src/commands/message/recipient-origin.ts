import type { ExistingMessage } from '../../domain/message/message.ts';
import type { Origin } from '../context.ts';

/** What a recipient does to a message. @param requestId null: not by a request to this service. */
export const recipientOrigin = (
  { organizationId, environment, accepted: { messageId } }: ExistingMessage,
  recipientId: string,
  requestId: string | null,
): Origin => ({
  ...{ actor: `recipient:${recipientId}`, requestId, organizationId, environment },
  ...{ correlationId: messageId, causationId: requestId ?? messageId },
});
