import { requireOwn } from '../kernel/aggregate.ts';
import { DomainError } from '../kernel/errors.ts';
import type { Position } from '../kernel/event-store.ts';
import type { SuppressionEvent } from '../kernel/events.ts';
import type { Environment } from '../kernel/ids.ts';
import {
  type ExistingSuppression,
  entryOfKind,
  isInForce,
  isRemovedAfter,
  isTakenBackAfter,
  type Said,
  type Suppression,
} from './suppression.ts';

type Added = Extract<SuppressionEvent, { type: 'SuppressionAdded' }>['data'];

export interface AddSuppression extends Added {
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
    /** The owner's last unsubscription through the message whose link was followed; null if there is none. */
    readonly said: Said | null;
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
