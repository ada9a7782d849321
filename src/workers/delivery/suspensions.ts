import { LRUCache } from 'lru-cache';
import {
  type AfterAttempt,
  adjustConcurrency,
  CONCURRENCY_BOUNDS,
  type ConcurrencyLimit,
  initialConcurrency,
  mayBlameSender,
} from '../../domain/destination/pacing.ts';
import {
  isSuspended,
  partsOfDestination,
  type Suspension,
  senderDestination,
} from '../../domain/destination/suspension.ts';
import type { RecordedEvent } from '../../domain/kernel/event-store.ts';
import { organizationStream } from '../../domain/kernel/streams.ts';
import type { AttemptOutcome, Hold } from '../../domain/message/attempt.ts';
import { SERVICE_SENDER } from '../../domain/message/events.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import { suspensionOf } from '../../domain/organization/organization.ts';
import { jitter, random, type System } from '../../lib/async/async.ts';
import type { Organizations } from '../in-memory-projections.ts';

/** The sending domain of a message, and the organization that owns it. */
export interface Sender {
  readonly domainId: string;
  readonly organizationId: string;
}

/**
 * Suspensions of a destination for one sending domain (`dom_…@google.com`). A request to slow down that comes after MAIL may
 * be about the sender, so it counts for that sender's domain. Once senders of two organizations have met one, such requests
 * count for the destination: no organization can suspend it for another, however many domains it has.
 */
export interface SenderSuspensions {
  /** Whether only mail of this sender's organization was asked to slow down lately. Remembers that it was. */
  isAboutSender(destination: string, sender: Sender, outcomes: readonly AttemptOutcome[]): boolean;
  /** @returns the new suspension; null: nothing is suspended. */
  slowDown(destination: string, sender: Sender, after: AfterAttempt): SenderSuspension | null;
  /** The sender's mail was answered well. */
  forget(destination: string, sender: Sender): void;
  isSuspendedFor(destination: string, domainId: string): boolean;
  /** Applies an event of a destination. @returns whether it was about one sender. */
  apply(event: RecordedEvent): boolean;
}

interface SenderSuspension extends Pick<Suspension, 'times' | 'until'> {
  readonly operator: string;
}

interface SlowedSender {
  readonly organizationId: string;
  /** By the monotonic clock. */
  readonly atMs: number;
}

/** About 5 MB each. A pair that is evicted starts again: two more attempts are deferred. */
const PAIRS_MAX = 20_000;
/**
 * How long a request to slow down that one organization has met is remembered. Shorter takes longer to see that a
 * destination has trouble with everybody. Longer lets the fault of one sender count together with an accident of another.
 */
const SEEN_MS = 600_000;

export const createSenderSuspensions = (system: Pick<System, 'now' | 'monotonicMs'>): SenderSuspensions => {
  const limits = new LRUCache<string, ConcurrencyLimit>({ max: PAIRS_MAX });
  /** Two organizations whose mail each destination asked to slow down, the last first. */
  const slowed = new LRUCache<string, readonly SlowedSender[]>({ max: PAIRS_MAX });

  const isInForce = (limit: ConcurrencyLimit | undefined): boolean =>
    limit !== undefined && isSuspended(limit, system.now().toISOString());

  const isOnlyOne = (destination: string, organizationId: string): boolean => {
    const now = { organizationId, atMs: system.monotonicMs() };
    const [last, other] = slowed.get(destination) ?? [];
    const before = last?.organizationId === organizationId ? other : last;
    slowed.set(destination, before === undefined ? [now] : [now, before]);
    return before === undefined || now.atMs - before.atMs > SEEN_MS;
  };

  return {
    isAboutSender: (destination, { organizationId }, outcomes) =>
      mayBlameSender(outcomes) && isOnlyOne(destination, organizationId),

    slowDown: (destination, { domainId }, after) => {
      const operator = senderDestination(domainId, destination);
      const before = limits.get(operator) ?? initialConcurrency(CONCURRENCY_BOUNDS);
      const limit = adjustConcurrency(before, after);
      limits.set(operator, limit);
      const { suspension } = limit;
      return suspension === null || suspension.times === before.suspension?.times ? null : { operator, ...suspension };
    },

    forget: (destination, { domainId }) => {
      const operator = senderDestination(domainId, destination);
      if (!isInForce(limits.get(operator))) limits.delete(operator);
    },

    isSuspendedFor: (destination, domainId) =>
      limits.size > 0 && isInForce(limits.get(senderDestination(domainId, destination))),

    apply: ({ type, data }) => {
      if (type === 'DestinationReleased') {
        limits.delete(data.operator);
        slowed.delete(data.operator);
        return partsOfDestination(data.operator).domainId !== null;
      }
      if (type !== 'DestinationSuspended' || partsOfDestination(data.operator).domainId === null) return false;
      const { times, until } = data;
      const reducedAtMs = system.monotonicMs();
      limits.set(data.operator, { limit: 1, isSlowStart: false, suspension: { times, until }, reducedAtMs });
      return true;
    },
  };
};

/**
 * Holds all mail of suspended organizations. It is held by the stream of its organization, not by the organization's id:
 * that one holds bulk mail by its reputation, which a resumed organization may still have.
 */
export interface SuspensionHolds {
  /** Whether this holder is a suspended organization. False of any other holder. */
  keeps(holder: string): boolean;
  /** null: it may leave. Mail of this service to members and contacts always may: they sign in with it. */
  of(message: Pick<ExistingMessage, 'organizationId' | 'accepted'>): Hold | null;
}

/**
 * Held mail is found when its organization is resumed; otherwise it is looked at again after this (it may be suppressed, or
 * its domain deleted). Longer leaves such mail lying, shorter costs an event for each message more often.
 */
const WAIT_SECONDS = 86_400;

const PREFIX = organizationStream('');

export const createSuspensionHolds = (organizations: Organizations, system: System): SuspensionHolds => {
  const isSuspended = (organizationId: string): boolean => suspensionOf(organizations.get(organizationId)) !== null;
  return {
    keeps: (holder) => holder.startsWith(PREFIX) && isSuspended(holder.slice(PREFIX.length)),
    of: ({ organizationId, accepted }) =>
      isSuspended(organizationId) && accepted.keyId !== SERVICE_SENDER
        ? {
            reason: 'organization_suspended',
            heldBy: organizationStream(organizationId),
            waitSeconds: jitter(WAIT_SECONDS, random(system)),
          }
        : null,
  };
};
