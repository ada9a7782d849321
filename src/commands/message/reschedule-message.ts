import { message, messageStream } from '../../domain/message/message.ts';
import { rescheduleMessage as decide } from '../../domain/message/reschedule-message.ts';
import { requireOwn } from '../../domain/ownership.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, execute } from '../execute.ts';
import type { ChangedMessage } from './cancel-message.ts';

export interface RescheduleMessage extends Condition {
  readonly messageId: string;
  /** ISO 8601. */
  readonly scheduledAt: string;
}

/**
 * Gives a message that waits for its time another one.
 * @throws {Refusal} `not_found`, `other_organization`, `message_being_sent`, `message_ended`, `message_not_scheduled`,
 * `schedule_not_possible`, `precondition_failed`.
 */
export const rescheduleMessage = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  { messageId, scheduledAt, ...condition }: RescheduleMessage,
): Promise<ChangedMessage> => {
  const { organizationId } = origin;
  const now = context.system.now().toISOString();
  const { state, revision } = await execute(context, {
    aggregate: message,
    stream: messageStream(messageId),
    context: eventContext(origin, now),
    decide: (before) => decide(before, { organizationId, scheduledAt, now }),
    ...condition,
  });
  return { message: requireOwn(state, organizationId, 'message'), revision: Number(revision) };
};
