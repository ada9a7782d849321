import type { Aggregate } from '../kernel/aggregate.ts';
import { sha256 } from '../kernel/digest.ts';
import type { EventContext, Position } from '../kernel/event-store.ts';
import type { SuppressionEvent } from '../kernel/events.ts';
import { type Environment, formatId } from '../kernel/ids.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import type { SuppressionReason, SuppressionScope } from './events.ts';

type Added = Extract<SuppressionEvent, { type: 'SuppressionAdded' }>['data'];
type Resubscribed = Extract<SuppressionEvent, { type: 'AddressResubscribed' }>['data'];

/** One reason to suppress an address. */
export interface SuppressionEntry
  extends Pick<Added, 'reason' | 'scope' | 'topicId' | 'expiresAt' | 'contentId' | 'source'> {
  readonly addedAt: string;
  /** Null unless it was removed. */
  readonly removedAt: string | null;
}

/** The last time the owner of the address subscribed again, or subscribed to a topic. */
export interface Resubscription extends Pick<Resubscribed, 'topicId' | 'contentId' | 'source'> {
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

type Kind = Pick<Added, 'reason' | 'scope' | 'topicId'>;

const isSameKind =
  (data: Kind) =>
  ({ reason, scope, topicId }: SuppressionEntry): boolean =>
    reason === data.reason && scope === data.scope && topicId === data.topicId;

/** Whether an entry is the owner's own unsubscription from a topic, or from all mail of a message class (null). */
const isUnsubscription =
  (topicId: string | null) =>
  (entry: SuppressionEntry): boolean =>
    entry.reason === 'unsubscribe' && (entry.topicId ?? null) === topicId;

const added = (before: readonly SuppressionEntry[], data: Added, addedAt: string): readonly SuppressionEntry[] => {
  const { reason, scope, topicId, expiresAt, contentId, source } = data;
  const others = before.filter((entry) => !isSameKind(data)(entry));
  const about = topicId === undefined ? { reason, scope } : { reason, scope, topicId };
  return [...others, { ...about, expiresAt, contentId, source, addedAt, removedAt: null }];
};

type Changed = Pick<ExistingSuppression, 'entries' | 'resubscriptions'>;

const afterAddition = ({ entries, resubscriptions }: Changed, data: Added, at: string): Changed => ({
  entries: added(entries, data, at),
  resubscriptions: resubscriptions.map((each) => (each.topicId === data.topicId ? { ...each, isOptIn: false } : each)),
});

const afterResubscription = (
  { entries, resubscriptions }: Changed,
  { topicId, contentId, source }: Resubscribed,
  at: string,
  position: Position | null,
): Changed => {
  const isEnded = isUnsubscription(topicId);
  return {
    entries: entries.map((entry) => (isEnded(entry) ? { ...entry, removedAt: entry.removedAt ?? at } : entry)),
    resubscriptions: [
      ...resubscriptions.filter((each) => each.topicId !== topicId),
      { topicId, contentId, source, at, position, isOptIn: topicId !== null },
    ],
  };
};

const NOTHING: Changed = { entries: [], resubscriptions: [] };

type Recorded = Exclude<SuppressionEvent, { type: 'SuppressionRemoved' }>;

const recorded = (
  state: Suppression,
  { type, data }: Recorded,
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
        return recorded(state, event, context, position);
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
export interface MailKind {
  readonly stream: 'transactional' | 'bulk';
  /** Null if the message has no topic. */
  readonly topicId: string | null;
}

/** Whether the scope includes such messages. */
export const covers = ({ scope, topicId }: Pick<SuppressionEntry, 'scope' | 'topicId'>, mail: MailKind): boolean =>
  scope === 'topic' ? topicId === mail.topicId : scope === 'all' || scope === mail.stream;

/** The entry of the same reason and scope, in force or not. */
export const entryOfKind = ({ entries }: ExistingSuppression, kind: Kind): SuppressionEntry | undefined =>
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
export const isRemovedAfter = (state: Suppression, said: Position | null): boolean =>
  state.status !== 'absent' && isAfter(state.removedPosition, said);

/**
 * Whether an unsubscription, from a topic or from all mail (null), was reversed by a later resubscription. The order of
 * the log decides: clocks of processes differ, and two events can share a millisecond.
 */
export const isTakenBackAfter = (state: Suppression, topicId: string | null, said: Position | null): boolean =>
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
export interface Said {
  readonly at: string;
  readonly position: Position | null;
}

export interface IsUnsubscribed {
  readonly stream: 'transactional' | 'bulk';
  /** Topic to unsubscribe from; null for all mail of the message class. */
  readonly topicId: string | null;
  /** The recipient's last unsubscription. */
  readonly said: Said;
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
