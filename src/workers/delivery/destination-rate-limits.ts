import { LRUCache } from 'lru-cache';
import {
  type AttemptCount,
  asksForLowerRate,
  consumeRate,
  countAttempt,
  type Feedback,
  perMinuteOf,
  type RateLimit,
  raiseRate,
  reduceRate,
  waitingMax,
} from '../../domain/destination/pacing.ts';
import type { AttemptOutcome } from '../../domain/message/attempt.ts';
import type { KeyLimits, Logger, System } from '../../lib/async/async.ts';

/** Feedback of an attempt about the rate of its destination. */
export interface RateReport {
  readonly provider: string;
  readonly outcomes: readonly AttemptOutcome[];
  readonly feedback: Feedback | null;
  /** When it left its queue, by the monotonic clock. */
  readonly beganMs: number;
}

/**
 * A rate limit for each destination that has asked for fewer messages in a time; others have none. Each process has limits
 * of its own, for its share of the mail, and none after a start: with several processes a destination gets somewhat more
 * until each of them has been asked.
 */
export interface DestinationRateLimits extends Pick<KeyLimits, 'started' | 'waitMsOf' | 'capacityOf'> {
  report(report: RateReport): void;
  /** Removes the limit. */
  forget(provider: string): void;
}

/** About 4 MB. An evicted destination is treated as one that never asked for less and was sent nothing yet. */
const DESTINATIONS_MAX = 20_000;

/** A slow answer is good enough. */
const GOOD: ReadonlySet<Feedback | null> = new Set(['flowing', 'slow']);

export const createDestinationRateLimits = (
  { monotonicMs }: Pick<System, 'monotonicMs'>,
  logger: Logger,
): DestinationRateLimits => {
  /** Written at each attempt: the count in the entry is replaced, not the entry. */
  const counts = new LRUCache<string, { attempts: AttemptCount }>({ max: DESTINATIONS_MAX });
  const limits = new LRUCache<string, RateLimit>({ max: DESTINATIONS_MAX });

  const count = (provider: string, nowMs: number): void => {
    const known = counts.get(provider);
    if (known === undefined) counts.set(provider, { attempts: countAttempt(undefined, nowMs) });
    else known.attempts = countAttempt(known.attempts, nowMs);
  };

  const usedPerMinute = (provider: string): number => {
    const known = counts.get(provider);
    return known === undefined ? 0 : perMinuteOf(known.attempts);
  };

  const reduce = (provider: string, beganMs: number): void => {
    const before = limits.get(provider);
    const after = reduceRate(before, { perMinute: usedPerMinute(provider), beganMs, nowMs: monotonicMs() });
    if (after === before) return;
    limits.set(provider, after);
    const perMinute = Math.round(after.perMinute);
    logger.info({ destination: provider, perMinute }, 'a destination asked for fewer messages: it has a rate limit');
  };

  /** @param limit undefined: it ends. */
  const change = (provider: string, limit: RateLimit | undefined): void => {
    if (limit !== undefined) return void limits.set(provider, limit);
    limits.delete(provider);
    logger.info({ destination: provider }, 'a destination has no rate limit any more');
  };

  return {
    started: (provider) => {
      const nowMs = monotonicMs();
      count(provider, nowMs);
      const limit = limits.size === 0 ? undefined : limits.get(provider);
      if (limit !== undefined) change(provider, consumeRate(limit, nowMs));
    },
    waitMsOf: (provider) => {
      const limit = limits.get(provider);
      return limit === undefined ? 0 : Math.max(0, limit.nextMs - monotonicMs());
    },
    capacityOf: (provider) => {
      const limit = limits.get(provider);
      return limit === undefined ? Number.POSITIVE_INFINITY : waitingMax(limit);
    },
    report: ({ provider, outcomes, feedback, beganMs }) => {
      if (asksForLowerRate(outcomes)) return reduce(provider, beganMs);
      const limit = GOOD.has(feedback) ? limits.get(provider) : undefined;
      if (limit === undefined) return;
      change(provider, raiseRate(limit, { usedPerMinute: usedPerMinute(provider), nowMs: monotonicMs() }));
    },
    forget: (provider) => {
      limits.delete(provider);
    },
  };
};
