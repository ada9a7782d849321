import { DomainError } from '../../domain/kernel/errors.ts';
import { messageStream, suppressionStream } from '../../domain/kernel/streams.ts';
import { type ExistingMessage, type Message, message } from '../../domain/message/message.ts';
import {
  unsubscribeRecipient as decideUnsubscribeRecipient,
  lastUnsubscription,
  type UnsubscribeRecipient,
} from '../../domain/message/recipient-feedback.ts';
import { isLinkToken, type LinkPurpose, type ReturnToken, readLinkToken } from '../../domain/message/tokens.ts';
import { type Suppression, suppression, suppressionId } from '../../domain/suppression/suppression.ts';
import { type CommandContext, eventContext, internalOrigin, type Origin } from '../context.ts';
import { execute, type Loaded, load } from '../execute.ts';
import { findReturned, type ReportOutcome, secretOfMessage } from './record-report.ts';

/** A recipient's HTTP request to this service. */
export interface RecipientRequest extends Required<Pick<Origin, 'sourceClass'>> {
  readonly requestId: string;
}

/** The origin of a recipient's action. @param request null: not an HTTP request (mail). */
export const recipientOrigin = (
  { organizationId, environment, accepted: { messageId } }: ExistingMessage,
  recipientId: string,
  request: RecipientRequest | null,
): Origin => ({
  ...internalOrigin({ actor: `recipient:${recipientId}`, organizationId, environment, causeId: messageId }),
  ...request,
  causationId: request?.requestId ?? messageId,
});

type Tools = Pick<CommandContext, 'store' | 'system'>;

/** A recipient that a link or address identifies. */
export interface LinkedRecipient {
  readonly message: Loaded<ExistingMessage>;
  readonly recipientId: string;
}

/** Keyed digest of the recipient's address. */
export const digestOf = ({ message: { state }, recipientId }: LinkedRecipient): string =>
  state.accepted.recipients.find(({ id }) => id === recipientId)?.digest ?? '';

/** Loaded only for recipients that unsubscribed before: a first unsubscription is always recorded. */
const suppressionOf = async (
  { store }: Tools,
  recipient: LinkedRecipient,
  topicId: string | null,
): Promise<Suppression> => {
  const { state } = recipient.message;
  if (lastUnsubscription(state, { recipientId: recipient.recipientId, topicId }) === null) return suppression.initial;
  const id = suppressionId(state.environment, digestOf(recipient));
  return (await load(store, suppression, suppressionStream(id))).state;
};

/**
 * Records an unsubscription, and a repeated one only if the first was withdrawn.
 * @param by `topicId`: from this topic only; `request`: null if it was not a request to this service.
 * @returns whether it was recorded.
 */
export const recordUnsubscription = async (
  context: Tools,
  recipient: LinkedRecipient,
  {
    method,
    topicId,
    request,
  }: Pick<UnsubscribeRecipient, 'method' | 'topicId'> & { readonly request: RecipientRequest | null },
): Promise<boolean> => {
  const { message: known, recipientId } = recipient;
  const list = await suppressionOf(context, recipient, topicId);
  const now = context.system.now().toISOString();
  const { events } = await execute(context, {
    aggregate: message,
    stream: messageStream(known.state.accepted.messageId),
    context: eventContext(recipientOrigin(known.state, recipientId, request), now),
    decide: (state: Message) =>
      decideUnsubscribeRecipient(state, { recipientId, method, topicId, suppression: list, now }),
    known,
  });
  return events.length > 0;
};

type Context = Pick<CommandContext, 'store' | 'secrets' | 'system'>;

const notFound = (): DomainError => new DomainError('not_found', 'there is no such link');

/**
 * Finds the recipient of a link from its token, the log and the organization's secret.
 * @throws {DomainError} `not_found`: the same for an unknown message and for a forgery.
 */
export const findLinkedRecipient = async (
  context: Context,
  purpose: LinkPurpose,
  text: string,
): Promise<LinkedRecipient> => {
  const token = readLinkToken(text);
  if (token === null) throw notFound();
  const { messageId, recipientId } = token;
  const { state, revision } = await load(context.store, message, messageStream(messageId));
  const isOurs = isLinkToken(await secretOfMessage(context.secrets, state), purpose, token);
  if (!isOurs || state.status === 'absent') throw notFound();
  if (!state.recipients.some(({ id }) => id === recipientId)) throw notFound();
  return { message: { state, revision }, recipientId };
};

/**
 * Unsubscribes the recipient that wrote to the address of its `List-Unsubscribe` (RFC 2369 §3.2). Text and sender do not
 * matter: only the recipient knows the address.
 */
export const unsubscribeByMail = async (context: Context, token: ReturnToken): Promise<ReportOutcome> => {
  const returned = await findReturned(context, [token]);
  if (returned === null) return 'forged';
  const [place = -1, ...others] = returned.places;
  const { id: recipientId } = (others.length === 0 ? returned.message.state.recipients[place] : undefined) ?? {};
  if (recipientId === undefined) return 'unmatched';
  const linked = { message: returned.message, recipientId };
  const topicId = returned.message.state.accepted.topic?.id ?? null;
  const isNew = await recordUnsubscription(context, linked, { method: 'mail', topicId, request: null });
  return isNew ? 'unsubscribed' : 'unchanged';
};
