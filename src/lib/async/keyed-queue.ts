import type { System } from './system.ts';
import { createTimers } from './timers.ts';

/**
 * A queue per key, with a concurrency limit and a rate limit for each: a destination or endpoint that is slow or gone
 * delays its own items only. Keys with items that may start take turns; within and across keys the higher priority goes
 * first. Items wait in memory only: the caller must find a refused or dismissed item again.
 */
export interface KeyedQueue<Item, Priority extends string> {
  /**
   * Refuses a duplicate, an item of a key that is full or has a limit of 0, and everything once closed.
   * @returns when the item has ended: whether it was started.
   */
  add(item: Item, key: string, priority: Priority): Promise<boolean>;
  /** Items of a key that wait, run, or are not `done` yet. */
  size(key: string): number;
  /** Items of a key that wait. */
  waiting(key: string): number;
  /** The first `count` items of each key that has at least as many waiting of a priority. */
  heads(priority: Priority, count: number): readonly Item[];
  /** Applies a key's limits again after a change. */
  review(key: string): void;
  /** Dismisses what waits and starts nothing new. @returns when all that was started is done. */
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
  /** Until the rate limit lets the next item start; 0: now. */
  waitMsOf(key: string): number;
  /** Items of each priority that may wait. */
  capacityOf(key: string): number;
  /** An item starts. */
  started(key: string): void;
}

export interface KeyedQueueOptions<Item, Priority extends string> extends KeyLimits {
  /** Highest first. */
  readonly priorities: readonly Priority[];
  /** Items running at the same time, of all keys together. */
  readonly concurrency: number;
  /** Two items of one id are duplicates, until the first is done. */
  idOf(item: Item): string;
  /** Must not reject. */
  run(item: Item, key: string): Promise<Ran>;
  /** An item was refused because its key is full. Not called for duplicates. */
  onRefused?(item: Item, priority: Priority): void;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
}

interface Waiting<Item> {
  readonly item: Item;
  end(started: boolean): void;
}

interface Line<Item, Priority extends string> {
  readonly key: string;
  readonly waiting: Readonly<Record<Priority, Waiting<Item>[]>>;
  running: number;
  unfinished: number;
}

/** @returns a record with a value for each priority. */
const byPriority = <Priority extends string, Value>(priorities: readonly Priority[], make: () => Value) =>
  Object.fromEntries(priorities.map((priority) => [priority, make()])) as Readonly<Record<Priority, Value>>;

export const createKeyedQueue = <Item, Priority extends string>(
  options: KeyedQueueOptions<Item, Priority>,
): KeyedQueue<Item, Priority> => {
  const { priorities, idOf, system } = options;
  type KeyLine = Line<Item, Priority>;
  const lines = new Map<string, KeyLine>();
  /** Lines with an item that may start, in turn. */
  const ready = byPriority(priorities, () => new Set<KeyLine>());
  /** Ids of all that waits, runs or is not done. */
  const present = new Set<string>();
  const unfinished = new Set<Promise<void>>();
  let running = 0;
  let closed = false;

  const waitingIn = ({ waiting }: KeyLine): number =>
    priorities.reduce((sum, priority) => sum + waiting[priority].length, 0);

  /** Dismisses the last items first. @param left items of each priority that may stay. */
  const dismiss = ({ waiting }: KeyLine, left: number): void => {
    if (priorities.every((priority) => waiting[priority].length <= left)) return;
    for (const { item, end } of priorities.flatMap((priority) => waiting[priority].splice(left))) {
      present.delete(idOf(item));
      end(false);
    }
  };

  /** @returns whether the rate limit lets an item start now; otherwise the line is reviewed when it does. */
  const isWithinRate = (line: KeyLine): boolean => {
    const waitMs = options.waitMsOf(line.key);
    if (waitMs > 0 && waitingIn(line) > 0) timers.set(line.key, system.monotonicMs() + waitMs);
    return waitMs === 0;
  };

  const setReady = (line: KeyLine, priority: Priority, isReady: boolean): void => {
    if (isReady) ready[priority].add(line);
    else ready[priority].delete(line);
  };

  const removeIfIdle = (line: KeyLine): void => {
    if (line.unfinished === 0 && waitingIn(line) === 0) lines.delete(line.key);
  };

  const applyLimits = (line: KeyLine): void => {
    const concurrency = options.concurrencyOf(line.key);
    dismiss(line, concurrency === 0 ? 0 : options.capacityOf(line.key));
    const mayStart = line.running < concurrency && isWithinRate(line);
    for (const priority of priorities) setReady(line, priority, mayStart && line.waiting[priority].length > 0);
    removeIfIdle(line);
  };

  const run = async (line: KeyLine, { item, end }: Waiting<Item>): Promise<void> => {
    const { done } = await options.run(item, line.key);
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

  /** @returns false: no item of this priority may start. */
  const startNext = (priority: Priority): boolean => {
    const [line] = ready[priority];
    const next = line?.waiting[priority].shift();
    if (line === undefined || next === undefined) return false;
    ready[priority].delete(line); // its next turn comes after all other lines'
    line.running += 1;
    line.unfinished += 1;
    running += 1;
    options.started(line.key);
    applyLimits(line);
    const one = run(line, next);
    unfinished.add(one);
    void one.finally(() => unfinished.delete(one));
    return true;
  };

  const startReady = (): void => {
    while (!closed && running < options.concurrency && priorities.some(startNext));
  };

  const hasRoom = ({ key, waiting }: KeyLine, priority: Priority): boolean =>
    !closed && options.concurrencyOf(key) > 0 && waiting[priority].length < options.capacityOf(key);

  const review = (key: string): void => {
    const line = lines.get(key);
    if (line === undefined) return;
    applyLimits(line);
    startReady();
  };
  const timers = createTimers(system, review);

  const lineOf = (key: string): KeyLine =>
    lines.get(key) ?? { key, waiting: byPriority(priorities, () => []), running: 0, unfinished: 0 };

  return {
    add: (item, key, priority) => {
      if (present.has(idOf(item))) return Promise.resolve(false);
      const line = lineOf(key);
      if (!hasRoom(line, priority)) {
        options.onRefused?.(item, priority);
        return Promise.resolve(false);
      }
      return new Promise((end) => {
        lines.set(key, line);
        present.add(idOf(item));
        line.waiting[priority].push({ item, end });
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
        waiting.length < count ? [] : waiting.slice(0, count).map(({ item }) => item),
      ),
    review,
    close: async () => {
      closed = true;
      timers.close();
      for (const line of [...lines.values()]) dismiss(line, 0);
      await Promise.all(unfinished);
    },
  };
};
