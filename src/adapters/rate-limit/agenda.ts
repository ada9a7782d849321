import type { Buckets } from './buckets.ts';
import { type Facts, forgetLack, isDue, isForgettable, type Offer, offerOf, type Slice, usedOf } from './slice.ts';

/** An exchange holds the lock of all rate limits: more buckets in one make the other processes wait. */
const BUCKETS_PER_EXCHANGE = 500;

/** Forgotten buckets that are still to be given back. More is memory; the rest ends with the process. */
const DROPPED_MAX = 20_000;

export interface Item {
  readonly name: string;
  readonly offer: Offer;
  /** Absent: the bucket is remembered no more. */
  readonly slice: Slice | undefined;
  readonly waiting: readonly (() => void)[];
}

/** What is to be said in the next exchanges. */
export interface Agenda {
  /** Goes first: a request waits for it. */
  ask(name: string): void;
  note(name: string): void;
  /** Of a bucket that is remembered no more. */
  drop(name: string, share: number): void;
  /** Notes every bucket that has too much or lacks something, and forgets those that nothing is lost with. */
  lookThrough(facts: Facts): void;
  /** Sets every share anew and asks for nothing. Until the database has been told of all, nobody else may be granted anything. */
  announceAll(facts: Facts, shareOf: (used: number, slice: Slice) => number): void;
  /** What goes into one exchange. From then on no share is more than what is said of it. */
  take(facts: Facts): readonly Item[];
  /** Whether something is unannounced that does not go with these. */
  hasUnannounced(items: readonly Item[]): boolean;
  arrived(items: readonly Item[]): void;
  /** Whether they arrived is not known: said again. */
  failed(items: readonly Item[]): void;
  isEmpty(): boolean;
  /** There is nobody to share with. */
  clear(): void;
}

const NOTHING: Offer = { ceiling: 0, keep: 0, leastNeed: 0, need: 0, isAhead: false, taken: 0, freesMs: null };

export const createAgenda = (buckets: Buckets<Slice>): Agenda => {
  const asked = new Set<string>();
  const noted = new Set<string>();
  const dropped = new Set<string>();
  const unannounced = new Set<string>();

  const itemOf = (name: string, facts: Facts): Item | undefined => {
    const slice = buckets.get(name);
    const isDropped = dropped.delete(name);
    if (slice !== undefined) {
      return { name, slice, offer: offerOf(slice, facts), waiting: slice.waiting.splice(0) };
    }
    unannounced.delete(name);
    return isDropped ? { name, slice, offer: NOTHING, waiting: [] } : undefined;
  };

  const nextName = (): string | undefined => {
    const [name] = asked.size > 0 ? asked : noted;
    if (name !== undefined) for (const names of [asked, noted]) names.delete(name);
    return name;
  };

  const forgetIdle = (name: string, slice: Slice, { nowMs, windowMs }: Facts): void => {
    if (!noted.has(name) && isForgettable(slice, nowMs, windowMs)) buckets.forget(name);
  };

  const drop = (name: string): void => {
    if (dropped.size >= DROPPED_MAX) return;
    dropped.add(name);
    noted.add(name);
  };

  return {
    ask: (name) => {
      asked.add(name);
    },
    note: (name) => {
      noted.add(name);
    },
    drop: (name, share) => {
      if (share > 0 || noted.has(name)) drop(name);
    },
    lookThrough: (facts) => {
      for (const [name, slice] of buckets.all()) {
        if (isDue(slice, facts)) noted.add(name);
        else forgetIdle(name, slice, facts);
      }
    },
    announceAll: (facts, shareOf) => {
      for (const [name, slice] of buckets.all()) {
        slice.share = shareOf(usedOf(slice, facts), slice);
        forgetLack(slice);
        noted.add(name);
        unannounced.add(name);
      }
    },
    take: (facts) => {
      const items: Item[] = [];
      for (let name = nextName(); name !== undefined; name = nextName()) {
        const item = itemOf(name, facts);
        if (item !== undefined) items.push(item);
        if (items.length >= BUCKETS_PER_EXCHANGE) break;
      }
      return items;
    },
    hasUnannounced: (items) => {
      const names = new Set(items.map(({ name }) => name));
      for (const name of unannounced) if (!names.has(name)) return true;
      return false;
    },
    arrived: (items) => {
      for (const { name } of items) unannounced.delete(name);
    },
    failed: (items) => {
      for (const { name, slice } of items) {
        if (slice === undefined) drop(name);
        else noted.add(name);
      }
    },
    isEmpty: () => asked.size + noted.size === 0,
    clear: () => {
      for (const names of [asked, noted, dropped, unannounced]) names.clear();
      for (const [, slice] of buckets.all()) {
        slice.share = 0;
        for (const resume of slice.waiting.splice(0)) resume();
      }
    },
  };
};
