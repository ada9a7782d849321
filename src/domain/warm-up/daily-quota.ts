import type { Aggregate } from '../kernel/aggregate.ts';
import type { DailyQuotaEvent } from '../kernel/events.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import { dayAfter, daysBetween, momentOf, type Plan } from './warm-up.ts';

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

export interface ReserveQuota {
  readonly domainId: string;
  readonly day: string;
  /** Maximum recipients of each mailbox provider on that day. */
  readonly cap: number;
  readonly requests: readonly QuotaRequest[];
  /** Reserved by this process but not used yet. */
  readonly unused: RecipientCounts;
}

export interface Reserved {
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

/**
 * Reserves quota. A message is granted while any quota is left, so that one with many recipients does not wait forever
 * behind smaller ones.
 */
export const reserveQuota = (state: DailyQuota, { domainId, day, cap, requests, unused }: ReserveQuota): Reserved => {
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
  const events: readonly DailyQuotaEvent[] =
    list.length === 0 ? [] : [{ type: 'WarmUpPlacesTaken', data: { domainId, day, taken: list } }];
  return { refusedBy, unused: left, events };
};

export interface Turn {
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
