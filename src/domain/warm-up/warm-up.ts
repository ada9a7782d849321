import type { Aggregate } from '../decider.ts';
import type { WarmUpEvent } from '../events.ts';
import type { StreamName } from '../ports/event-store.ts';
import { dayAfter, daysBetween } from './day.ts';

export interface Plan {
  /** `YYYY-MM-DD`, UTC. */
  readonly startsOn: string;
  /** Recipients a day and destination, from the first day on. */
  readonly caps: readonly number[];
}

/** How a sending domain is made known to those it sends to; null: its mail is not held back. */
export interface WarmUp {
  readonly plan: Plan | null;
}

/** A day's place in a plan. */
export interface PlannedDay {
  /** From 1. */
  readonly number: number;
  /** Recipients of each destination. */
  readonly cap: number;
}

export const warmUpStream = (domainId: string): StreamName => `warmUp-${domainId}`;

/** null: it is no stream of a warm-up. */
export const domainOfWarmUp = (stream: string): string | null =>
  stream.startsWith(warmUpStream('')) ? stream.slice(warmUpStream('').length) : null;

/** A domain that is deleted and registered again goes on with its plan: receivers know the name, not the registration. */
export const warmUp: Aggregate<WarmUp, WarmUpEvent> = {
  category: 'warmUp',
  initial: { plan: null },
  evolve: (_state, { type, data }) => {
    switch (type) {
      case 'WarmUpStarted':
        return { plan: { startsOn: data.startsOn, caps: data.plan } };
      case 'WarmUpEnded':
        return { plan: null };
      default:
        return type satisfies never;
    }
  },
};

/** null: the plan is over. */
export const plannedDay = ({ startsOn, caps }: Plan, today: string): PlannedDay | null => {
  // A process whose clock is behind the one that started the plan is on its first day too.
  const index = Math.max(0, daysBetween(startsOn, today));
  const cap = caps[index];
  return cap === undefined ? null : { number: index + 1, cap };
};

export const lastDayOf = ({ startsOn, caps }: Plan): string => dayAfter(startsOn, caps.length - 1);
