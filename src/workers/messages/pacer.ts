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
import type { SmtpFacts } from '../../domain/message/events.ts';
import type { AttemptOutcome } from '../../domain/message/record-attempt.ts';
import type { System } from '../../domain/system.ts';
import { chance } from '../chance.ts';

/** What an attempt came to for a destination. */
export interface Experience {
  readonly operator: string;
  readonly domain: string;
  readonly outcomes: readonly AttemptOutcome[];
  readonly tookMs: number;
}

/** How much each destination gets at the same time, from what it answers and what other processes have found. */
export interface Pacer {
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

export const createPacer = (system: System): Pacer => {
  /** In the order in which they were last heard of. */
  const paces = new Map<string, Pace>();

  const paceOf = (operator: string): Pace => paces.get(operator) ?? unhurried(DESTINATION_LIMITS);
  const now = (): string => system.now().toISOString();

  const set = (operator: string, pace: Pace): void => {
    paces.delete(operator);
    paces.set(operator, pace);
    for (const oldest of paces.keys()) {
      if (paces.size <= DESTINATIONS_MAX) return;
      paces.delete(oldest);
    }
  };

  return {
    limitOf: (operator) => {
      const pace = paceOf(operator);
      return isPaused(pace, now()) ? 0 : Math.floor(pace.limit);
    },

    report: ({ operator, domain, outcomes, tookMs }) => {
      const bearing = bearingOf(outcomes, tookMs);
      if (bearing === null) return null;
      const before = paceOf(operator);
      const after = paceAfter(before, { bearing, now: now(), chance: chance(system), limits: DESTINATION_LIMITS });
      set(operator, after);
      if (after.pausedUntil === null || after.pauses === before.pauses) return null;
      const { code = 0, enhanced = null, mx = null } = worstOf(outcomes) ?? {};
      const reason = bearing === 'unreachable' ? 'unreachable' : 'busy';
      return { operator, domain, reason, code, enhanced, mx, times: after.pauses, until: after.pausedUntil };
    },

    apply: ({ type, data }) => {
      if (type === 'DestinationReleased') paces.delete(data.operator);
      if (type !== 'DestinationSuspended') return;
      const before = paceOf(data.operator);
      set(data.operator, { ...before, limit: 1, isUntried: false, pauses: data.times, pausedUntil: data.until });
    },
  };
};
