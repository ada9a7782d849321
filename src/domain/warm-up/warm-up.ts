import type { Aggregate } from '../kernel/aggregate.ts';
import type { WarmUpEvent } from '../kernel/events.ts';
import { CATEGORIES, warmUpStream } from '../kernel/streams.ts';

const DAY_MS = 86_400_000;

/** `YYYY-MM-DD`, UTC. */
export const dayOf = (time: Date): string => time.toISOString().slice(0, 'YYYY-MM-DD'.length);

/** Start of a day, in milliseconds since 1970. */
export const startOf = (day: string): number => Date.parse(`${day}T00:00:00.000Z`);

/** The day a number of days after another. */
export const dayAfter = (day: string, days: number): string => dayOf(new Date(startOf(day) + days * DAY_MS));

/** Number of days from one day to another. */
export const daysBetween = (from: string, to: string): number => Math.round((startOf(to) - startOf(from)) / DAY_MS);

/** A time within a day. @param share in [0, 1): fraction of the day that is over. */
export const momentOf = (day: string, share: number): number => startOf(day) + Math.floor(share * DAY_MS);

export interface Plan {
  /** `YYYY-MM-DD`, UTC. */
  readonly startsOn: string;
  /** Recipients per day and destination, from the first day on. */
  readonly caps: readonly number[];
}

/** Warm-up of a sending domain. Without a plan, its mail has no daily quota. */
export interface WarmUp {
  readonly plan: Plan | null;
}

/** A day of a plan. */
export interface PlannedDay {
  /** One-based. */
  readonly number: number;
  /** Maximum recipients of each destination. */
  readonly cap: number;
}

/** Returns null if the stream does not belong to a warm-up. */
export const domainOfWarmUp = (stream: string): string | null =>
  stream.startsWith(warmUpStream('')) ? stream.slice(warmUpStream('').length) : null;

/**
 * A domain that is deleted and registered again continues its plan, because receivers know the name, not the
 * registration.
 */
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

/** Returns null if the plan is over. */
export const plannedDay = ({ startsOn, caps }: Plan, today: string): PlannedDay | null => {
  // If a process's clock is behind that of the process that started the plan, it is on the first day too.
  const index = Math.max(0, daysBetween(startsOn, today));
  const cap = caps[index];
  return cap === undefined ? null : { number: index + 1, cap };
};

export const lastDayOf = ({ startsOn, caps }: Plan): string => dayAfter(startsOn, caps.length - 1);

/** Providers take a month or two to know a sender. Higher: holds back mail of known senders. */
export const PLAN_DAYS_MAX = 90;
/** A destination that accepts this many a day knows the sender. Higher: caps would hold nothing back. */
export const CAP_MAX = 10_000_000;

/**
 * Doubles daily, like SendGrid's automated warm-up, up to what large senders reach in a fortnight. Steeper: looks like
 * a stolen account to receivers. Flatter: holds mail back for weeks.
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

/** Starts a plan today and replaces any other. If the same plan is already running, it continues. */
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
