import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { createKeyedQueue } from '../../../src/lib/async/keyed-queue.ts';
import { createSteppableSystem } from '../../support/system.ts';

type Priority = 'high' | 'low';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Bytes that are still referenced. */
const heapUsed = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

interface Setting {
  readonly concurrency?: number;
  /** Maximum of items of each priority that wait for a key. */
  readonly capacity?: number;
  /** Concurrency by key. Default: 2. */
  readonly limits?: Readonly<Record<string, number>>;
  /** Keys with a rate limit, and the interval between two items in ms. */
  readonly everyMs?: Readonly<Record<string, number>>;
  /** Maximum of items that wait for a rate-limited key. */
  readonly room?: number;
  /** If present, the first letter of an item is its owner. */
  readonly ownerConcurrency?: number;
}

/** A queue whose items the test ends. */
const open = (setting: Setting = {}) => {
  const { concurrency = 100, capacity = 100, limits = {}, everyMs = {}, room = 100, ownerConcurrency } = setting;
  const system = createSteppableSystem();
  const every: Record<string, number> = { ...everyMs };
  const lastMs = new Map<string, number>();
  let timers = 0;
  const begun: string[] = [];
  const refused: string[] = [];
  const ends = new Map<string, () => void>();
  const current: Record<string, number> = { ...limits };
  const queue = createKeyedQueue<string, Priority>({
    priorities: ['high', 'low'],
    concurrency,
    concurrencyOf: (key) => current[key] ?? 2,
    waitMsOf: (key) => {
      const nextMs = (lastMs.get(key) ?? Number.NEGATIVE_INFINITY) + (every[key] ?? 0);
      return Math.max(0, nextMs - system.monotonicMs());
    },
    capacityOf: (key) => (every[key] === undefined ? capacity : room),
    started: (key) => void lastMs.set(key, system.monotonicMs()),
    idOf: (item) => item,
    ...(ownerConcurrency === undefined ? {} : { ownerConcurrency, ownerOf: (item: string) => item.charAt(0) }),
    onRefused: (item, priority) => refused.push(`${item} ${priority}`),
    system: {
      monotonicMs: system.monotonicMs,
      sleep: (ms, signal) => {
        timers += 1;
        return system.sleep(ms, signal).finally(() => {
          timers -= 1;
        });
      },
    },
    run: async (item) => {
      begun.push(item);
      await new Promise<void>((resolve) => ends.set(item, resolve));
      return { done: Promise.resolve() };
    },
  });
  const end = async (item: string): Promise<void> => {
    ends.get(item)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const add = (item: string, key = 'net', priority: Priority = 'high') => queue.add(item, key, priority);
  return { queue, add, begun, refused, end, limits: current, every, system, timers: () => timers };
};

describe('a keyed queue', () => {
  test('starts as many items of a key as its concurrency, and the next when one ends', async () => {
    const { add, begun, end } = open();
    for (const id of ['1', '2', '3']) void add(id);
    expect(begun).toEqual(['1', '2']);
    await end('1');
    expect(begun).toEqual(['1', '2', '3']);
  });

  test('does not make one key wait for another', async () => {
    const { add, begun } = open({ limits: { slow: 1 } });
    for (let count = 0; count < 50; count += 1) void add(`slow ${count}`, 'slow');
    void add('quick', 'quick');
    expect(begun).toEqual(['slow 0', 'quick']);
  });

  test('alternates between keys when the total concurrency is used up', async () => {
    const { add, begun, end } = open({ concurrency: 1 });
    for (const id of ['a1', 'a2', 'a3']) void add(id, 'a');
    for (const id of ['b1', 'b2']) void add(id, 'b');
    for (const id of ['a1', 'a2', 'b1', 'a3']) await end(id);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'b2']);
  });

  test('lets owners take turns at a key, however much one of them has waiting', async () => {
    const { add, begun, end } = open({ limits: { net: 1 }, ownerConcurrency: 50 });
    for (const id of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void add(id);
    for (const id of ['a1', 'a2', 'b1', 'c1', 'a3']) await end(id);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
  });

  test('starts no more of an owner than its share, and never as many as could still start', async () => {
    const { add, begun, end } = open({ concurrency: 12, ownerConcurrency: 5 });
    const addAll = (owner: string): void => {
      for (let count = 0; count < 12; count += 1) void add(`${owner}${count}`, `key ${owner}${count}`);
    };
    const countOf = (owner: string): number => begun.filter((item) => item.startsWith(owner)).length;
    for (const owner of ['a', 'b', 'c']) addAll(owner);
    expect(['a', 'b', 'c'].map(countOf)).toEqual([5, 4, 2]);
    void add('d0', 'key d');
    expect(countOf('d')).toBe(1);
    await end('a0');
    expect(countOf('a')).toBe(5); // the last slot is reserved for owners without one
    void add('e0', 'key e');
    expect(countOf('e')).toBe(1);
    for (const item of ['b0', 'b1', 'c0']) await end(item);
    expect(begun).toHaveLength(15);
  });

  test('gives an owner with few items room at a full key: the last of the owner with most is dismissed', async () => {
    const { add, begun, refused, end } = open({ capacity: 3, limits: { net: 1 }, ownerConcurrency: 50 });
    void add('a0');
    const waiting = ['a1', 'a2', 'a3'].map((id) => add(id));
    expect(await add('a4')).toBe(false);
    void add('b1');
    expect(await waiting[2]).toBe(false);
    expect(refused).toEqual(['a4 high', 'a3 high']);
    for (const id of ['a0', 'a1', 'b1']) await end(id);
    expect(begun).toEqual(['a0', 'a1', 'b1', 'a2']);
  });

  test('starts nothing of an owner whose items were dismissed', async () => {
    const { queue, add, begun, limits } = open({ limits: { net: 1 }, ownerConcurrency: 50 });
    void add('a1');
    const waiting = add('b1');
    limits.net = 0;
    queue.review('net');
    expect(await waiting).toBe(false);
    limits.net = 2;
    queue.review('net');
    void add('c1');
    expect(begun).toEqual(['a1', 'c1']);
  });

  test('starts a higher priority before a lower one that arrived earlier', async () => {
    const { add, begun, end } = open({ concurrency: 1 });
    void add('first', 'net', 'low');
    void add('list', 'net', 'low');
    void add('urgent', 'other', 'high');
    await end('first');
    expect(begun).toEqual(['first', 'urgent']);
  });

  test('refuses duplicates, items of a full key, and items of a paused key', async () => {
    const { add, begun } = open({ capacity: 1, limits: { net: 1, paused: 0 } });
    void add('1');
    expect(await add('1')).toBe(false);
    void add('2');
    expect(await add('2')).toBe(false);
    expect(await add('3')).toBe(false);
    expect(await add('4', 'paused')).toBe(false);
    expect(begun).toEqual(['1']);
  });

  test('accepts an item again once it has ended', async () => {
    const { add, begun, end } = open();
    const first = add('1');
    expect(await add('1')).toBe(false);
    await end('1');
    expect(await first).toBe(true);
    void add('1');
    expect(begun).toEqual(['1', '1']);
  });

  test('shows the first items of keys with enough of a priority waiting, until there are fewer', async () => {
    const { queue, add, end } = open({ limits: { net: 1 } });
    void add('running');
    for (let count = 0; count < 3; count += 1) void add(`${count}`);
    expect(queue.heads('high', 3)).toEqual(['0', '1', '2']);
    expect(queue.heads('high', 2)).toEqual(['0', '1']);
    expect(queue.heads('low', 1)).toEqual([]);
    expect([queue.size('net'), queue.waiting('net')]).toEqual([4, 3]);
    await end('running');
    expect(queue.heads('high', 3)).toEqual([]);
  });

  test('shows the first items of an owner with enough waiting, and none of another', () => {
    const { queue, add } = open({ limits: { net: 1 }, ownerConcurrency: 100 });
    for (const item of ['a0', 'a1', 'b1', 'a2', 'a3']) void add(item);
    expect(queue.heads('high', 2)).toEqual(['a1', 'a2']);
    expect(queue.heads('high', 1)).toEqual(['a1', 'b1']);
  });

  test('reports what it refused for want of room, and no duplicates', async () => {
    const { add, refused } = open({ limits: { paused: 0 } });
    void add('1');
    expect(await add('1')).toBe(false);
    expect(await add('2', 'paused', 'low')).toBe(false);
    expect(refused).toEqual(['2 low']);
  });

  test('dismisses the items of a key that is paused while they wait', async () => {
    const { add, begun, end, limits } = open({ limits: { net: 1 } });
    void add('1');
    const waiting = add('2');
    limits.net = 0;
    await end('1');
    expect(await waiting).toBe(false);
    expect(begun).toEqual(['1']);
    limits.net = 1;
    void add('2');
    expect(begun).toEqual(['1', '2']);
  });

  test('starts more when a limit was raised and is reviewed', async () => {
    const { queue, add, begun, limits } = open({ limits: { net: 1 } });
    for (const id of ['1', '2', '3']) void add(id);
    limits.net = 3;
    queue.review('net');
    expect(begun).toEqual(['1', '2', '3']);
  });

  test('keeps to the rate of a key, and other keys do not wait for it', async () => {
    const { add, begun, system, every } = open({ limits: { slow: 100 }, everyMs: { slow: 1_000 } });
    for (const id of ['1', '2', '3']) void add(id, 'slow');
    void add('quick', 'quick');
    expect(begun).toEqual(['1', 'quick']);
    await system.advance(900);
    expect(begun).toEqual(['1', 'quick']);
    await system.advance(150);
    expect(begun).toEqual(['1', 'quick', '2']);
    await system.advance(1_050);
    expect(begun).toEqual(['1', 'quick', '2', '3']);
    delete every.slow;
    for (const id of ['4', '5']) void add(id, 'slow');
    expect(begun.slice(-2)).toEqual(['4', '5']);
  });

  test('gives each slot of a rate to the higher priority first', async () => {
    const { add, begun, system } = open({ everyMs: { slow: 1_000 }, limits: { slow: 100 } });
    for (const id of ['1', '2', '3']) void add(id, 'slow', 'low');
    await system.advance(500);
    void add('urgent', 'slow', 'high');
    await system.advance(600);
    expect(begun).toEqual(['1', 'urgent']);
    await system.advance(2_100);
    expect(begun).toEqual(['1', 'urgent', '2', '3']);
  });

  test('has a single timer for any number of keys with rates, and none when nothing waits', async () => {
    const many = Array.from({ length: 50 }, (_, at) => `slow${at}`);
    const { queue, add, begun, system, timers } = open({
      everyMs: Object.fromEntries(many.map((name, at) => [name, 1_000 + at])),
    });
    for (const name of many) void add(`${name} 1`, name);
    expect(timers()).toBe(0);
    for (const name of many) void add(`${name} 2`, name);
    await system.advance(10);
    expect(timers()).toBe(1);
    await system.advance(1_200);
    expect(begun.length).toBe(100);
    expect(timers()).toBe(0);
    for (const name of many) void add(`${name} 3`, name);
    const closed = queue.close();
    await system.advance(1);
    expect(timers()).toBe(0);
    void closed;
  });

  test('dismisses the last items of a key whose capacity shrinks', async () => {
    const { queue, add, begun, every } = open({ limits: { net: 1 }, room: 2 });
    void add('1');
    const waiting = ['2', '3', '4', '5'].map((id) => add(id));
    every.net = 1_000;
    queue.review('net');
    expect(await Promise.all(waiting.slice(2))).toEqual([false, false]);
    expect(await add('6')).toBe(false);
    expect(begun).toEqual(['1']);
    delete every.net;
    void add('4');
    expect(begun).toEqual(['1']);
  });

  test('dismisses waiting items on closing, and waits for started ones', async () => {
    const { queue, add, end } = open({ limits: { net: 1 } });
    const [first, second] = [add('1'), add('2')];
    const closed = queue.close();
    expect(await second).toBe(false);
    await end('1');
    await closed;
    expect(await first).toBe(true);
    expect(await add('3')).toBe(false);
  });

  test('keeps nothing of a key that has no items left', async () => {
    const queue = createKeyedQueue<string, Priority>({
      priorities: ['high', 'low'],
      concurrency: 100,
      concurrencyOf: () => 2,
      waitMsOf: () => 0,
      capacityOf: () => 100,
      started: () => undefined,
      idOf: (item) => item,
      run: () => Promise.resolve({ done: Promise.resolve() }),
      system: createSteppableSystem(),
    });
    const before = heapUsed();
    // Senders choose the keys: a destination is the name of a mail server.
    for (let number = 0; number < 2_000; number += 1) {
      const key = Buffer.alloc(20_000, `${number} `).toString('latin1');
      expect(await queue.add(String(number), key, 'high')).toBe(true);
    }
    expect(heapUsed() - before).toBeLessThan(10_000_000);
    expect(queue.heads('high', 0)).toEqual([]); // keeps the queue reachable
  });
});
