import {
  bearingOf,
  DESTINATION_LIMITS,
  isPaused,
  type Pace,
  paceAfter,
  unhurried,
} from '../../domain/destination/pace.ts';
import type { SuspendDestination } from '../../domain/destination/suspend-destination.ts';
import type { RecordedEvent } from '../../domain/event-store.ts';
import type { Logger } from '../../domain/logger.ts';
import type { SmtpFacts } from '../../domain/message/events.ts';
import type { AttemptOutcome } from '../../domain/message/record-attempt.ts';
import type { System } from '../../domain/system.ts';
import { chance } from '../chance.ts';
import { putLast } from './put-last.ts';
import { createRates, type Rates } from './rates.ts';

/** What an attempt came to for a destination. */
export interface Experience {
  readonly operator: string;
  readonly domain: string;
  readonly outcomes: readonly AttemptOutcome[];
  readonly tookMs: number;
  /** When it left its line, in ms that never run backwards. */
  readonly beganMs: number;
}

/** How much each destination gets at the same time and in a time, from what it answers and what other processes have found. */
export interface Pacer extends Pick<Rates, 'begun' | 'waitMsOf' | 'roomOf'> {
  /** Attempts at the same time; 0: it is paused. */
  limitOf(operator: string): number;
  /** @returns what to put on record: the destination has just been suspended. */
  report(experience: Experience): SuspendDestination | null;
  /** Takes the next event of the log; those of other families change nothing. */
  apply(event: RecordedEvent): void;
}

/** About 5 MB. A destination that is forgotten begins as a new one. */
const DESTINATIONS_MAX = 20_000;

/** Whoever said least: no answer says more of a server than one that was good for somebody else. */
const worstOf = (outcomes: readonly AttemptOutcome[]): SmtpFacts | undefined =>
  outcomes.flatMap((said) => (said.outcome === 'deferred' ? [said.smtp] : []))[0];

export const createPacer = (system: System, logger: Logger): Pacer => {
  const rates = createRates(system, logger);
  /** In the order in which they were last heard of. */
  const paces = new Map<string, Pace>();

  const paceOf = (operator: string): Pace => paces.get(operator) ?? unhurried(DESTINATION_LIMITS);
  const now = (): string => system.now().toISOString();

  const set = (operator: string, pace: Pace): void => putLast(paces, operator, pace, DESTINATIONS_MAX);

  return {
    ...{ begun: rates.begun, waitMsOf: rates.waitMsOf, roomOf: rates.roomOf },

    limitOf: (operator) => {
      const pace = paceOf(operator);
      const isAtRest = pace.pausedUntil !== null && isPaused(pace, now());
      return isAtRest ? 0 : Math.floor(pace.limit);
    },

    report: ({ operator, domain, outcomes, tookMs, beganMs }) => {
      const bearing = bearingOf(outcomes, tookMs);
      rates.report({ operator, outcomes, bearing, beganMs });
      if (bearing === null) return null;
      const before = paceOf(operator);
      const times = { now: now(), nowMs: system.monotonicMs(), beganMs };
      const after = paceAfter(before, { ...times, bearing, chance: chance(system), limits: DESTINATION_LIMITS });
      set(operator, after);
      if (after.pausedUntil === null || after.pauses === before.pauses) return null;
      const { code = 0, enhanced = null, mx = null } = worstOf(outcomes) ?? {};
      const reason = bearing === 'unreachable' ? 'unreachable' : 'busy';
      return { operator, domain, reason, code, enhanced, mx, times: after.pauses, until: after.pausedUntil };
    },

    apply: ({ type, data }) => {
      if (type === 'DestinationReleased') {
        paces.delete(data.operator);
        rates.forget(data.operator);
      }
      if (type !== 'DestinationSuspended') return;
      const before = paceOf(data.operator);
      const less = { limit: 1, isUntried: false, lessSinceMs: system.monotonicMs() };
      set(data.operator, { ...before, ...less, pauses: data.times, pausedUntil: data.until });
    },
  };
};
