import { describe, expect, test } from 'vitest';
import type { Due, Stream } from '../../../src/workers/messages/delivery-job.ts';
import { createDepartures } from '../../../src/workers/messages/departures.ts';

const due = (messageId: string): Due => ({ messageId, destination: 'example.net' });

interface Setting {
  readonly inHandMax?: number;
  readonly waitingMax?: number;
  readonly limits?: Readonly<Record<string, number>>;
}

/** Departures whose attempts end when they are told to. */
const open = ({ inHandMax = 100, waitingMax = 100, limits = {} }: Setting = {}) => {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const current: Record<string, number> = { ...limits };
  const departures = createDepartures({
    ...{ inHandMax, waitingMax, limitOf: (operator: string) => current[operator] ?? 2 },
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
  return { departures, add, begun, end, limits: current };
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
