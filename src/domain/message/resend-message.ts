import { requireOwn } from '../kernel/aggregate.ts';
import { DomainError } from '../kernel/errors.ts';
import type { MessageEvent } from '../kernel/events.ts';
import { type ExistingMessage, type Message, type Recipient, type RecipientStatus, withSequence } from './message.ts';

/**
 * Sends a message again, as a new message, to recipients that it did not reach. Each recipient is sent to again at most
 * once, so that repeating the request sends nothing twice. A recipient that the new message does not reach either can be
 * sent to again from there.
 */

/** Final outcomes without a delivery that the sender did not ask for. */
const UNREACHED: readonly RecipientStatus[] = ['bounced', 'failed', 'expired', 'suppressed'];

const isUnreached = ({ status }: Recipient): boolean => UNREACHED.includes(status);

const problemOf = ({ recipients }: ExistingMessage, id: string, index: number): string | null => {
  const recipient = recipients.find((each) => each.id === id);
  if (recipient === undefined) return `recipient_ids[${index}] is not a recipient of the message`;
  return isUnreached(recipient) ? null : `recipient_ids[${index}] is ${recipient.status}`;
};

/**
 * The recipients that can be sent to again, including those that were.
 * @param named ids; null: all that the message did not reach.
 * @throws {DomainError} `nothing_to_resend`.
 */
export const unreachedRecipients = (
  message: ExistingMessage,
  named: readonly string[] | null,
): readonly Recipient[] => {
  const problems = (named ?? []).flatMap((id, index) => problemOf(message, id, index) ?? []);
  const unreached = message.recipients.filter(
    (recipient) => isUnreached(recipient) && (named === null || named.includes(recipient.id)),
  );
  if (unreached.length > 0 && problems.length === 0) return unreached;
  const sentence = 'no recipient of the message has bounced, failed, expired or been suppressed';
  throw new DomainError('nothing_to_resend', problems[0] ?? sentence, {
    ...(problems.length === 0 ? {} : { details: { recipient_ids: problems } }),
  });
};

interface ResendMessage {
  readonly organizationId: string;
  readonly recipientIds: readonly string[];
  /** Id of the new message. */
  readonly resentAs: string;
}

/**
 * Reserves recipients for a new message: all of them, or none if another request has reserved one.
 * @throws {DomainError} `not_found`, `other_organization`, `nothing_to_resend`.
 */
export const resendMessage = (
  state: Message,
  { organizationId, recipientIds, resentAs }: ResendMessage,
): readonly MessageEvent[] => {
  const message = requireOwn(state, organizationId, 'message');
  if (unreachedRecipients(message, recipientIds).some((recipient) => recipient.resentAs !== null)) return [];
  const { messageId, contentId } = message.accepted;
  return withSequence(message, [
    { type: 'RecipientsResent', data: { messageId, contentId, recipientIds: [...recipientIds], resentAs } },
  ]);
};
