import { z } from 'zod';
import type { Aggregate } from '../kernel/aggregate.ts';
import type { EventsOf } from '../kernel/event.ts';
import { CATEGORIES, warmUpStream } from '../kernel/streams.ts';

/** Recipients per day and destination, from the first day on. */
const plan = z.array(z.number().int()).min(1);

/**
 * Stream `warmUp-<domainId>`: the live mail that each destination may get from a sending domain while the domain is
 * new.
 */
export const warmUpEvents = {
  /** Replaces an earlier plan. Days are UTC; `startsOn` is the first, `YYYY-MM-DD`. */
  WarmUpStarted: z.object({ domainId: z.string(), startsOn: z.string(), plan }),
  /** Ended by an authorized person before the last day was over. */
  WarmUpEnded: z.object({ domainId: z.string() }),
};
export type WarmUpEvent = EventsOf<typeof warmUpEvents>;

const taken = z.array(z.object({ operator: z.string(), places: z.number().int() })).min(1);

/** Stream `warmUpDay-<domainId or IP address>.<day>`: reservations of a day's caps. */
export const dailyQuotaEvents = {
  /** Reserves quota: only the process that appended the event may send to these numbers of recipients that day. */
  WarmUpPlacesTaken: z.object({ domainId: z.string(), day: z.string(), taken }),
  /** The same for a new IP address of this service, which all organizations share. */
  SourcePlacesTaken: z.object({ source: z.string(), day: z.string(), taken }),
};
export type DailyQuotaEvent = EventsOf<typeof dailyQuotaEvents>;

const DAY_MS = 86_400_000;

/** `YYYY-MM-DD`, UTC. */
export const dayOf = (time: Date): string => time.toISOString().slice(0, 'YYYY-MM-DD'.length);

/** Start of a day, in milliseconds since 1970. */
export const startOf = (day: string): number => Date.parse(`${day}T00:00:00.000Z`);

/** The day a number of days after another. */
export const dayAfter = (day: string, days: number): string => dayOf(new Date(startOf(day) + days * DAY_MS));

/** Number of days from one day to another. */
const daysBetween = (from: string, to: string): number => Math.round((startOf(to) - startOf(from)) / DAY_MS);

/** A time within a day. @param share in [0, 1): fraction of the day that is over. */
const momentOf = (day: string, share: number): number => startOf(day) + Math.floor(share * DAY_MS);

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

interface StartWarmUp {
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

/** Quota of one day that has been reserved, by mailbox provider. */
export interface DailyQuota {
  readonly taken: ReadonlyMap<string, number>;
}

const add = (before: ReadonlyMap<string, number>, taken: readonly { operator: string; places: number }[]) => {
  const after = new Map(before);
  for (const { operator, places } of taken) after.set(operator, (after.get(operator) ?? 0) + places);
  return after;
};

export const dailyQuota: Aggregate<DailyQuota, DailyQuotaEvent> = {
  category: CATEGORIES.warmUpDay,
  initial: { taken: new Map() },
  evolve: (state, { type, data }) => {
    switch (type) {
      case 'WarmUpPlacesTaken':
      case 'SourcePlacesTaken':
        return { taken: add(state.taken, data.taken) };
      default:
        return type satisfies never;
    }
  },
};

/** Number of recipients by mailbox provider. */
export type RecipientCounts = ReadonlyMap<string, number>;

/** A message that is about to be sent. */
export interface QuotaRequest {
  readonly recipients: RecipientCounts;
  /** Counted, but sent even if the quota is used up. */
  readonly exemptFromCap: boolean;
}

/** A sending domain, or an IP address of this service, that is new to mailbox providers. */
export type QuotaOwner = { readonly domainId: string } | { readonly source: string };

export interface ReserveQuota {
  readonly owner: QuotaOwner;
  readonly day: string;
  /** Maximum recipients of each mailbox provider on that day. */
  readonly cap: number;
  readonly requests: readonly QuotaRequest[];
  /** Reserved by this process but not used yet. */
  readonly unused: RecipientCounts;
}

export interface Reservation {
  /** The provider whose quota is used up, for each request; null if granted. */
  readonly refusedBy: readonly (string | null)[];
  /** Reserved but not used yet. */
  readonly unused: RecipientCounts;
  readonly events: readonly DailyQuotaEvent[];
}

/**
 * Quota is reserved in lots of this fraction of a cap, so that most messages need no append. Higher: more events, and
 * more write conflicts between processes. Lower: a process that dies loses more of the day.
 */
const LOTS = 20;
/**
 * Maximum number of providers counted in a day. Higher: more memory in every worker. Lower: relevant providers go
 * uncounted.
 */
const PROVIDERS_MAX = 2_000;

const reservedEvent = (owner: QuotaOwner, day: string, list: DailyQuotaEvent['data']['taken']): DailyQuotaEvent =>
  'source' in owner
    ? { type: 'SourcePlacesTaken', data: { source: owner.source, day, taken: list } }
    : { type: 'WarmUpPlacesTaken', data: { domainId: owner.domainId, day, taken: list } };

/**
 * Reserves quota. A message is granted while any quota is left, so that one with many recipients does not wait forever
 * behind smaller ones.
 */
export const reserveQuota = (state: DailyQuota, { owner, day, cap, requests, unused }: ReserveQuota): Reservation => {
  const lot = Math.ceil(cap / LOTS);
  const left = new Map(unused);
  const taken = new Map<string, number>();

  const openOf = (provider: string): number => cap - (state.taken.get(provider) ?? 0) - (taken.get(provider) ?? 0);
  const isUsedUp = (provider: string): boolean => (left.get(provider) ?? 0) <= 0 && openOf(provider) <= 0;
  const isCounted = (provider: string): boolean =>
    state.taken.has(provider) || taken.has(provider) || state.taken.size + taken.size < PROVIDERS_MAX;

  const use = (provider: string, count: number): void => {
    const missing = count - (left.get(provider) ?? 0);
    const more = missing <= 0 ? 0 : Math.max(missing, Math.min(lot, openOf(provider)));
    if (more > 0) taken.set(provider, (taken.get(provider) ?? 0) + more);
    left.set(provider, more - missing);
  };

  const refusedBy = requests.map(({ recipients, exemptFromCap }) => {
    const counted = [...recipients].filter(([provider]) => isCounted(provider));
    const [refusing] = exemptFromCap ? [] : counted.filter(([provider]) => isUsedUp(provider));
    if (refusing !== undefined) return refusing[0];
    for (const [provider, count] of counted) use(provider, count);
    return null;
  });
  const list = [...taken].map(([provider, places]) => ({ operator: provider, places }));
  return { refusedBy, unused: left, events: list.length === 0 ? [] : [reservedEvent(owner, day, list)] };
};

interface Turn {
  /** `YYYY-MM-DD`, UTC: the day whose quota is used up. */
  readonly today: string;
  /** Number of recipients of the same provider that are waiting ahead of this one. */
  readonly before: number;
  /** In [0, 1). */
  readonly random: number;
}

/**
 * Time at which a waiting recipient may be sent to, in milliseconds since 1970: on the first later day with quota left,
 * with each day's quota spread over the day. After the plan's last day, it is some time on the following day.
 */
export const nextSlot = ({ startsOn, caps }: Plan, { today, before, random }: Turn): number => {
  let position = before;
  const tomorrow = Math.max(0, daysBetween(startsOn, today)) + 1;
  for (const [index, cap] of caps.entries()) {
    if (index < tomorrow) continue;
    if (position < cap) return momentOf(dayAfter(startsOn, index), (position + random) / cap);
    position -= cap;
  }
  return momentOf(dayAfter(startsOn, Math.max(caps.length, tomorrow)), random);
};
