import type { Aggregate } from '../aggregate.ts';
import { sha256 } from '../digest.ts';
import type { Environment } from '../environment.ts';
import type { SuppressionEvent } from '../events.ts';
import { formatId } from '../ids.ts';
import { CATEGORIES } from '../streams.ts';
import type { SuppressionReason } from './events.ts';

type Added = Extract<SuppressionEvent, { type: 'SuppressionAdded' }>['data'];

/** One reason to suppress an address. */
export interface SuppressionEntry extends Pick<Added, 'reason' | 'scope' | 'expiresAt' | 'contentId' | 'source'> {
  readonly addedAt: string;
  /** null: it was not taken back. */
  readonly removedAt: string | null;
}

/** All that is known against one address, in force or not. */
export interface ExistingSuppression {
  readonly status: 'listed';
  readonly suppressionId: string;
  readonly organizationId: string;
  readonly environment: Environment;
  readonly digest: string;
  /** The latest for each reason and scope, so there are 15 at most; in the order in which they were added. */
  readonly entries: readonly SuppressionEntry[];
  readonly createdAt: string;
  /** When the latest entry was added. */
  readonly addedAt: string;
  /** When it was last taken back; null: never. */
  readonly removedAt: string | null;
}

export type Suppression = { readonly status: 'absent' } | ExistingSuppression;

/** One for each environment and address; the digest is keyed by the organization's secret, so organizations never meet. */
export const suppressionId = (environment: Environment, digest: string): string =>
  formatId('sup', sha256(`${environment}\0${digest}`));

const isSameKind =
  (data: Pick<Added, 'reason' | 'scope'>) =>
  ({ reason, scope }: SuppressionEntry): boolean =>
    reason === data.reason && scope === data.scope;

const added = (before: readonly SuppressionEntry[], data: Added, addedAt: string): readonly SuppressionEntry[] => {
  const { reason, scope, expiresAt, contentId, source } = data;
  const others = before.filter((entry) => !isSameKind(data)(entry));
  return [...others, { reason, scope, expiresAt, contentId, source, addedAt, removedAt: null }];
};

export const suppression: Aggregate<Suppression, SuppressionEvent> = {
  category: CATEGORIES.suppression,
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, environment, occurredAt }) => {
    switch (event.type) {
      case 'SuppressionAdded': {
        const before = state.status === 'absent' ? [] : state.entries;
        const entries = added(before, event.data, occurredAt);
        if (state.status !== 'absent') return { ...state, entries, addedAt: occurredAt };
        return {
          status: 'listed',
          suppressionId: event.data.suppressionId,
          organizationId,
          environment: environment ?? 'live',
          digest: event.data.digest,
          entries,
          createdAt: occurredAt,
          addedAt: occurredAt,
          removedAt: null,
        };
      }
      case 'SuppressionRemoved': {
        if (state.status === 'absent') return state;
        const entries = state.entries.map((entry) => ({ ...entry, removedAt: entry.removedAt ?? occurredAt }));
        return { ...state, entries, removedAt: occurredAt };
      }
      default:
        return event satisfies never;
    }
  },
};

/** @param now ISO 8601. */
export const isInForce = ({ expiresAt, removedAt }: SuppressionEntry, now: string): boolean =>
  removedAt === null && (expiresAt === null || expiresAt > now);

/** Whether it is about messages of the stream. */
export const covers = ({ scope }: Pick<SuppressionEntry, 'scope'>, stream: 'transactional' | 'bulk'): boolean =>
  scope === 'all' || scope === stream;

/** The entry of the same reason and scope, in force or not. */
export const entryOfKind = (
  { entries }: ExistingSuppression,
  kind: Pick<Added, 'reason' | 'scope'>,
): SuppressionEntry | undefined => entries.find(isSameKind(kind));

/** Strongest first: the recipient's own decision, then the recipient's server, then the customer. */
const STRENGTH: readonly SuppressionReason[] = ['complaint', 'unsubscribe', 'bounce', 'manual', 'import'];

/** By scope, the widest first, then by reason. */
const rank = ({ scope, reason }: SuppressionEntry): number =>
  (scope === 'all' ? 0 : STRENGTH.length) + STRENGTH.indexOf(reason);

export const strongest = (entries: readonly SuppressionEntry[]): SuppressionEntry | null =>
  entries.toSorted((left, right) => rank(left) - rank(right))[0] ?? null;

/**
 * What keeps mail of a stream from an address; null: nothing does.
 * @param now ISO 8601: what has expired by then is not in force.
 */
export const strongestEntry = (
  state: Suppression,
  stream: 'transactional' | 'bulk',
  now: string,
): SuppressionEntry | null => {
  if (state.status === 'absent') return null;
  return strongest(state.entries.filter((entry) => isInForce(entry, now) && covers(entry, stream)));
};

export interface IsUnsubscribed {
  readonly stream: 'transactional' | 'bulk';
  /** When the recipient said so last. */
  readonly saidAt: string;
  /** ISO 8601. */
  readonly now: string;
}

const endOf = ({ removedAt, expiresAt }: SuppressionEntry): string | null => removedAt ?? expiresAt;

/**
 * Whether an unsubscription still counts: while it is on the list, and before it gets there, which takes a moment. Not if it
 * was removed or has expired since.
 */
export const isUnsubscribed = (state: Suppression, { stream, saidAt, now }: IsUnsubscribed): boolean => {
  if (state.status === 'absent') return true;
  const unsubscribed = state.entries.filter(({ reason }) => reason === 'unsubscribe');
  if (unsubscribed.some((entry) => isInForce(entry, now) && covers(entry, stream))) return true;
  const ends = [state.removedAt, ...unsubscribed.filter((entry) => !isInForce(entry, now)).map(endOf)];
  return ends.every((end) => end === null || end < saidAt);
};
