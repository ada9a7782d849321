import { cancelMessage as decide } from '../../domain/message/cancel-message.ts';
import type { Origin } from '../context.ts';
import { type ChangeContext, type ChangedMessage, type ChangeMessage, changeMessage } from './change-message.ts';

/**
 * Calls a message off until the instant it is claimed: claim and cancellation are appended at the revision read, so one
 * of them is first and the other sees it.
 * @throws {DomainError} `not_found`, `other_organization`, `message_being_sent`, `message_ended`, `precondition_failed`.
 */
export const cancelMessage = (
  context: ChangeContext,
  origin: Origin,
  command: ChangeMessage,
): Promise<ChangedMessage> => changeMessage(context, origin, command, decide);
