import { DomainError } from '../../domain/domain-error.ts';
import { type ExistingMessage, message, messageStream } from '../../domain/message/message.ts';
import type { UnsubscribeRecipient } from '../../domain/message/unsubscribe-recipient.ts';
import { isUnsubscribeToken, readUnsubscribeToken } from '../../domain/message/unsubscribe-token.ts';
import type { CommandContext } from '../context.ts';
import { load } from '../execute.ts';
import type { RecipientRequest } from './recipient-origin.ts';
import { type LinkedRecipient, recordUnsubscription } from './record-unsubscription.ts';
import { secretOfMessage } from './secret-of-message.ts';

type Context = Pick<CommandContext, 'store' | 'secrets' | 'system'>;

const notFound = (): DomainError => new DomainError('not_found', 'there is no such link');

/**
 * Finds out whom an unsubscribe link is for, from the link, the log and the organization's secret alone.
 * @throws {DomainError} `not_found`: it was not made by us; the same for a message that is not there and for a forgery.
 */
export const findLinkedRecipient = async (context: Context, text: string): Promise<LinkedRecipient> => {
  const token = readUnsubscribeToken(text);
  if (token === null) throw notFound();
  const { messageId, recipientId } = token;
  const { state, revision } = await load(context.store, message, messageStream(messageId));
  const isOurs = isUnsubscribeToken(await secretOfMessage(context.secrets, state), token);
  if (!isOurs || state.status === 'absent') throw notFound();
  if (!state.recipients.some(({ id }) => id === recipientId)) throw notFound();
  return { message: { state, revision }, recipientId };
};

/**
 * Records that the recipient of a link wants no more mail; a second time nothing is written, unless his address was taken
 * off the list since.
 * @returns the message.
 * @throws {DomainError} `not_found`.
 */
export const unsubscribeRecipient = async (
  context: Context,
  { token, ...by }: Pick<UnsubscribeRecipient, 'method'> & { token: string; request: RecipientRequest },
): Promise<ExistingMessage> => {
  const recipient = await findLinkedRecipient(context, token);
  await recordUnsubscription(context, recipient, by);
  return recipient.message.state;
};
