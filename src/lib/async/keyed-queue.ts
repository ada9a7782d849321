import { createFairQueue, createShares, type FairQueue, type Place, type Shares } from './semaphore.ts';
import type { System } from './system.ts';
import { createTimers } from './timeouts.ts';

/**
 * A queue per key, with a concurrency limit and a rate limit for each: a slow or dead destination or endpoint delays
 * only its own items. Owners (organizations) with items that may start take turns, and so do the keys of each owner;
 * within and across keys the higher priority goes first. Items wait in memory only: the caller must find a refused or
 * dismissed item again.
 */
export interface KeyedQueue<Item, Priority extends string> {
  /**
   * Refuses a duplicate, an item of a key whose limit is 0, and everything once closed. If the key is full, refuses or
   * dismisses the last item of the owner with the most waiting.
   * @returns whether the item was started, once it has ended.
   */
  add(item: Item, key: string, priority: Priority): Promise<boolean>;
  /** Items of a key that wait, run, or are not `done` yet. */
  size(key: string): number;
  /** Items of a key that wait. */
  waiting(key: string): number;
  /** The first `count` items of each owner that has at least as many waiting of a priority at a key, for each key. */
  heads(priority: Priority, count: number): readonly Item[];
  /** Applies a key's limits again after a change. */
  review(key: string): void;
  /** Dismisses waiting items and starts nothing new. @returns when all started items are done. */
  close(): Promise<void>;
}

/** An item that no longer occupies its key; `done` resolves when nothing is left to do for it. */
export interface Ran {
  readonly done: Promise<void>;
}

/** The limits of each key, asked for whenever an item may start. */
export interface KeyLimits {
  /** Items running at the same time; 0: the key is paused, and what waits is dismissed. */
  concurrencyOf(key: string): number;
  /** Time until the rate limit allows the next item; 0: now. */
  waitMsOf(key: string): number;
  /** Items of each priority that may wait. */
  capacityOf(key: string): number;
  /** Called when an item starts. */
  started(key: string): void;
}

export interface KeyedQueueOptions<Item, Priority extends string> extends KeyLimits {
  /** Highest first. */
  readonly priorities: readonly Priority[];
  /** Items running at the same time, of all keys together. */
  readonly concurrency: number;
  /** Owner whose turn the item uses. Default: all items have one owner. */
  ownerOf?(item: Item): string;
  /** Items of one owner running at the same time, and never more than could still start. Default: any number. */
  readonly ownerConcurrency?: number | undefined;
  /** Identifies duplicates: two items with the same id, until the first is done. */
  idOf(item: Item): string;
  /** Must not reject. */
  run(item: Item, key: string): Promise<Ran>;
  /** An item was refused or dismissed because its key is full. Not called for duplicates. */
  onRefused?(item: Item, priority: Priority): void;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
}

interface Waiting<Item> {
  readonly item: Item;
  readonly owner: string;
  end(started: boolean): void;
}

interface Line<Item, Priority extends string> {
  readonly key: string;
  readonly waiting: Readonly<Record<Priority, FairQueue<Waiting<Item>>>>;
  running: number;
  unfinished: number;
}

/** @returns a record with a value for each priority. */
const byPriority = <Priority extends string, Value>(priorities: readonly Priority[], make: () => Value) =>
  Object.fromEntries(priorities.map((priority) => [priority, make()])) as Readonly<Record<Priority, Value>>;

/** Used when owners have no shares. */
const UNSHARED: Pick<Shares<'owner'>, 'take'> = { take: () => ({ release: () => undefined }) };

export const createKeyedQueue = <Item, Priority extends string>(
  options: KeyedQueueOptions<Item, Priority>,
): KeyedQueue<Item, Priority> => {
  const { priorities, idOf, ownerOf = () => '', ownerConcurrency, system } = options;
  type KeyLine = Line<Item, Priority>;
  const lines = new Map<string, KeyLine>();
  /** Lines with an item that may start, by owner. Owners and lines both take turns. */
  const ready = byPriority(priorities, () => new Map<string, Set<KeyLine>>());
  const places =
    ownerConcurrency === undefined
      ? UNSHARED
      : createShares({ max: options.concurrency, shares: { owner: ownerConcurrency } });
  /** Ids of all items that wait, run or are not done. */
  const present = new Set<string>();
  const unfinished = new Set<Promise<void>>();
  let running = 0;
  let closed = false;

  const waitingIn = ({ waiting }: KeyLine): number =>
    priorities.reduce((sum, priority) => sum + waiting[priority].size, 0);

  const setReady = (line: KeyLine, priority: Priority, owner: string, isReady: boolean): void => {
    const lines = ready[priority].get(owner) ?? new Set();
    if (isReady) lines.add(line);
    else lines.delete(line);
    if (lines.size === 0) ready[priority].delete(owner);
    else ready[priority].set(owner, lines);
  };

  /**
   * Dismisses the last items, each from the owner with the most waiting. @param left items of a priority that may stay.
   */
  const dismiss = (line: KeyLine, priority: Priority, left: number): readonly Item[] => {
    const dismissed: Item[] = [];
    const waiting = line.waiting[priority];
    while (waiting.size > left) {
      const last = waiting.dropOfLongest();
      if (last === undefined) break;
      const { item, owner, end } = last;
      if (waiting.sizeOf(owner) === 0) setReady(line, priority, owner, false);
      present.delete(idOf(item));
      end(false);
      dismissed.push(item);
    }
    return dismissed;
  };

  /** @returns true if the rate limit allows an item now. Otherwise the line is reviewed when it does. */
  const isWithinRate = (line: KeyLine): boolean => {
    const waitMs = options.waitMsOf(line.key);
    if (waitMs > 0 && waitingIn(line) > 0) timers.set(line.key, system.monotonicMs() + waitMs);
    return waitMs === 0;
  };

  const removeIfIdle = (line: KeyLine): void => {
    if (line.unfinished === 0 && waitingIn(line) === 0) lines.delete(line.key);
  };

  const setAllReady = (line: KeyLine, isReady: boolean): void => {
    for (const priority of priorities)
      for (const owner of line.waiting[priority].owners()) setReady(line, priority, owner, isReady);
  };

  const applyLimits = (line: KeyLine): void => {
    const concurrency = options.concurrencyOf(line.key);
    const left = concurrency === 0 ? 0 : options.capacityOf(line.key);
    for (const priority of priorities) dismiss(line, priority, left);
    setAllReady(line, line.running < concurrency && isWithinRate(line));
    removeIfIdle(line);
  };

  const run = async (line: KeyLine, { item, end }: Waiting<Item>, place: Place): Promise<void> => {
    const { done } = await options.run(item, line.key);
    place.release();
    line.running -= 1;
    running -= 1;
    applyLimits(line);
    startReady();
    await done;
    line.unfinished -= 1;
    removeIfIdle(line);
    present.delete(idOf(item));
    end(true);
  };

  /**
   * Picks the owner's next line. The line moves to the end of the owner's lines, and the owner to the end of all
   * owners.
   */
  const takeTurn = (owner: string, priority: Priority): KeyLine | undefined => {
    const lines = ready[priority].get(owner);
    const line = lines?.values().next().value;
    if (lines === undefined || line === undefined) return undefined;
    ready[priority].delete(owner);
    lines.delete(line);
    if (lines.size > 0) ready[priority].set(owner, lines);
    return line;
  };

  const start = (line: KeyLine, next: Waiting<Item>, place: Place): void => {
    line.running += 1;
    line.unfinished += 1;
    running += 1;
    options.started(line.key);
    applyLimits(line);
    const one = run(line, next, place);
    unfinished.add(one);
    void one.finally(() => unfinished.delete(one));
  };

  /** @returns false if the owner's share is used up. */
  const startNextOf = (owner: string, priority: Priority): boolean => {
    const place = places.take({ owner });
    if ('full' in place) return false;
    const line = takeTurn(owner, priority);
    const next = line?.waiting[priority].shift((one) => one.owner === owner);
    if (line !== undefined && next !== undefined) start(line, next, place);
    return true;
  };

  /** @returns false if no item of this priority may start. */
  const startNext = (priority: Priority): boolean =>
    ready[priority].keys().some((owner) => startNextOf(owner, priority));

  const startReady = (): void => {
    while (!closed && running < options.concurrency && priorities.some(startNext));
  };

  const isOpen = (key: string): boolean => !closed && options.concurrencyOf(key) > 0;

  const review = (key: string): void => {
    const line = lines.get(key);
    if (line === undefined) return;
    applyLimits(line);
    startReady();
  };
  const timers = createTimers(system, review);

  const lineOf = (key: string): KeyLine =>
    lines.get(key) ?? { key, waiting: byPriority(priorities, () => createFairQueue()), running: 0, unfinished: 0 };

  return {
    add: (item, key, priority) => {
      if (present.has(idOf(item))) return Promise.resolve(false);
      const line = lineOf(key);
      if (!isOpen(key)) {
        options.onRefused?.(item, priority);
        return Promise.resolve(false);
      }
      return new Promise((end) => {
        lines.set(key, line);
        present.add(idOf(item));
        const owner = ownerOf(item);
        line.waiting[priority].push(owner, { item, owner, end });
        for (const dismissed of dismiss(line, priority, options.capacityOf(key)))
          options.onRefused?.(dismissed, priority);
        applyLimits(line);
        startReady();
      });
    },
    size: (key) => {
      const line = lines.get(key);
      return line === undefined ? 0 : line.unfinished + waitingIn(line);
    },
    waiting: (key) => {
      const line = lines.get(key);
      return line === undefined ? 0 : waitingIn(line);
    },
    heads: (priority, count) =>
      [...lines.values()].flatMap(({ waiting: { [priority]: waiting } }) =>
        [...waiting.owners()]
          .filter((owner) => waiting.sizeOf(owner) >= count)
          .flatMap((owner) => waiting.firstOf(owner, count).map(({ item }) => item)),
      ),
    review,
    close: async () => {
      closed = true;
      timers.close();
      for (const line of [...lines.values()]) for (const priority of priorities) dismiss(line, priority, 0);
      await Promise.all(unfinished);
    },
  };
};
