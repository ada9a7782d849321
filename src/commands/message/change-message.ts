/** Use cases by which a customer changes an accepted message: cancel it, or give it another time. */

import { requireOwn } from '../../domain/kernel/aggregate.ts';
import type { MessageEvent } from '../../domain/kernel/events.ts';
import { messageStream } from '../../domain/kernel/streams.ts';
import {
  cancelMessage as decideCancel,
  rescheduleMessage as decideReschedule,
} from '../../domain/message/accept-message.ts';
import { type ExistingMessage, type Message, message } from '../../domain/message/message.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { type Change, execute } from '../execute.ts';

export interface ChangedMessage {
  readonly message: ExistingMessage;
  readonly revision: number;
}

export type ChangeContext = Pick<CommandContext, 'store' | 'system'>;

export interface ChangeMessage extends Change<Message> {
  readonly messageId: string;
}

type Decide = (
  before: Message,
  by: { readonly organizationId: string; readonly now: string },
) => readonly MessageEvent[];

const changeMessage = async (
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

/**
 * Cancels a message, possible until an attempt is claimed. Claim and cancellation are appended at the revision read, so
 * one of them is first and the other sees it.
 * @throws {DomainError} `not_found`, `other_organization`, `message_being_sent`, `message_ended`, `precondition_failed`.
 */
export const cancelMessage = (
  context: ChangeContext,
  origin: Origin,
  command: ChangeMessage,
): Promise<ChangedMessage> => changeMessage(context, origin, command, decideCancel);

/** Cancels some recipients of a message; the others still get theirs. @throws {DomainError} as `cancelMessage`. */
export const cancelRecipients = (
  context: ChangeContext,
  origin: Origin,
  {
    recipientIds,
    reason,
    ...command
  }: ChangeMessage & { readonly recipientIds: readonly string[]; readonly reason: string },
): Promise<ChangedMessage> =>
  changeMessage(context, origin, command, (before, by) =>
    decideCancel(before, { ...by, only: { recipientIds, reason } }),
  );

export interface RescheduleMessage extends ChangeMessage {
  /** ISO 8601. */
  readonly scheduledAt: string;
}

/**
 * Gives a scheduled message another time.
 * @throws {DomainError} `not_found`, `other_organization`, `message_being_sent`, `message_ended`, `message_not_scheduled`,
 * `schedule_not_possible`, `precondition_failed`.
 */
export const rescheduleMessage = (
  context: ChangeContext,
  origin: Origin,
  { scheduledAt, ...command }: RescheduleMessage,
): Promise<ChangedMessage> =>
  changeMessage(context, origin, command, (before, by) => decideReschedule(before, { ...by, scheduledAt }));
