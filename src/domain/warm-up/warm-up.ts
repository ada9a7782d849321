import type { Aggregate } from '../aggregate.ts';
import type { WarmUpEvent } from '../events.ts';
import { CATEGORIES, warmUpStream } from '../streams.ts';

const DAY_MS = 86_400_000;

/** `YYYY-MM-DD`, UTC. */
export const dayOf = (time: Date): string => time.toISOString().slice(0, 'YYYY-MM-DD'.length);

/** When a day begins, in milliseconds since 1970. */
export const startOf = (day: string): number => Date.parse(`${day}T00:00:00.000Z`);

/** The day so many days after another. */
export const dayAfter = (day: string, days: number): string => dayOf(new Date(startOf(day) + days * DAY_MS));

/** How many days a day is after another. */
export const daysBetween = (from: string, to: string): number => Math.round((startOf(to) - startOf(from)) / DAY_MS);

/** A moment of a day. @param share in [0, 1): how much of the day is over. */
export const momentOf = (day: string, share: number): number => startOf(day) + Math.floor(share * DAY_MS);

export interface Plan {
  /** `YYYY-MM-DD`, UTC. */
  readonly startsOn: string;
  /** Recipients a day and destination, from the first day on. */
  readonly caps: readonly number[];
}

/** The warm-up of a sending domain; null: its mail has no daily quota. */
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

/** null: it is no stream of a warm-up. */
export const domainOfWarmUp = (stream: string): string | null =>
  stream.startsWith(warmUpStream('')) ? stream.slice(warmUpStream('').length) : null;

/** A domain that is deleted and registered again goes on with its plan: receivers know the name, not the registration. */
export const warmUp: Aggregate<WarmUp, WarmUpEvent> = {
  category: CATEGORIES.warmUp,
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

/** Providers take a month or two to know a sender; a longer plan holds back mail of one that is known. */
export const PLAN_DAYS_MAX = 90;
/** A destination that accepts this many a day knows the sender; a larger cap would hold nothing back. */
export const CAP_MAX = 10_000_000;

/**
 * Doubles from day to day, as SendGrid's automated warm-up does, up to what large senders reach in a fortnight: steeper
 * looks like a stolen account to receivers, flatter holds mail back for weeks.
 */
export const DEFAULT_PLAN: readonly number[] = [
  50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 102_400,
];

export interface StartWarmUp {
  readonly domainId: string;
  readonly caps: readonly number[];
  /** `YYYY-MM-DD`, UTC. */
  readonly today: string;
}

/** Starts a plan today, replacing another. The same plan, if it runs already, continues. */
export const startWarmUp = ({ plan }: WarmUp, { domainId, caps, today }: StartWarmUp): readonly WarmUpEvent[] => {
  const runs = plan !== null && plannedDay(plan, today) !== null && plan.caps.join() === caps.join();
  return runs ? [] : [{ type: 'WarmUpStarted', data: { domainId, startsOn: today, plan: [...caps] } }];
};

/** Ends a running plan before its last day. */
export const endWarmUp = (
  { plan }: WarmUp,
  { domainId, today }: { readonly domainId: string; readonly today: string },
): readonly WarmUpEvent[] =>
  plan === null || plannedDay(plan, today) === null ? [] : [{ type: 'WarmUpEnded', data: { domainId } }];
