import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { EventStore, Page, Position, RecordedEvent } from '../../../src/lib/event-log/event-log.ts';
import { createReadingBehind, type ReadingBehind } from '../../../src/lib/event-log/follower.ts';
import { createSteppableSystem, type SteppableSystem } from '../../support/system.ts';

const positionOf = (number: number): Position => (number === 0 ? '' : String(number).padStart(8, '0'));
const numberOf = (position: Position): number => Number(position);

/** A log of this many events. Only their positions are used. */
const logOf = (count: number) => {
  const events = Array.from({ length: count }, (_, index) => ({ position: positionOf(index + 1) }) as RecordedEvent);
  const readAll = vi.fn<EventStore['readAll']>(async ({ from = '', limit }) => {
    const page = events.slice(numberOf(from), numberOf(from) + limit);
    return { events: page, position: page.at(-1)?.position ?? from };
  });
  return { readAll, head: positionOf(count) };
};

interface Consumer {
  readonly name: string;
  readonly from: number;
  /** Processing time of a page, in ms. */
  readonly ms: number;
  /** If true, processing of every page fails once and is repeated. */
  readonly fails?: boolean;
}

interface FollowResult {
  readonly numbers: readonly number[];
  /** Number of pages that it read on its own. */
  readonly alone: number;
}

/** Reads to the head like the log follower. */
const follow = async (
  log: ReturnType<typeof logOf>,
  system: SteppableSystem,
  reading: ReadingBehind,
  { name, from, ms, fails = false }: Consumer,
): Promise<FollowResult> => {
  const numbers: number[] = [];
  let position = positionOf(from);
  let alone = 0;
  const pageAfter = async (after: Position): Promise<Page> => {
    if (fails) await reading.read(name, after);
    const shared = await reading.read(name, after);
    if (shared !== null) return shared;
    alone += 1;
    return log.readAll({ from: after, limit: 4000 });
  };
  while (position < log.head) {
    const page = await pageAfter(position);
    numbers.push(...page.events.map((event) => numberOf(event.position)));
    position = page.position;
    if (ms > 0) await system.sleep(ms);
  }
  reading.leave(name);
  return { numbers, alone };
};

/** Runs all consumers at once until they are done. */
const followAll = async (count: number, consumers: readonly Consumer[]) => {
  const log = logOf(count);
  const system = createSteppableSystem();
  const reading = createReadingBehind({ store: log, system, signal: new AbortController().signal });
  let isDone = false;
  const all = Promise.all(consumers.map((consumer) => follow(log, system, reading, consumer))).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await system.advance(50);
    reading.leave('one that is level');
  }
  return { followed: await all, reads: log.readAll.mock.calls.length };
};

const numbersFrom = (from: number, count: number): readonly number[] =>
  Array.from({ length: count - from }, (_, index) => from + index + 1);

test('every consumer receives every event once and in order, whatever its start and speed', async () => {
  const consumer = fc.record({
    from: fc.nat(22_000),
    ms: fc.constantFrom(0, 1, 30, 900, 6_000, 7_000),
    fails: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(consumer, { minLength: 1, maxLength: 6 }), async (plan) => {
      const consumers = plan.map((each, index) => ({ ...each, name: `consumer ${index}` }));
      const { followed } = await followAll(22_000, consumers);
      expect(followed.map(({ numbers }) => numbers)).toEqual(consumers.map(({ from }) => numbersFrom(from, 22_000)));
    }),
    { numRuns: 200 },
  );
});

test('each page is read once for all consumers, at the speed of the slowest', async () => {
  const consumers = Array.from({ length: 16 }, (_, index) => ({ name: `consumer ${index}`, from: 0, ms: index * 40 }));
  const { followed, reads } = await followAll(60_000, consumers);
  expect(followed.every(({ alone }) => alone === 0)).toBe(true);
  expect(reads).toBe(15);
});

test('consumers that start a little apart converge', async () => {
  const consumers = [300, 0, 9_000, 4_100].map((from, index) => ({ name: `consumer ${index}`, from, ms: 20 * index }));
  const { followed, reads } = await followAll(100_000, consumers);
  for (const { alone } of followed) expect(alone).toBeLessThanOrEqual(2);
  expect(reads).toBeLessThanOrEqual(34); // reading separately would take 100 pages
});

test('the others wait for a stuck consumer for five seconds, and then no longer', async () => {
  const log = logOf(40_000);
  const system = createSteppableSystem();
  const reading = createReadingBehind({ store: log, system, signal: new AbortController().signal });
  const first = reading.read('stuck', '');
  const followed = follow(log, system, reading, { name: 'quick', from: 0, ms: 0 });
  await system.advance(4_000);
  expect((await first)?.position).toBe(positionOf(4_000));
  expect(log.readAll).toHaveBeenCalledTimes(4); // three pages, and the one that "stuck" holds
  await system.advance(2_000);
  expect((await followed).numbers).toHaveLength(40_000);
});

test('a consumer that is far ahead waits for five seconds, and then not again for a minute', async () => {
  const log = logOf(400_000);
  const system = createSteppableSystem();
  const reading = createReadingBehind({ store: log, system, signal: new AbortController().signal });
  const done = vi.fn();
  const slow = follow(log, system, reading, { name: 'slow', from: 0, ms: 1_000 }).then(done);
  await system.advance(2_000);
  // The slow consumer may finish in a moment.
  expect(await reading.read('ahead', positionOf(292_000))).toBeNull();
  expect(await reading.read('ahead', positionOf(296_000))).toBeNull();
  const answered = vi.fn();
  const ahead = reading.read('ahead', positionOf(300_000)).then(answered);
  await system.advance(4_500);
  expect(answered).not.toHaveBeenCalled();
  await system.advance(1_500);
  await ahead;
  expect(answered).toHaveBeenCalledWith(null);
  expect(await reading.read('ahead', positionOf(304_000))).toBeNull();
  while (done.mock.calls.length === 0) await system.advance(1_000);
  await slow;
});

test('a fault of the log reaches all waiting consumers, and the next attempt continues', async () => {
  const log = logOf(10_000);
  const system = createSteppableSystem();
  const reading = createReadingBehind({ store: log, system, signal: new AbortController().signal });
  log.readAll.mockRejectedValueOnce(new Error('away'));
  const [one, other] = await Promise.allSettled([reading.read('one', ''), reading.read('other', '')]);
  expect([one, other]).toMatchObject([{ reason: { message: 'away' } }, { reason: { message: 'away' } }]);
  const again = follow(log, system, reading, { name: 'one', from: 0, ms: 0 });
  await system.advance(1_000);
  expect((await again).numbers).toEqual(numbersFrom(0, 10_000));
});

test('an unreadable part of the log blocks no consumer from what follows it', async () => {
  const log = logOf(30_000);
  const { readAll } = log;
  const read = readAll.getMockImplementation() as EventStore['readAll'];
  readAll.mockImplementation(async (request) => {
    if (numberOf(request.from ?? '') < 5_000) throw new Error('detached');
    return read(request);
  });
  const system = createSteppableSystem();
  const reading = createReadingBehind({ store: log, system, signal: new AbortController().signal });
  const followed = follow(log, system, reading, { name: 'further', from: 6_000, ms: 5 });
  const failed: unknown[] = [];
  for (let tries = 0; tries < 5; tries += 1) {
    reading.read('first', '').then(
      () => failed.push(null),
      (fault: unknown) => failed.push(fault),
    );
    await system.advance(1_000);
  }
  expect((await followed).numbers).toEqual(numbersFrom(6_000, 30_000));
});

test('a consumer that waits for the others stops with the process', async () => {
  const log = logOf(40_000);
  const system = createSteppableSystem();
  const stop = new AbortController();
  const reading = createReadingBehind({ store: log, system, signal: stop.signal });
  const first = reading.read('stuck', '');
  const followed = follow(log, system, reading, { name: 'quick', from: 0, ms: 0 });
  await system.advance(1_000);
  await first;
  expect(log.readAll).toHaveBeenCalledTimes(4);
  stop.abort();
  expect((await followed).numbers).toHaveLength(40_000);
});
