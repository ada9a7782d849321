import type { MessageEvent } from '../../domain/events.ts';
import { type ExistingMessage, type Message, message, messageStream } from '../../domain/message/message.ts';
import { requireOwn } from '../../domain/ownership.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Condition, execute } from '../execute.ts';

export interface ChangedMessage {
  readonly message: ExistingMessage;
  readonly revision: number;
}

export type ChangeContext = Pick<CommandContext, 'store' | 'system'>;

export interface ChangeMessage extends Condition {
  readonly messageId: string;
}

type Decide = (
  before: Message,
  by: { readonly organizationId: string; readonly now: string },
) => readonly MessageEvent[];

/** What the customer decides about a message that was accepted. @throws {DomainError} as `decide` does, and `precondition_failed`. */
export const changeMessage = async (
  context: ChangeContext,
  origin: Origin,
  { messageId, ...condition }: ChangeMessage,
  decide: Decide,
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
