import { describe, expect, test } from 'vitest';
import type { Due, Stream } from '../../../src/workers/delivery/delivery-job.ts';
import { createDepartures } from '../../../src/workers/delivery/departures.ts';
import { createSteppableSystem } from '../../support/system.ts';

const due = (messageId: string, destination = 'example.net'): Due => ({ messageId, destination });

interface Setting {
  readonly inHandMax?: number;
  readonly waitingMax?: number;
  readonly limits?: Readonly<Record<string, number>>;
  /** Of destinations that get one attempt in so many ms. */
  readonly everyMs?: Readonly<Record<string, number>>;
  /** How many may stand in line for such a one. */
  readonly room?: number;
}

/** Departures whose attempts end when they are told to. */
const open = ({ inHandMax = 100, waitingMax = 100, limits = {}, everyMs = {}, room = 100 }: Setting = {}) => {
  const system = createSteppableSystem();
  const every: Record<string, number> = { ...everyMs };
  const lastMs = new Map<string, number>();
  let timers = 0;
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const current: Record<string, number> = { ...limits };
  const departures = createDepartures({
    ...{ inHandMax, waitingMax, limitOf: (operator: string) => current[operator] ?? 2 },
    waitMsOf: (operator) => {
      const nextMs = (lastMs.get(operator) ?? Number.NEGATIVE_INFINITY) + (every[operator] ?? 0);
      return Math.max(0, nextMs - system.monotonicMs());
    },
    roomOf: (operator) => (every[operator] === undefined ? Number.POSITIVE_INFINITY : room),
    begun: (operator) => void lastMs.set(operator, system.monotonicMs()),
    system: {
      monotonicMs: system.monotonicMs,
      sleep: (ms, signal) => {
        timers += 1;
        return system.sleep(ms, signal).finally(() => {
          timers -= 1;
        });
      },
    },
    depart: async ({ messageId }) => {
      begun.push(messageId);
      await new Promise<void>((resolve) => ends.set(messageId, resolve));
      return { recorded: Promise.resolve() };
    },
  });
  const end = async (messageId: string): Promise<void> => {
    ends.get(messageId)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const add = (messageId: string, operator = 'net', stream: Stream = 'transactional') =>
    departures.add(due(messageId), { operator, stream });
  return { departures, add, begun, end, limits: current, every, system, timers: () => timers };
};

describe('departures', () => {
  test('begin as many for a destination as it may get, and the next when one has ended', async () => {
    const { add, begun, end } = open();
    for (const id of ['1', '2', '3']) void add(id);
    expect(begun).toEqual(['1', '2']);
    await end('1');
    expect(begun).toEqual(['1', '2', '3']);
  });

  test('do not wait for another destination', async () => {
    const { add, begun } = open({ limits: { slow: 1 } });
    for (let count = 0; count < 50; count += 1) void add(`slow ${count}`, 'slow');
    void add('quick', 'quick');
    expect(begun).toEqual(['slow 0', 'quick']);
  });

  test('take turns between destinations where all places are taken', async () => {
    const { add, begun, end } = open({ inHandMax: 1 });
    for (const id of ['a1', 'a2', 'a3']) void add(id, 'a');
    for (const id of ['b1', 'b2']) void add(id, 'b');
    for (const id of ['a1', 'a2', 'b1', 'a3']) await end(id);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'b2']);
  });

  test('put the transactional before bulk that came earlier', async () => {
    const { add, begun, end } = open({ inHandMax: 1 });
    void add('first', 'net', 'bulk');
    void add('campaign', 'net', 'bulk');
    void add('password', 'other', 'transactional');
    await end('first');
    expect(begun).toEqual(['first', 'password']);
  });

  test('refuse what is there already, what a full line has no room for, and what goes to a paused destination', async () => {
    const { add, begun } = open({ waitingMax: 1, limits: { net: 1, paused: 0 } });
    void add('1');
    expect(await add('1')).toBe(false);
    void add('2');
    expect(await add('2')).toBe(false);
    expect(await add('3')).toBe(false);
    expect(await add('4', 'paused')).toBe(false);
    expect(begun).toEqual(['1']);
  });

  test('are sated by a line that is long enough, of its stream, until it is short again', async () => {
    const { departures, add, end } = open({ limits: { net: 1 } });
    void add('in hand');
    for (let count = 0; count < 20; count += 1) void add(`${count}`);
    expect(departures.sated('transactional')).toEqual(['example.net']);
    expect(departures.sated('bulk')).toEqual([]);
    await end('in hand');
    expect(departures.sated('transactional')).toEqual([]);
  });

  test('are sated by what they refused a moment ago, and not by what they have already', async () => {
    const { departures, add, system } = open({ limits: { paused: 0 } });
    void add('1');
    expect(await add('1')).toBe(false);
    expect(departures.sated('transactional')).toEqual([]);
    await departures.add(due('2', 'paused.example'), { operator: 'paused', stream: 'bulk' });
    expect(departures.sated('bulk')).toEqual(['paused.example']);
    expect(departures.sated('transactional')).toEqual([]);
    await system.advance(4_000);
    expect(departures.sated('bulk')).toEqual([]);
  });

  test('leave to the timetable what waits for a destination that is paused meanwhile', async () => {
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

  test('begin more when a destination may get more', async () => {
    const { departures, add, begun, limits } = open({ limits: { net: 1 } });
    for (const id of ['1', '2', '3']) void add(id);
    limits.net = 3;
    departures.wake('net');
    expect(begun).toEqual(['1', '2', '3']);
  });

  test('begin no more for a destination in a time than its rate, and others do not wait for it', async () => {
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

  test('give each place of a rate to the transactional first', async () => {
    const { add, begun, system } = open({ everyMs: { slow: 1_000 }, limits: { slow: 100 } });
    for (const id of ['1', '2', '3']) void add(id, 'slow', 'bulk');
    await system.advance(500);
    void add('password', 'slow', 'transactional');
    await system.advance(600);
    expect(begun).toEqual(['1', 'password']);
    await system.advance(2_100);
    expect(begun).toEqual(['1', 'password', '2', '3']);
  });

  test('have a single timer for however many destinations with rates, and none where nothing waits', async () => {
    const many = Array.from({ length: 50 }, (_, at) => `slow${at}`);
    const { departures, add, begun, system, timers } = open({
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
    const closed = departures.close();
    await system.advance(1);
    expect(timers()).toBe(0);
    void closed;
  });

  test('leave to the timetable what a destination that has become slow has no room for, the last first', async () => {
    const { departures, add, begun, every } = open({ limits: { net: 1 }, room: 2 });
    void add('1');
    const waiting = ['2', '3', '4', '5'].map((id) => add(id));
    every.net = 1_000;
    departures.wake('net');
    expect(await Promise.all(waiting.slice(2))).toEqual([false, false]);
    expect(await add('6')).toBe(false);
    expect(begun).toEqual(['1']);
    delete every.net;
    void add('4');
    expect(begun).toEqual(['1']);
  });

  test('end by what was begun: the rest was not', async () => {
    const { departures, add, end } = open({ limits: { net: 1 } });
    const [first, second] = [add('1'), add('2')];
    const closed = departures.close();
    expect(await second).toBe(false);
    await end('1');
    await closed;
    expect(await first).toBe(true);
    expect(await add('3')).toBe(false);
  });
});
