import { DomainError } from '../domain-error.ts';
import type { MessageEvent } from '../events.ts';
import { requireOwn } from '../ownership.ts';
import { isBeingSent } from './lease.ts';
import type { ExistingMessage, Message } from './message.ts';
import { numbered } from './numbered.ts';
import { requireSchedulable } from './schedule.ts';
import { isOpen } from './status.ts';

export interface RescheduleMessage {
  readonly organizationId: string;
  /** ISO 8601, as is `now`. */
  readonly scheduledAt: string;
  readonly now: string;
}

const notScheduled = (message: ExistingMessage, now: string): DomainError => {
  if (isBeingSent(message, now)) {
    return new DomainError('message_being_sent', 'the message is being handed over at this moment');
  }
  if (message.recipients.some(({ status }) => isOpen(status))) {
    return new DomainError('message_not_scheduled', 'the message does not wait for a time that was set');
  }
  return new DomainError('message_ended', 'every recipient of the message has its final outcome: send a new message');
};

/**
 * Gives a message that waits for its time another one; its time to live is as long as it was, from then on. The time
 * that it has already changes nothing.
 * @throws {DomainError} `not_found`, `other_organization`, `message_being_sent`, `message_ended`, `message_not_scheduled`,
 * `schedule_not_possible`.
 */
export const rescheduleMessage = (
  state: Message,
  { organizationId, scheduledAt, now }: RescheduleMessage,
): readonly MessageEvent[] => {
  const message = requireOwn(state, organizationId, 'message');
  const { schedule, accepted, recipients } = message;
  const recipientIds = recipients.filter(({ status }) => status === 'scheduled').map(({ id }) => id);
  if (schedule === null || recipientIds.length === 0) throw notScheduled(message, now);
  if (schedule.current === scheduledAt) return [];
  requireSchedulable(scheduledAt, now);
  const expiresAt = new Date(Date.parse(scheduledAt) + message.timeToLiveMs).toISOString();
  const { messageId, contentId } = accepted;
  const data = { messageId, contentId, recipientIds, scheduledAt, expiresAt };
  return numbered(message, [{ type: 'MessageRescheduled', data }]);
};
