import { type Timeout, withTimeout } from './timeouts.ts';

/** Runs work up to a total weight; the rest waits. Owners take turns, each in its order of arrival. */
export interface Semaphore {
  /**
   * Runs `work` once there is room for it. Work heavier than the capacity runs alone.
   * @param weight default: 1.
   * @param owner waits only for its own backlog: an organization. Default: all work has one owner.
   * @throws `busy` when too many wait, `timeout` when its turn does not come. In both cases `work` was not started.
   */
  run<Result>(work: () => Promise<Result>, weight?: number, owner?: string): Promise<Result>;
}

interface SemaphoreOptions {
  /** Total weight of running work. */
  readonly capacity: number;
  /**
   * Weight of running work of one owner, and never more than the free capacity: an owner with nothing running does not
   * wait for one that has much. Default: any weight.
   */
  readonly share?: number;
  /**
   * Callers that may wait. Beyond that, the last one of the owner with the most waiting is rejected. Default: any
   * number.
   */
  readonly waitingMax?: number;
  /** Error thrown when no more may wait. */
  readonly busy?: () => Error;
  /** How long a caller waits for its turn. Default: as long as it takes. */
  readonly timeout?: Timeout;
}

interface Waiting {
  readonly weight: number;
  readonly owner: string;
  readonly admit: () => void;
  readonly refuse: (error: Error) => void;
  /** May become true at the very moment of its time-out. */
  isAdmitted: boolean;
}

type Running = Pick<Waiting, 'weight' | 'owner'>;

export const createSemaphore = (options: SemaphoreOptions): Semaphore => {
  const { capacity, share, timeout, waitingMax = Number.POSITIVE_INFINITY } = options;
  const busy = options.busy ?? (() => new Error('too many callers wait'));
  const waiting = createFairQueue<Waiting>();
  /** Weight by owner, without zeros. */
  const weightOf = new Map<string, number>();
  let running = 0;
  let weightRunning = 0;

  const fits = ({ weight }: Running): boolean => running === 0 || weightRunning + weight <= capacity;

  const isWithinShare = ({ weight, owner }: Running): boolean => {
    const own = weightOf.get(owner) ?? 0;
    return share === undefined || own === 0 || own + weight <= Math.min(share, capacity - weightRunning);
  };

  const change = ({ weight, owner }: Running, sign: 1 | -1): void => {
    running += sign;
    weightRunning += sign * weight;
    const own = (weightOf.get(owner) ?? 0) + sign * weight;
    if (own === 0) weightOf.delete(owner);
    else weightOf.set(owner, own);
  };

  /** The next in line is never overtaken: otherwise there would never be room for heavy work. */
  const admitWhatFits = (): void => {
    for (let next = waiting.peek(isWithinShare); next !== undefined && fits(next); next = waiting.peek(isWithinShare)) {
      waiting.shift(isWithinShare);
      change(next, 1);
      next.isAdmitted = true;
      next.admit();
    }
  };

  const leave = (one: Running): void => {
    change(one, -1);
    admitWhatFits();
  };

  const inTime = async (limit: Timeout, one: Waiting, turn: Promise<void>): Promise<void> => {
    try {
      await withTimeout(limit, turn);
    } catch (error) {
      if (one.isAdmitted) leave(one);
      else if (waiting.remove(one.owner, one)) admitWhatFits();
      throw error;
    }
  };

  const wait = (running: Running): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one = { ...running, admit: resolve, refuse: reject, isAdmitted: false };
    waiting.push(one.owner, one);
    admitWhatFits();
    if (waiting.size > waitingMax) waiting.dropOfLongest()?.refuse(busy());
    return timeout === undefined ? promise : inTime(timeout, one, promise);
  };

  return {
    run: async (work, weight = 1, owner = '') => {
      const one = { weight, owner };
      if (waiting.size === 0 && fits(one) && isWithinShare(one)) change(one, 1);
      else await wait(one);
      try {
        return await work();
      } finally {
        leave(one);
      }
    },
  };
};

/**
 * Places in a pool that many owners use: each owner has a share. A place belongs to several owners at once, such as an
 * organization and one of its keys.
 *
 * Besides its fixed share, an owner may hold at most as many places as are free. One owner alone gets half of the pool,
 * two get a third each: no number of greedy owners can fill the pool and lock out a new one.
 */
export interface Shares<Owner extends string> {
  take(owners: Readonly<Record<Owner, string>>): Place | Full<Owner>;
  /** Places taken now. */
  size(): number;
}

export interface Place {
  /** Idempotent. */
  readonly release: () => void;
}

/** No place is free: the owner whose share is used up, or `all` of the pool. */
export interface Full<Owner extends string> {
  readonly full: Owner | 'all';
}

interface ShareBounds<Owner extends string> {
  readonly max: number;
  /** Places of one owner of each kind. */
  readonly shares: Readonly<Record<Owner, number>>;
}

export const createShares = <Owner extends string>({ max, shares }: ShareBounds<Owner>): Shares<Owner> => {
  const kinds = Object.keys(shares) as Owner[];
  /** Places by owner, without zeros. */
  const held = new Map<string, number>();
  let size = 0;

  const change = (name: string, difference: number): void => {
    const count = (held.get(name) ?? 0) + difference;
    if (count === 0) held.delete(name);
    else held.set(name, count);
  };

  return {
    take: (owners) => {
      if (size >= max) return { full: 'all' };
      const nameOf = (kind: Owner): string => `${kind} ${owners[kind]}`;
      const full = kinds.find((kind) => (held.get(nameOf(kind)) ?? 0) >= Math.min(shares[kind], max - size));
      if (full !== undefined) return { full };
      const names = kinds.map(nameOf);
      for (const name of names) change(name, 1);
      size += 1;
      let isTaken = true;
      return {
        release: () => {
          if (!isTaken) return;
          isTaken = false;
          size -= 1;
          for (const name of names) change(name, -1);
        },
      };
    },
    size: () => size,
  };
};

export interface FairQueue<Item> {
  /** Adds an item at the end of its owner's line. */
  push(owner: string, item: Item): void;
  /** Removes the next item: owners take turns. An owner whose first item cannot go is skipped. */
  shift(canGo?: (item: Item) => boolean): Item | undefined;
  /** The item that `shift` would remove. */
  peek(canGo?: (item: Item) => boolean): Item | undefined;
  /** Removes the last item of the owner with the longest line, to shorten a queue that is too long. */
  dropOfLongest(): Item | undefined;
  /** Owners with items. */
  owners(): Iterable<string>;
  /** Items of the owner. */
  sizeOf(owner: string): number;
  /** The owner's first items, as many at most. */
  firstOf(owner: string, count: number): readonly Item[];
  /** All items, owner by owner. */
  items(): Iterable<Item>;
  /** Removes an item that is no longer wanted. @returns false if it was not in the queue. */
  remove(owner: string, item: Item): boolean;
  readonly size: number;
}

const ANY = (_item: unknown): boolean => true;

/**
 * A queue in which no owner (organization) waits for another's backlog: owners take turns, one item each. All
 * operations take constant time except `dropOfLongest`, `remove` and skipping.
 */
export const createFairQueue = <Item>(): FairQueue<Item> => {
  /** Owners in the order of their turns; a served owner moves to the end. No list is empty. */
  const owners = new Map<string, Item[]>();
  let size = 0;

  const first = (canGo: (item: Item) => boolean = ANY): readonly [string, Item[]] | undefined => {
    for (const entry of owners) if (canGo(entry[1][0] as Item)) return entry;
    return undefined;
  };

  const takeAt = (owner: string, items: Item[], index: number): Item | undefined => {
    const [item] = items.splice(index, 1);
    size -= 1;
    if (items.length === 0) owners.delete(owner);
    return item;
  };

  return {
    push: (owner, item) => {
      const items = owners.get(owner);
      if (items === undefined) owners.set(owner, [item]);
      else items.push(item);
      size += 1;
    },
    shift: (canGo) => {
      const next = first(canGo);
      if (next === undefined) return undefined;
      const [owner, items] = next;
      const item = takeAt(owner, items, 0);
      if (owners.delete(owner)) owners.set(owner, items);
      return item;
    },
    peek: (canGo) => first(canGo)?.[1][0],
    dropOfLongest: () => {
      let longest = first();
      for (const entry of owners) if (entry[1].length >= (longest?.[1].length ?? 0)) longest = entry;
      return longest === undefined ? undefined : takeAt(longest[0], longest[1], longest[1].length - 1);
    },
    owners: () => owners.keys(),
    sizeOf: (owner) => owners.get(owner)?.length ?? 0,
    firstOf: (owner, count) => owners.get(owner)?.slice(0, count) ?? [],
    *items() {
      for (const items of owners.values()) yield* items;
    },
    remove: (owner, item) => {
      const items = owners.get(owner) ?? [];
      const index = items.indexOf(item);
      if (index >= 0) takeAt(owner, items, index);
      return index >= 0;
    },
    get size() {
      return size;
    },
  };
};
