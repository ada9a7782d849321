import type { Aggregate } from '../aggregate.ts';
import { sha256 } from '../digest.ts';
import type { Environment } from '../environment.ts';
import type { SuppressionEvent } from '../events.ts';
import { formatId } from '../ids.ts';
import type { EventContext, Position } from '../ports/event-store.ts';
import { CATEGORIES } from '../streams.ts';
import type { SuppressionReason, SuppressionScope } from './events.ts';

type Added = Extract<SuppressionEvent, { type: 'SuppressionAdded' }>['data'];
type Resubscribed = Extract<SuppressionEvent, { type: 'AddressResubscribed' }>['data'];

/** One reason to suppress an address. */
export interface SuppressionEntry
  extends Pick<Added, 'reason' | 'scope' | 'topicId' | 'expiresAt' | 'contentId' | 'source'> {
  readonly addedAt: string;
  /** null: it was not taken back. */
  readonly removedAt: string | null;
}

/** The last time that the owner of the address subscribed again, or to a topic. */
export interface Resubscription extends Pick<Resubscribed, 'topicId' | 'contentId' | 'source'> {
  readonly at: string;
  /** In the log; null: not known, where nothing is decided. */
  readonly position: Position | null;
  /** Not refused since: what a topic needs that is sent only to those who opted in. */
  readonly isOptIn: boolean;
}

/** All that is known against one address, in force or not. */
export interface ExistingSuppression {
  readonly status: 'listed';
  readonly suppressionId: string;
  readonly organizationId: string;
  readonly environment: Environment;
  readonly digest: string;
  /** The latest for each reason and scope, so there are 15 at most beside those of topics; in the order of addition. */
  readonly entries: readonly SuppressionEntry[];
  /** The latest for each topic, and the one for all mail. */
  readonly resubscriptions: readonly Resubscription[];
  readonly createdAt: string;
  /** When the latest entry was added. */
  readonly addedAt: string;
  /** When it was last taken back; null: never. */
  readonly removedAt: string | null;
  /** Of that removal, in the log. */
  readonly removedPosition: Position | null;
}

export type Suppression = { readonly status: 'absent' } | ExistingSuppression;

/** One for each environment and address; the digest is keyed by the organization's secret, so organizations never meet. */
export const suppressionId = (environment: Environment, digest: string): string =>
  formatId('sup', sha256(`${environment}\0${digest}`));

type Kind = Pick<Added, 'reason' | 'scope' | 'topicId'>;

const isSameKind =
  (data: Kind) =>
  ({ reason, scope, topicId }: SuppressionEntry): boolean =>
    reason === data.reason && scope === data.scope && topicId === data.topicId;

/** Whether an entry is the owner's own refusal of a topic, or of all mail of some stream (null). */
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

/** What a message is, as far as scopes go. */
export interface MailKind {
  readonly stream: 'transactional' | 'bulk';
  /** null: it is about no topic. */
  readonly topicId: string | null;
}

/** Whether it is about such messages. */
export const covers = ({ scope, topicId }: Pick<SuppressionEntry, 'scope' | 'topicId'>, mail: MailKind): boolean =>
  scope === 'topic' ? topicId === mail.topicId : scope === 'all' || scope === mail.stream;

/** The entry of the same reason and scope, in force or not. */
export const entryOfKind = ({ entries }: ExistingSuppression, kind: Kind): SuppressionEntry | undefined =>
  entries.find(isSameKind(kind));

/** Recipients who ask for a topic take back their unsubscription from all mail; the sender cannot do that for them. */
const takesBack = ({ topicId, source }: Resubscription, from: string | null): boolean =>
  topicId === from || (from === null && source !== null);

/** null: it is written right now, after all else. */
const isAfter = (one: Position | null, other: Position | null): boolean =>
  one !== null && other !== null && one > other;

/** Whether the address was removed from the list after this event of the log. */
export const isRemovedAfter = (state: Suppression, said: Position | null): boolean =>
  state.status !== 'absent' && isAfter(state.removedPosition, said);

/**
 * Whether an unsubscription, from a topic or from all mail (null), was taken back by subscribing after it. The order of the
 * log decides: clocks of processes differ, and two events can have the same millisecond.
 */
export const isTakenBackAfter = (state: Suppression, topicId: string | null, said: Position | null): boolean =>
  state.status !== 'absent' &&
  state.resubscriptions.some((each) => takesBack(each, topicId) && isAfter(each.position, said));

/** Topics that the owner of the address asked for, and has not refused since. */
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

/** By scope, the widest first, then by reason. */
const rank = ({ scope, reason }: SuppressionEntry): number => WIDTH[scope] * STRENGTH.length + STRENGTH.indexOf(reason);

export const strongest = (entries: readonly SuppressionEntry[]): SuppressionEntry | null =>
  entries.toSorted((left, right) => rank(left) - rank(right))[0] ?? null;

/**
 * What keeps such mail from an address; null: nothing does.
 * @param now ISO 8601: what has expired by then is not in force.
 */
export const strongestEntry = (state: Suppression, mail: MailKind, now: string): SuppressionEntry | null => {
  if (state.status === 'absent') return null;
  return strongest(state.entries.filter((entry) => isInForce(entry, now) && covers(entry, mail)));
};

/** When somebody said something, by the clock of who recorded it, and where in the log; null: right now. */
export interface Said {
  readonly at: string;
  readonly position: Position | null;
}

export interface IsUnsubscribed {
  readonly stream: 'transactional' | 'bulk';
  /** From a topic; null: from all mail of the stream. */
  readonly topicId: string | null;
  /** By the recipient, the last time. */
  readonly said: Said;
  /** ISO 8601. */
  readonly now: string;
}

/**
 * Whether an unsubscription still counts: while it is on the list, and before it gets there, which takes a moment. Not if it
 * was removed, taken back or has expired since.
 */
export const isUnsubscribed = (state: Suppression, { topicId, said, now, ...mail }: IsUnsubscribed): boolean => {
  if (state.status === 'absent') return true;
  const unsubscribed = state.entries.filter(isUnsubscription(topicId));
  if (unsubscribed.some((entry) => isInForce(entry, now) && covers(entry, { ...mail, topicId }))) return true;
  if (isRemovedAfter(state, said.position) || isTakenBackAfter(state, topicId, said.position)) return false;
  // No event tells of an expiry: here the clock decides.
  return !unsubscribed.some(
    (entry) => entry.removedAt === null && !isInForce(entry, now) && (entry.expiresAt ?? now) >= said.at,
  );
};
