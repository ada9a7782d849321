import type { ExistingMessage } from '../../domain/message/message.ts';
import type { Origin } from '../context.ts';

/** A request of a recipient to this service. */
export interface RecipientRequest extends Required<Pick<Origin, 'sourceClass'>> {
  readonly requestId: string;
}

/** What a recipient does to a message. @param request null: not by a request to this service. */
export const recipientOrigin = (
  { organizationId, environment, accepted: { messageId } }: ExistingMessage,
  recipientId: string,
  request: RecipientRequest | null,
): Origin => ({
  ...{ actor: `recipient:${recipientId}`, requestId: null, organizationId, environment },
  ...request,
  ...{ correlationId: messageId, causationId: request?.requestId ?? messageId },
});
