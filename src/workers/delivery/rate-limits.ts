import { LRUCache } from 'lru-cache';
import type { KeyLimits } from '../../async/keyed-queue.ts';
import type { Bearing } from '../../domain/destination/pace.ts';
import { asksForFewer, faster, type Rate, roomAt, slower, withPlaceTaken } from '../../domain/destination/rate.ts';
import { perMinuteOf, type Tally, tallied } from '../../domain/destination/tally.ts';
import type { AttemptOutcome } from '../../domain/message/record-attempt.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { System } from '../../domain/ports/system.ts';

/** What an attempt says of the rate of its destination. */
export interface RateReport {
  readonly operator: string;
  readonly outcomes: readonly AttemptOutcome[];
  /** As `bearingOf` judges them. */
  readonly bearing: Bearing | null;
  /** When it left its queue, by the monotonic clock. */
  readonly beganMs: number;
}

/**
 * A rate limit for each destination that has asked for fewer messages in a time; others have none. Each process has limits
 * of its own, for its share of what is sent, and none after a start: with several processes a destination gets some more
 * until each of them has learnt of it.
 */
export interface RateLimits extends Pick<KeyLimits, 'started' | 'waitMsOf' | 'capacityOf'> {
  report(report: RateReport): void;
  /** Removes the limit. */
  forget(operator: string): void;
}

/** About 4 MB. A destination that is forgotten has never asked, or has been sent nothing yet. */
const DESTINATIONS_MAX = 20_000;

/** A slow answer is good enough. */
const GOOD: ReadonlySet<Bearing | null> = new Set(['flowing', 'slow']);

export const createRateLimits = ({ monotonicMs }: Pick<System, 'monotonicMs'>, logger: Logger): RateLimits => {
  /** Written at each attempt: the tally in the entry is replaced, not the entry. */
  const tallies = new LRUCache<string, { tally: Tally }>({ max: DESTINATIONS_MAX });
  const rates = new LRUCache<string, Rate>({ max: DESTINATIONS_MAX });

  const count = (operator: string, nowMs: number): void => {
    const known = tallies.get(operator);
    if (known === undefined) tallies.set(operator, { tally: tallied(undefined, nowMs) });
    else known.tally = tallied(known.tally, nowMs);
  };

  const usedBy = (operator: string): number => {
    const known = tallies.get(operator);
    return known === undefined ? 0 : perMinuteOf(known.tally);
  };

  const reduce = (operator: string, beganMs: number): void => {
    const before = rates.get(operator);
    const after = slower(before, { perMinute: usedBy(operator), beganMs, nowMs: monotonicMs() });
    if (after === before) return;
    rates.set(operator, after);
    const perMinute = Math.round(after.perMinute);
    logger.info({ destination: operator, perMinute }, 'a destination asked for fewer messages: it has a rate limit');
  };

  /** @param rate undefined: the limit ends. */
  const change = (operator: string, rate: Rate | undefined): void => {
    if (rate !== undefined) return void rates.set(operator, rate);
    rates.delete(operator);
    logger.info({ destination: operator }, 'a destination has no rate limit any more');
  };

  return {
    started: (operator) => {
      const nowMs = monotonicMs();
      count(operator, nowMs);
      const rate = rates.size === 0 ? undefined : rates.get(operator);
      if (rate !== undefined) change(operator, withPlaceTaken(rate, nowMs));
    },
    waitMsOf: (operator) => {
      const rate = rates.get(operator);
      return rate === undefined ? 0 : Math.max(0, rate.nextMs - monotonicMs());
    },
    capacityOf: (operator) => {
      const rate = rates.get(operator);
      return rate === undefined ? Number.POSITIVE_INFINITY : roomAt(rate);
    },
    report: ({ operator, outcomes, bearing, beganMs }) => {
      if (asksForFewer(outcomes)) return reduce(operator, beganMs);
      const rate = GOOD.has(bearing) ? rates.get(operator) : undefined;
      if (rate === undefined) return;
      change(operator, faster(rate, { perMinute: usedBy(operator), nowMs: monotonicMs() }));
    },
    forget: (operator) => {
      rates.delete(operator);
    },
  };
};
