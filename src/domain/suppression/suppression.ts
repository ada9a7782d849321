import { suppresses } from '../bounce/categories.ts';
import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import { sha256 } from '../kernel/digest.ts';
import type { Environment } from '../kernel/environment.ts';
import { DomainError } from '../kernel/errors.ts';
import type { EventContext, Position, RecordedEvent } from '../kernel/event-store.ts';
import type { MessageEvent, SuppressionEvent } from '../kernel/events.ts';
import { formatId } from '../kernel/ids.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import type { SuppressionReason, SuppressionScope } from './events.ts';

type Addition = Extract<SuppressionEvent, { type: 'SuppressionAdded' }>['data'];
type ResubscriptionData = Extract<SuppressionEvent, { type: 'AddressResubscribed' }>['data'];

/** One reason to suppress an address. */
export interface SuppressionEntry
  extends Pick<Addition, 'reason' | 'scope' | 'topicId' | 'expiresAt' | 'contentId' | 'source'> {
  readonly addedAt: string;
  /** Null unless it was removed. */
  readonly removedAt: string | null;
}

/** The last time the owner of the address subscribed again, or subscribed to a topic. */
export interface Resubscription extends Pick<ResubscriptionData, 'topicId' | 'contentId' | 'source'> {
  readonly at: string;
  /** Log position; null if unknown, which only happens outside decisions. */
  readonly position: Position | null;
  /** True if not unsubscribed since, as required by a topic that is sent only to those who opted in. */
  readonly isOptIn: boolean;
}

/** Everything recorded against one address, in force or not. */
export interface ExistingSuppression {
  readonly status: 'listed';
  readonly suppressionId: string;
  readonly organizationId: string;
  readonly environment: Environment;
  readonly digest: string;
  /** The latest entry for each reason and scope, in order of addition. At most 15, plus those of topics. */
  readonly entries: readonly SuppressionEntry[];
  /** The latest resubscription for each topic, and the one for all mail. */
  readonly resubscriptions: readonly Resubscription[];
  readonly createdAt: string;
  /** Time of the latest addition. */
  readonly addedAt: string;
  /** Time of the last removal; null: never. */
  readonly removedAt: string | null;
  /** Log position of that removal. */
  readonly removedPosition: Position | null;
}

export type Suppression = { readonly status: 'absent' } | ExistingSuppression;

/**
 * Derived from environment and address. The organization's secret keys the digest, so ids of organizations never
 * collide.
 */
export const suppressionId = (environment: Environment, digest: string): string =>
  formatId('sup', sha256(`${environment}\0${digest}`));

type Kind = Pick<Addition, 'reason' | 'scope' | 'topicId'>;

const isSameKind =
  (data: Kind) =>
  ({ reason, scope, topicId }: SuppressionEntry): boolean =>
    reason === data.reason && scope === data.scope && topicId === data.topicId;

/** Whether an entry is the owner's own unsubscription from a topic, or from all mail of a message class (null). */
const isUnsubscription =
  (topicId: string | null) =>
  (entry: SuppressionEntry): boolean =>
    entry.reason === 'unsubscribe' && (entry.topicId ?? null) === topicId;

const add = (before: readonly SuppressionEntry[], data: Addition, addedAt: string): readonly SuppressionEntry[] => {
  const { reason, scope, topicId, expiresAt, contentId, source } = data;
  const others = before.filter((entry) => !isSameKind(data)(entry));
  const about = topicId === undefined ? { reason, scope } : { reason, scope, topicId };
  return [...others, { ...about, expiresAt, contentId, source, addedAt, removedAt: null }];
};

type EntryLists = Pick<ExistingSuppression, 'entries' | 'resubscriptions'>;

const afterAddition = ({ entries, resubscriptions }: EntryLists, data: Addition, at: string): EntryLists => ({
  entries: add(entries, data, at),
  resubscriptions: resubscriptions.map((each) => (each.topicId === data.topicId ? { ...each, isOptIn: false } : each)),
});

const afterResubscription = (
  { entries, resubscriptions }: EntryLists,
  { topicId, contentId, source }: ResubscriptionData,
  at: string,
  position: Position | null,
): EntryLists => {
  const isEnded = isUnsubscription(topicId);
  return {
    entries: entries.map((entry) => (isEnded(entry) ? { ...entry, removedAt: entry.removedAt ?? at } : entry)),
    resubscriptions: [
      ...resubscriptions.filter((each) => each.topicId !== topicId),
      { topicId, contentId, source, at, position, isOptIn: topicId !== null },
    ],
  };
};

const NOTHING: EntryLists = { entries: [], resubscriptions: [] };

type RecordingEvent = Exclude<SuppressionEvent, { type: 'SuppressionRemoved' }>;

const applyRecording = (
  state: Suppression,
  { type, data }: RecordingEvent,
  { organizationId, environment, occurredAt }: EventContext,
  position: Position | null,
): ExistingSuppression => {
  const before = state.status === 'absent' ? NOTHING : state;
  const isAddition = type === 'SuppressionAdded';
  const changed = isAddition
    ? afterAddition(before, data, occurredAt)
    : afterResubscription(before, data, occurredAt, position);
  if (state.status !== 'absent') return { ...state, ...changed, addedAt: isAddition ? occurredAt : state.addedAt };
  return {
    status: 'listed',
    suppressionId: data.suppressionId,
    organizationId,
    environment: environment ?? 'live',
    digest: data.digest,
    ...changed,
    createdAt: occurredAt,
    addedAt: occurredAt,
    removedAt: null,
    removedPosition: null,
  };
};

export const suppression: Aggregate<Suppression, SuppressionEvent> = {
  category: CATEGORIES.suppression,
  initial: { status: 'absent' },
  evolve: (state, event, context, position = null) => {
    switch (event.type) {
      case 'SuppressionAdded':
      case 'AddressResubscribed':
        return applyRecording(state, event, context, position);
      case 'SuppressionRemoved': {
        if (state.status === 'absent') return state;
        const { occurredAt } = context;
        const entries = state.entries.map((entry) => ({ ...entry, removedAt: entry.removedAt ?? occurredAt }));
        return { ...state, entries, removedAt: occurredAt, removedPosition: position };
      }
      default:
        return event satisfies never;
    }
  },
};

/** @param now ISO 8601. */
export const isInForce = ({ expiresAt, removedAt }: SuppressionEntry, now: string): boolean =>
  removedAt === null && (expiresAt === null || expiresAt > now);

/** The properties of a message on which scopes depend. */
interface MailKind {
  readonly stream: 'transactional' | 'bulk';
  /** Null if the message has no topic. */
  readonly topicId: string | null;
}

/** Whether the scope includes such messages. */
const covers = ({ scope, topicId }: Pick<SuppressionEntry, 'scope' | 'topicId'>, mail: MailKind): boolean =>
  scope === 'topic' ? topicId === mail.topicId : scope === 'all' || scope === mail.stream;

/** The entry of the same reason and scope, in force or not. */
const entryOfKind = ({ entries }: ExistingSuppression, kind: Kind): SuppressionEntry | undefined =>
  entries.find(isSameKind(kind));

/**
 * Recipients who subscribe to a topic also reverse their unsubscription from all mail. The sender cannot do that for
 * them.
 */
const takesBack = ({ topicId, source }: Resubscription, from: string | null): boolean =>
  topicId === from || (from === null && source !== null);

/** Compares positions. Null is an event being written now, which comes after all others. */
const isAfter = (one: Position | null, other: Position | null): boolean =>
  one !== null && other !== null && one > other;

/** Whether the address was removed from the list after this log position. */
const isRemovedAfter = (state: Suppression, said: Position | null): boolean =>
  state.status !== 'absent' && isAfter(state.removedPosition, said);

/**
 * Whether an unsubscription, from a topic or from all mail (null), was reversed by a later resubscription. The order of
 * the log decides: clocks of processes differ, and two events can share a millisecond.
 */
const isTakenBackAfter = (state: Suppression, topicId: string | null, said: Position | null): boolean =>
  state.status !== 'absent' &&
  state.resubscriptions.some((each) => takesBack(each, topicId) && isAfter(each.position, said));

/** Topics to which the owner of the address subscribed without unsubscribing since. */
export const optIns = (state: Suppression): readonly (Resubscription & { readonly topicId: string })[] =>
  state.status === 'absent'
    ? []
    : state.resubscriptions.flatMap((each) => {
        const { topicId, isOptIn } = each;
        return isOptIn && topicId !== null ? [{ ...each, topicId }] : [];
      });

export const hasOptedIn = (state: Suppression, topicId: string): boolean =>
  optIns(state).some((each) => each.topicId === topicId);

/** Strongest first: the recipient's own decision, then the recipient's server, then the customer. */
const STRENGTH: readonly SuppressionReason[] = ['complaint', 'unsubscribe', 'bounce', 'manual', 'import'];

const WIDTH: Readonly<Record<SuppressionScope, number>> = { all: 0, transactional: 1, bulk: 1, topic: 2 };

/** Orders entries by scope, widest first, then by reason. */
const rank = ({ scope, reason }: SuppressionEntry): number => WIDTH[scope] * STRENGTH.length + STRENGTH.indexOf(reason);

export const strongest = (entries: readonly SuppressionEntry[]): SuppressionEntry | null =>
  entries.toSorted((left, right) => rank(left) - rank(right))[0] ?? null;

/**
 * The strongest entry that blocks such mail to an address, or null.
 * @param now ISO 8601. Entries that have expired by then are not in force.
 */
export const strongestEntry = (state: Suppression, mail: MailKind, now: string): SuppressionEntry | null => {
  if (state.status === 'absent') return null;
  return strongest(state.entries.filter((entry) => isInForce(entry, now) && covers(entry, mail)));
};

/** Time of a statement by the recorder's clock, and its log position; null: it is being recorded now. */
export interface Statement {
  readonly at: string;
  readonly position: Position | null;
}

interface IsUnsubscribed {
  readonly stream: 'transactional' | 'bulk';
  /** Topic to unsubscribe from; null for all mail of the message class. */
  readonly topicId: string | null;
  /** The recipient's last unsubscription. */
  readonly said: Statement;
  /** ISO 8601. */
  readonly now: string;
}

/**
 * Whether an unsubscription is still valid: while it is on the list, and in the moment before it gets there. It is not
 * if it was removed, reversed or has expired since.
 */
export const isUnsubscribed = (state: Suppression, { topicId, said, now, ...mail }: IsUnsubscribed): boolean => {
  if (state.status === 'absent') return true;
  const unsubscribed = state.entries.filter(isUnsubscription(topicId));
  if (unsubscribed.some((entry) => isInForce(entry, now) && covers(entry, { ...mail, topicId }))) return true;
  if (isRemovedAfter(state, said.position) || isTakenBackAfter(state, topicId, said.position)) return false;
  // Expiry has no event, so the clock decides.
  return !unsubscribed.some(
    (entry) => entry.removedAt === null && !isInForce(entry, now) && (entry.expiresAt ?? now) >= said.at,
  );
};

export interface AddSuppression extends Addition {
  /** ISO 8601. */
  readonly now: string;
  /** Log position of the event that caused it; null if someone requests it now. */
  readonly causedAt: Position | null;
}

/**
 * Whether a later removal or resubscription cancels the cause: an event that is read late or twice must not suppress
 * the address again.
 */
const isForgiven = (state: Suppression, { causedAt, reason, topicId }: AddSuppression): boolean => {
  if (isRemovedAfter(state, causedAt)) return true;
  return reason === 'unsubscribe' && isTakenBackAfter(state, topicId ?? null, causedAt);
};

const isKnown = (state: Suppression, command: AddSuppression): boolean => {
  if (state.status === 'absent') return false;
  const entry = entryOfKind(state, command);
  if (entry === undefined || !isInForce(entry, command.now)) return false;
  return command.source !== null || entry.expiresAt === command.expiresAt;
};

/**
 * Adds an entry unless one of the same reason and scope is in force. Adding it manually with another expiry changes the
 * expiry.
 * @throws {DomainError} `invalid_request` if it has already expired.
 */
export const addSuppression = (state: Suppression, command: AddSuppression): readonly SuppressionEvent[] => {
  const { now, causedAt: _, ...data } = command;
  if (data.expiresAt !== null && data.expiresAt <= now) {
    const problem = 'expires_at must be in the future';
    throw new DomainError('invalid_request', problem, { details: { expires_at: [problem] } });
  }
  return isKnown(state, command) || isForgiven(state, command) ? [] : [{ type: 'SuppressionAdded', data }];
};

export interface Resubscribe
  extends Omit<Extract<SuppressionEvent, { type: 'AddressResubscribed' }>['data'], 'topicId'> {
  readonly to: readonly {
    /** Null for all mail except topics that were unsubscribed from separately. */
    readonly topicId: string | null;
    /** The owner's last unsubscription through the message whose link was followed; otherwise null. */
    readonly said: Statement | null;
    /**
     * True if it must be recorded even if nothing seems to need reversal: an unsubscription may not be on the list yet.
     */
    readonly isTicked: boolean;
  }[];
}

const isNews = (state: Suppression, { topicId, said, isTicked }: Resubscribe['to'][number]): boolean => {
  if (isTicked) return true;
  const entries = state.status === 'absent' ? [] : state.entries;
  const isListed = entries.some(
    (entry) => entry.reason === 'unsubscribe' && (entry.topicId ?? null) === topicId && entry.removedAt === null,
  );
  return isListed || (said !== null && !isTakenBackAfter(state, topicId, said.position));
};

/**
 * Reverses unsubscriptions, including those that are not on the list yet, and subscribes to topics. Repeating it has no
 * further effect.
 */
export const resubscribe = (state: Suppression, { to, ...data }: Resubscribe): readonly SuppressionEvent[] =>
  to
    .filter((each) => isNews(state, each))
    .map(({ topicId }) => ({ type: 'AddressResubscribed', data: { ...data, topicId } }));

/** The required owner of a suppression. */
interface Owner {
  readonly organizationId: string;
  readonly environment: Environment;
}

/** Returns the suppression if it belongs to the caller's organization and environment. @throws {DomainError} */
export const requireSuppression = (state: Suppression, { organizationId, environment }: Owner): ExistingSuppression => {
  const existing = requireOwn(state, organizationId, 'suppression');
  if (existing.environment !== environment) throw new DomainError('not_found', 'suppression not found');
  return existing;
};

/**
 * Removes an address from the list. Repeating it has no effect.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const removeSuppression = (state: Suppression, by: Owner): readonly SuppressionEvent[] => {
  const { suppressionId, entries } = requireSuppression(state, by);
  const last = entries.findLast(({ removedAt }) => removedAt === null);
  if (last === undefined) return [];
  return [{ type: 'SuppressionRemoved', data: { suppressionId, contentId: last.contentId } }];
};

type Suppressing = Extract<
  MessageEvent,
  { type: 'RecipientBounced' | 'RecipientComplained' | 'RecipientUnsubscribed' }
>;

/** An event that suppresses an address. */
export type SuppressingEvent = RecordedEvent<Suppressing>;

/**
 * A bounce suppresses only if its category blames the address. A report that any of several recipients could have
 * caused never suppresses.
 */
export const isSuppressing = (event: RecordedEvent): event is SuppressingEvent => {
  switch (event.type) {
    case 'RecipientBounced':
      return event.data.shared !== true && event.data.category !== undefined && suppresses(event.data.category);
    case 'RecipientComplained':
      return event.data.shared !== true;
    case 'RecipientUnsubscribed':
      return true;
    default:
      return false;
  }
};

/**
 * The suppression that an event causes. A bounce or complaint suppresses all mail. Unsubscribing from bulk mail still
 * allows transactional mail; unsubscribing from transactional mail ends bulk mail too. Unsubscribing from a topic ends
 * only that topic.
 */
export const suppressionFor = (
  { type, data }: Pick<Suppressing, 'type' | 'data'>,
  stream: 'transactional' | 'bulk',
): { readonly reason: SuppressionReason; readonly scope: SuppressionScope; readonly topicId?: string } => {
  switch (type) {
    case 'RecipientBounced':
      return { reason: 'bounce', scope: 'all' };
    case 'RecipientComplained':
      return { reason: 'complaint', scope: 'all' };
    case 'RecipientUnsubscribed': {
      const topicId = 'topicId' in data ? data.topicId : undefined;
      if (topicId !== undefined) return { reason: 'unsubscribe', scope: 'topic', topicId };
      return { reason: 'unsubscribe', scope: stream === 'bulk' ? 'bulk' : 'all' };
    }
    default:
      return type satisfies never;
  }
};
