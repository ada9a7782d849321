import type { Aggregate } from '../aggregate.ts';
import type { DailyQuotaEvent } from '../events.ts';
import { CATEGORIES } from '../streams.ts';
import { dayAfter, daysBetween, momentOf, type Plan } from './warm-up.ts';

/** The quota of one day that is reserved so far, by destination. */
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
        return { taken: add(state.taken, data.taken) };
      default:
        return type satisfies never;
    }
  },
};

/** Recipients by destination. */
export type Places = ReadonlyMap<string, number>;

/** A message that is about to be sent. */
export interface QuotaRequest {
  readonly places: Places;
  /** It is counted, but leaves even if the quota is used up. */
  readonly always: boolean;
}

export interface ReserveQuota {
  readonly domainId: string;
  readonly day: string;
  /** Recipients a destination gets that day. */
  readonly cap: number;
  /** In order. */
  readonly wants: readonly QuotaRequest[];
  /** Reserved by this process and not used yet. */
  readonly inHand: Places;
}

export interface Reserved {
  /** For each request: null, it may leave; or the destination whose quota is used up. */
  readonly full: readonly (string | null)[];
  /** Reserved and still unused. */
  readonly inHand: Places;
  readonly events: readonly DailyQuotaEvent[];
}

/**
 * Quota is reserved in lots of this fraction of a cap, so that a message costs no append of its own. Fewer lots: a process
 * that dies loses more of the day. More lots: more events, and more write conflicts between processes.
 */
const LOTS = 20;
/** Destinations counted in a day. Higher: memory in every worker. Lower: destinations that matter go uncounted. */
const DESTINATIONS_MAX = 2_000;

/**
 * Reserves quota. A message passes while any quota is left, so that one with many recipients does not wait for ever behind
 * smaller ones.
 */
export const reserveQuota = (state: DailyQuota, { domainId, day, cap, wants, inHand }: ReserveQuota): Reserved => {
  const lot = Math.ceil(cap / LOTS);
  const held = new Map(inHand);
  const taken = new Map<string, number>();

  const leftOf = (operator: string): number => cap - (state.taken.get(operator) ?? 0) - (taken.get(operator) ?? 0);
  const isFull = (operator: string): boolean => (held.get(operator) ?? 0) <= 0 && leftOf(operator) <= 0;
  const isCounted = (operator: string): boolean =>
    state.taken.has(operator) || taken.has(operator) || state.taken.size + taken.size < DESTINATIONS_MAX;

  const use = (operator: string, places: number): void => {
    const missing = places - (held.get(operator) ?? 0);
    const more = missing <= 0 ? 0 : Math.max(missing, Math.min(lot, leftOf(operator)));
    if (more > 0) taken.set(operator, (taken.get(operator) ?? 0) + more);
    held.set(operator, more - missing);
  };

  const full = wants.map(({ places, always }) => {
    const counted = [...places].filter(([operator]) => isCounted(operator));
    const [refusing] = always ? [] : counted.filter(([operator]) => isFull(operator));
    if (refusing !== undefined) return refusing[0];
    for (const [operator, count] of counted) use(operator, count);
    return null;
  });
  const list = [...taken].map(([operator, places]) => ({ operator, places }));
  const events: readonly DailyQuotaEvent[] =
    list.length === 0 ? [] : [{ type: 'WarmUpPlacesTaken', data: { domainId, day, taken: list } }];
  return { full, inHand: held, events };
};

export interface Turn {
  /** `YYYY-MM-DD`, UTC: the day whose quota is used up. */
  readonly today: string;
  /** How many recipients of the same destination wait before this one. */
  readonly before: number;
  /** In [0, 1). */
  readonly random: number;
}

/**
 * When a waiting recipient may be sent to, in milliseconds since 1970: on the first later day with quota left, each day's
 * quota spread over the day; after the plan's last day, at some time of the day after.
 */
export const nextSlot = ({ startsOn, caps }: Plan, { today, before, random }: Turn): number => {
  let place = before;
  const tomorrow = Math.max(0, daysBetween(startsOn, today)) + 1;
  for (const [index, cap] of caps.entries()) {
    if (index < tomorrow) continue;
    if (place < cap) return momentOf(dayAfter(startsOn, index), (place + random) / cap);
    place -= cap;
  }
  return momentOf(dayAfter(startsOn, Math.max(caps.length, tomorrow)), random);
};
