import type { Bearing } from '../../domain/destination/pace.ts';
import { asksForFewer, faster, type Rate, roomAt, slower, withPlaceTaken } from '../../domain/destination/rate.ts';
import { perMinuteOf, type Tally, tallied } from '../../domain/destination/tally.ts';
import type { AttemptOutcome } from '../../domain/message/record-attempt.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { System } from '../../domain/ports/system.ts';
import { putLast } from './put-last.ts';

/** What an attempt came to for the rate of its destination. */
export interface Answered {
  readonly operator: string;
  readonly outcomes: readonly AttemptOutcome[];
  /** As `bearingOf` judges them. */
  readonly bearing: Bearing | null;
  /** When it left its line, in ms that never run backwards. */
  readonly beganMs: number;
}

/**
 * How many attempts each destination gets in a time. Each process has rates of its own, for its own share of what is sent,
 * and none after a start: with several a destination gets some more before each of them has been told.
 */
export interface Rates {
  /** An attempt begins. */
  begun(operator: string): void;
  /** Until the next may begin; 0: it may now. */
  waitMsOf(operator: string): number;
  /** So many of each stream may stand in line. */
  roomOf(operator: string): number;
  report(answered: Answered): void;
  /** Whatever it asked for before. */
  forget(operator: string): void;
}

/** About 4 MB. One that is forgotten has never asked, or has been given nothing yet. */
const DESTINATIONS_MAX = 20_000;

/** Who answers slowly counts as before. */
const GOOD: ReadonlySet<Bearing | null> = new Set(['flowing', 'slow']);

export const createRates = ({ monotonicMs }: Pick<System, 'monotonicMs'>, logger: Logger): Rates => {
  /** Written to for each attempt: what is in it is replaced, not it. */
  const tallies = new Map<string, { tally: Tally }>();
  /** Of the few that have asked for fewer. */
  const rates = new Map<string, Rate>();

  const count = (operator: string, nowMs: number): void => {
    const known = tallies.get(operator);
    if (known === undefined) putLast(tallies, operator, { tally: tallied(undefined, nowMs) }, DESTINATIONS_MAX);
    else known.tally = tallied(known.tally, nowMs);
  };

  const usedBy = (operator: string): number => {
    const known = tallies.get(operator);
    return known === undefined ? 0 : perMinuteOf(known.tally);
  };

  const slow = (operator: string, beganMs: number): void => {
    const before = rates.get(operator);
    const after = slower(before, { perMinute: usedBy(operator), beganMs, nowMs: monotonicMs() });
    if (after === before) return;
    putLast(rates, operator, after, DESTINATIONS_MAX);
    const perMinute = Math.round(after.perMinute);
    logger.info({ destination: operator, perMinute }, 'a destination asked for fewer messages in a time');
  };

  /** @param rate undefined: it is over. */
  const change = (operator: string, rate: Rate | undefined): void => {
    if (rate !== undefined) return void rates.set(operator, rate);
    rates.delete(operator);
    logger.info({ destination: operator }, 'a destination gets as many messages as there are again');
  };

  return {
    begun: (operator) => {
      const nowMs = monotonicMs();
      count(operator, nowMs);
      const rate = rates.size === 0 ? undefined : rates.get(operator);
      if (rate !== undefined) change(operator, withPlaceTaken(rate, nowMs));
    },
    waitMsOf: (operator) => {
      const rate = rates.get(operator);
      return rate === undefined ? 0 : Math.max(0, rate.nextMs - monotonicMs());
    },
    roomOf: (operator) => {
      const rate = rates.get(operator);
      return rate === undefined ? Number.POSITIVE_INFINITY : roomAt(rate);
    },
    report: ({ operator, outcomes, bearing, beganMs }) => {
      if (asksForFewer(outcomes)) return slow(operator, beganMs);
      const rate = GOOD.has(bearing) ? rates.get(operator) : undefined;
      if (rate === undefined) return;
      change(operator, faster(rate, { perMinute: usedBy(operator), nowMs: monotonicMs() }));
    },
    forget: (operator) => {
      rates.delete(operator);
    },
  };
};
