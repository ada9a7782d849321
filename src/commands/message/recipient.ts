import { sha256 } from '../../domain/kernel/digest.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { SuppressionEvent } from '../../domain/kernel/events.ts';
import { messageStream, suppressionStream } from '../../domain/kernel/streams.ts';
import { type ExistingMessage, type Message, message } from '../../domain/message/message.ts';
import {
  recordEngagement as decideRecordEngagement,
  unsubscribeRecipient as decideUnsubscribeRecipient,
  type Engagement,
  hasUnsubscribed,
  lastUnsubscription,
  type UnsubscribeRecipient,
} from '../../domain/message/recipient-feedback.ts';
import { isLinkToken, type LinkPurpose, type ReturnToken, readLinkToken } from '../../domain/message/tokens.ts';
import {
  resubscribe as decideResubscribe,
  hasOptedIn,
  isInForce,
  type Resubscribe,
  type Suppression,
  strongestEntry,
  suppression,
  suppressionId,
} from '../../domain/suppression/suppression.ts';
import type { ExistingTopic } from '../../domain/topic/topic.ts';
import type { TrackedRecipient } from '../../domain/tracking/tracking.ts';
import { erasedRecord } from '../erasure.ts';
import {
  type CommandContext,
  eventContext,
  execute,
  internalOrigin,
  type LoadedStream,
  load,
  type Origin,
} from '../execute.ts';
import { recordSuppression } from '../suppression.ts';
import { findReturned, type ReportOutcome, secretOfMessage } from './record-report.ts';

/** A recipient's HTTP request to this service. */
export interface RecipientRequest extends Required<Pick<Origin, 'sourceClass'>> {
  readonly requestId: string;
}

/** The origin of a recipient's action. @param request null: not an HTTP request (mail). */
const recipientOrigin = (
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
  readonly message: LoadedStream<ExistingMessage>;
  readonly recipientId: string;
}

/** Keyed digest of the recipient's address. */
const digestOf = ({ message: { state }, recipientId }: LinkedRecipient): string =>
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

type LinkContext = Pick<CommandContext, 'store' | 'secrets' | 'system'>;

const notFound = (): DomainError => new DomainError('not_found', 'link not found');

/**
 * Finds the recipient of a link from its token, the log and the organization's secret.
 * @throws {DomainError} `not_found`: the same for an unknown message and for a forgery.
 */
export const findLinkedRecipient = async (
  context: LinkContext,
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
export const unsubscribeByMail = async (context: LinkContext, token: ReturnToken): Promise<ReportOutcome> => {
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

/**
 * The preferences of a link's recipient: all mail of the sender, and each topic individually. They are read from the log, so
 * that a page shows a choice made a moment ago. Choices apply to the recipient's own address only.
 */

type PreferenceContext = Pick<CommandContext, 'store' | 'contents' | 'system'>;

/** How the recipient of a link stands with the sender. */
export interface Preferences {
  /** The recipient has unsubscribed from all mail like this. */
  readonly hasLeft: boolean;
  /** The recipient has unsubscribed from the message's topic, or it is about none. */
  readonly hasLeftTopic: boolean;
  /** Something else keeps all mail like this back: a bounce, a complaint, or the sender's own list. */
  readonly isKeptBack: boolean;
  /** Ids of the topics that would be sent to the recipient, if nothing else were in the way. */
  readonly topicIds: ReadonlySet<string>;
}

const listOf = async ({ store }: PreferenceContext, recipient: LinkedRecipient): Promise<Suppression> => {
  const id = suppressionId(recipient.message.state.environment, digestOf(recipient));
  return (await load(store, suppression, suppressionStream(id))).state;
};

const gets = (list: Suppression, { topicId, ...topic }: ExistingTopic, now: string): boolean => {
  const entries = list.status === 'absent' ? [] : list.entries;
  if (entries.some((entry) => entry.topicId === topicId && isInForce(entry, now))) return false;
  return topic.default === 'in' || hasOptedIn(list, topicId);
};

const preferencesIn = (
  { message: { state }, recipientId }: LinkedRecipient,
  list: Suppression,
  topics: readonly ExistingTopic[],
  now: string,
): Preferences => {
  const { stream, topic } = state.accepted;
  const has = (topicId: string | null): boolean =>
    hasUnsubscribed(state, { recipientId, topicId, suppression: list, now });
  const entry = strongestEntry(list, { stream, topicId: null }, now);
  const hasLeftTopic = topic !== undefined && has(topic.id);
  const wanted = topics.filter((each) => gets(list, each, now) && !(each.topicId === topic?.id && hasLeftTopic));
  return {
    hasLeft: has(null) || entry?.reason === 'unsubscribe',
    hasLeftTopic,
    isKeptBack: entry !== null && entry.reason !== 'unsubscribe',
    topicIds: new Set(wanted.map(({ topicId }) => topicId)),
  };
};

/** @param topics the topics of the sender. */
export const readPreferences = async (
  context: PreferenceContext,
  recipient: LinkedRecipient,
  topics: readonly ExistingTopic[] = [],
): Promise<Preferences> =>
  preferencesIn(recipient, await listOf(context, recipient), topics, context.system.now().toISOString());

/** null where the vault does not hold it any more. */
const addressOf = async (
  { contents }: PreferenceContext,
  { message: { state }, recipientId }: LinkedRecipient,
): Promise<string | null> => {
  const { contentId } = state.accepted;
  const head = (await contents.heads([contentId])).get(contentId);
  return head?.kind === 'message' ? (head.recipients.find(({ id }) => id === recipientId)?.address ?? null) : null;
};

const resubscribeTo = async (
  context: PreferenceContext,
  recipient: LinkedRecipient,
  request: RecipientRequest,
  to: Resubscribe['to'],
): Promise<readonly SuppressionEvent[]> => {
  const { message, recipientId } = recipient;
  const { system } = context;
  const { organizationId, environment, accepted } = message.state;
  const digest = digestOf(recipient);
  const id = suppressionId(environment, digest);
  const contentId = system.uuid();
  const body = { kind: 'suppression', address: await addressOf(context, recipient), text: null } as const;
  const source = { messageId: accepted.messageId, recipientId, eventId: null };
  const { events } = await execute(context, {
    aggregate: suppression,
    stream: suppressionStream(id),
    context: eventContext(recipientOrigin(message.state, recipientId, request), system.now().toISOString()),
    decide: (list) => decideResubscribe(list, { suppressionId: id, digest, contentId, source, to }),
    contents: [{ id: contentId, organizationId, body }],
  });
  return events;
};

/** To what the recipient has unsubscribed from by the message of the link itself. */
const backTo = ({ message: { state }, recipientId }: LinkedRecipient, topicId: string | null) => ({
  topicId,
  said: lastUnsubscription(state, { recipientId, topicId }),
  isTicked: false,
});

/** Takes back what the recipient of a link unsubscribed from: the message's topic, and all mail like it. */
export const resubscribe = async (
  context: PreferenceContext,
  recipient: LinkedRecipient,
  request: RecipientRequest,
): Promise<void> => {
  const { topic } = recipient.message.state.accepted;
  const ids = topic === undefined ? [null] : [null, topic.id];
  await resubscribeTo(
    context,
    recipient,
    request,
    ids.map((topicId) => backTo(recipient, topicId)),
  );
};

/** A refusal of a topic that the message of the link is not about: it is no mark on that message. */
const leaveTopic = async (
  context: PreferenceContext,
  recipient: LinkedRecipient,
  request: RecipientRequest,
  topicId: string,
): Promise<void> => {
  const { message, recipientId } = recipient;
  const { state } = message;
  if (topicId === state.accepted.topic?.id) {
    await recordUnsubscription(context, recipient, { method: 'page', topicId, request });
    return;
  }
  await recordSuppression(context, recipientOrigin(state, recipientId, request), {
    environment: state.environment,
    digest: digestOf(recipient),
    address: await addressOf(context, recipient),
    reason: 'unsubscribe',
    scope: 'topic',
    topicId,
    expiresAt: null,
    text: null,
    causedAt: null,
    source: { messageId: state.accepted.messageId, recipientId, eventId: null },
  });
};

interface SavePreferences {
  /** Those that the recipient was shown. */
  readonly topics: readonly ExistingTopic[];
  /** Those of them that the recipient ticked. */
  readonly wanted: ReadonlySet<string>;
}

/**
 * Records the choice of a recipient, topic by topic: after a fault some are recorded, and the same choice again completes
 * it. Who had unsubscribed from all mail and wants a topic is subscribed again. What is ticked is recorded each time: an
 * unsubscription from before it may not be on the list yet, and does not count any more once it gets there.
 */
export const savePreferences = async (
  context: PreferenceContext,
  recipient: LinkedRecipient,
  request: RecipientRequest,
  { topics, wanted }: SavePreferences,
): Promise<void> => {
  const before = await readPreferences(context, recipient, topics);
  const ticked = topics.filter(({ topicId }) => wanted.has(topicId));
  const left = topics.filter(({ topicId }) => !wanted.has(topicId) && before.topicIds.has(topicId));
  const to = [
    ...(before.hasLeft && wanted.size > 0 ? [backTo(recipient, null)] : []),
    ...ticked.map(({ topicId }) => ({ topicId, said: null, isTicked: true })),
  ];
  if (to.length > 0) await resubscribeTo(context, recipient, request, to);
  for (const { topicId } of left) await leaveTopic(context, recipient, request, topicId);
};

/** Engagements of one recipient, as the tracking requests reported them. */
export interface RecordEngagement extends TrackedRecipient {
  /** `url`: address of the link; null: the message was opened. */
  readonly engagements: readonly (Omit<Engagement, 'click'> & {
    readonly click: { readonly link: number; readonly links: number; readonly url: string } | null;
  })[];
}

/** The same for the same link of a message: its address is stored once. A UUID (RFC 9562 §5.8). */
const linkIdOf = (messageId: string, link: number, url: string): string => {
  const bytes = sha256(`${messageId}\0${link}\0${url}`).subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
};

/**
 * Records openings and clicks of one recipient that were gathered over some seconds; of a message that is not there,
 * nothing.
 */
export const recordEngagement = async (
  context: Pick<CommandContext, 'store' | 'contents' | 'system'>,
  { messageId, recipientId, engagements }: RecordEngagement,
): Promise<void> => {
  const stream = messageStream(messageId);
  const known = await load(context.store, message, stream);
  if (known.state.status === 'absent') return;
  const { organizationId } = known.state;
  const told = engagements.map(({ click, ...engagement }) => {
    if (click === null) return { ...engagement, click };
    const { link, links, url } = click;
    return { ...engagement, click: { link, links, linkId: linkIdOf(messageId, link, url) } };
  });
  const urls = engagements.flatMap(({ click }) =>
    click === null ? [] : [[linkIdOf(messageId, click.link, click.url), click.url] as const],
  );
  // Links name people as well: of an erased message none is stored any more.
  const erased = urls.length === 0 ? null : await erasedRecord(context.contents, known.state.accepted.contentId);
  await execute(context, {
    aggregate: message,
    stream,
    known,
    context: eventContext(recipientOrigin(known.state, recipientId, null), context.system.now().toISOString()),
    decide: (state) => decideRecordEngagement(state, { recipientId, engagements: told }),
    contents: [...new Map(urls)].map(([id, url]) => ({
      id,
      organizationId,
      body: erased ?? { kind: 'link', messageId, url },
    })),
  });
};
