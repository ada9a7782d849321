import { rescheduleMessage as decide } from '../../domain/message/reschedule-message.ts';
import type { Origin } from '../context.ts';
import { type ChangeContext, type ChangedMessage, type ChangeMessage, changeMessage } from './change-message.ts';

export interface RescheduleMessage extends ChangeMessage {
  /** ISO 8601. */
  readonly scheduledAt: string;
}

/**
 * Gives a message that waits for its time another one.
 * @throws {DomainError} `not_found`, `other_organization`, `message_being_sent`, `message_ended`, `message_not_scheduled`,
 * `schedule_not_possible`, `precondition_failed`.
 */
export const rescheduleMessage = (
  context: ChangeContext,
  origin: Origin,
  { scheduledAt, ...command }: RescheduleMessage,
): Promise<ChangedMessage> =>
  changeMessage(context, origin, command, (before, by) => decide(before, { ...by, scheduledAt }));
