import type { ExistingMessage, Message } from '../../domain/message/message.ts';
import { message, messageStream } from '../../domain/message/message.ts';
import {
  unsubscribeRecipient as decide,
  hasUnsubscribed,
  type UnsubscribeRecipient,
} from '../../domain/message/unsubscribe-recipient.ts';
import {
  type Suppression,
  suppression,
  suppressionId,
  suppressionStream,
} from '../../domain/suppression/suppression.ts';
import { type CommandContext, eventContext } from '../context.ts';
import { execute, type Loaded, load } from '../execute.ts';
import { type RecipientRequest, recipientOrigin } from './recipient-origin.ts';

type Context = Pick<CommandContext, 'store' | 'system'>;

/** A recipient of a message of ours. */
export interface LinkedRecipient {
  readonly message: Loaded<ExistingMessage>;
  readonly recipientId: string;
}

/** Read only for who has unsubscribed before: the word of anybody else is recorded, whatever the list says. */
const suppressionOf = async (
  { store }: Context,
  { message: { state }, recipientId }: LinkedRecipient,
): Promise<Suppression> => {
  const isNew = state.recipients.every(({ id, unsubscribedAt }) => id !== recipientId || unsubscribedAt === null);
  const digest = state.accepted.recipients.find(({ id }) => id === recipientId)?.digest;
  if (isNew || digest === undefined) return suppression.initial;
  return (await load(store, suppression, suppressionStream(suppressionId(state.environment, digest)))).state;
};

/** Whether the recipient has unsubscribed, and is on the list for it, or about to be. */
export const isRecipientUnsubscribed = async (context: Context, recipient: LinkedRecipient): Promise<boolean> =>
  hasUnsubscribed(recipient.message.state, {
    recipientId: recipient.recipientId,
    suppression: await suppressionOf(context, recipient),
    now: context.system.now().toISOString(),
  });

/**
 * Records that a recipient wants no more mail; again only where his address was taken off the list since.
 * @param by `request`: null where it was not by a request to this service.
 * @returns whether something was written.
 */
export const recordUnsubscription = async (
  context: Context,
  recipient: LinkedRecipient,
  { method, request }: Pick<UnsubscribeRecipient, 'method'> & { readonly request: RecipientRequest | null },
): Promise<boolean> => {
  const { message: known, recipientId } = recipient;
  const list = await suppressionOf(context, recipient);
  const now = context.system.now().toISOString();
  const { events } = await execute(context, {
    aggregate: message,
    stream: messageStream(known.state.accepted.messageId),
    context: eventContext(recipientOrigin(known.state, recipientId, request), now),
    decide: (state: Message) => decide(state, { recipientId, method, suppression: list, now }),
    known,
  });
  return events.length > 0;
};
