import { DomainError } from '../domain-error.ts';
import type { MessageEvent } from '../events.ts';
import { requireOwn } from '../ownership.ts';
import { isBeingSent, lostAttempt, lostLeases, withDoubt } from './lease.ts';
import type { ExistingMessage, Message, Recipient } from './message.ts';
import { numbered, type UnnumberedEvent } from './numbered.ts';
import { isOpen } from './status.ts';

export interface CancelMessage {
  readonly organizationId: string;
  /** ISO 8601. */
  readonly now: string;
}

const CALLED_OFF = 'cancelled by its sender';

/** Attempts whose leases have run out are put on record first, as the next attempt would have done. */
const lost = (message: ExistingMessage, now: string): readonly UnnumberedEvent[] =>
  lostLeases(message.recipients, now).map((lease) => lostAttempt(message, { ...lease, nextAttemptAt: now }));

const cancelled = ({ accepted }: ExistingMessage, recipient: Recipient): UnnumberedEvent => {
  const { messageId, contentId } = accepted;
  const reason = withDoubt(CALLED_OFF, recipient);
  return { type: 'RecipientCancelled', data: { messageId, contentId, recipientId: recipient.id, reason } };
};

/**
 * Calls off whoever has not got it yet. Again changes nothing, so that a retry is answered as the first was.
 * @throws {DomainError} `not_found`, `other_organization`, `message_being_sent` (nothing is cancelled then), `message_ended`.
 */
export const cancelMessage = (state: Message, { organizationId, now }: CancelMessage): readonly MessageEvent[] => {
  const message = requireOwn(state, organizationId, 'message');
  if (isBeingSent(message, now)) {
    throw new DomainError('message_being_sent', 'the message is being handed over at this moment');
  }
  const open = message.recipients.filter(({ status }) => isOpen(status));
  if (open.length > 0) {
    return numbered(message, [...lost(message, now), ...open.map((recipient) => cancelled(message, recipient))]);
  }
  if (message.recipients.some(({ status }) => status === 'cancelled')) return [];
  throw new DomainError('message_ended', 'every recipient of the message has its final outcome: send a new message');
};
