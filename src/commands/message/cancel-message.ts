import { cancelMessage as decide } from '../../domain/message/cancel-message.ts';
import { type ExistingMessage, message, messageStream } from '../../domain/message/message.ts';
import { requireOwn } from '../../domain/ownership.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, execute } from '../execute.ts';

export interface ChangedMessage {
  readonly message: ExistingMessage;
  readonly revision: number;
}

/**
 * Calls a message off until the instant it is claimed: claim and cancellation are appended at the revision read, so one
 * of them is first and the other sees it.
 * @throws {Refusal} `not_found`, `other_organization`, `message_being_sent`, `message_ended`, `precondition_failed`.
 */
export const cancelMessage = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  { messageId, ...condition }: Condition & { readonly messageId: string },
): Promise<ChangedMessage> => {
  const { organizationId } = origin;
  const now = context.system.now().toISOString();
  const { state, revision } = await execute(context, {
    aggregate: message,
    stream: messageStream(messageId),
    context: eventContext(origin, now),
    decide: (before) => decide(before, { organizationId, now }),
    ...condition,
  });
  return { message: requireOwn(state, organizationId, 'message'), revision: Number(revision) };
};
