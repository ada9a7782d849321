/**
 * The preferences of a link's recipient: all mail of the sender, and each topic individually. They are read from the log, so
 * that a page shows a choice made a moment ago. Choices apply to the recipient's own address only.
 */
import type { SuppressionEvent } from '../../domain/kernel/events.ts';
import { suppressionStream } from '../../domain/kernel/streams.ts';
import { hasUnsubscribed, lastUnsubscription } from '../../domain/message/recipient-feedback.ts';
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
import { type CommandContext, eventContext } from '../context.ts';
import { execute, load } from '../execute.ts';
import { recordSuppression } from '../suppression/change-suppression.ts';
import {
  digestOf,
  type LinkedRecipient,
  type RecipientRequest,
  recipientOrigin,
  recordUnsubscription,
} from './unsubscribe-recipient.ts';

type Context = Pick<CommandContext, 'store' | 'contents' | 'system'>;

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

const listOf = async ({ store }: Context, recipient: LinkedRecipient): Promise<Suppression> => {
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
  context: Context,
  recipient: LinkedRecipient,
  topics: readonly ExistingTopic[] = [],
): Promise<Preferences> =>
  preferencesIn(recipient, await listOf(context, recipient), topics, context.system.now().toISOString());

/** null where the vault does not hold it any more. */
const addressOf = async (
  { contents }: Context,
  { message: { state }, recipientId }: LinkedRecipient,
): Promise<string | null> => {
  const { contentId } = state.accepted;
  const head = (await contents.heads([contentId])).get(contentId);
  return head?.kind === 'message' ? (head.recipients.find(({ id }) => id === recipientId)?.address ?? null) : null;
};

const resubscribeTo = async (
  context: Context,
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
  context: Context,
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
  context: Context,
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

export interface SavePreferences {
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
  context: Context,
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
