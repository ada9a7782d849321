import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { EventStore, FollowedPage, Page, ReadAllOptions } from '../../../src/domain/kernel/event-store.ts';
import { createLogFollower, type LogFollower } from '../../../src/lib/event-log/follower.ts';
import { appendKey, newStore, system } from '../../projections/support/keys-log.ts';

/** Larger than a page, and smaller than the buffer. */
const ALL = { eventsMax: 4000 };
const READERS = [0, 1, 2] as const;
/** The next reader, and the appends before its turn. Some readers run ahead, others fall far behind. */
const plans = fc.array(fc.record({ reader: fc.constantFrom(...READERS), appends: fc.nat(40) }), { maxLength: 60 });

interface Reader {
  position: string;
  readonly seen: string[];
}

const openLog = () => {
  const store = newStore();
  let written = 0;
  return {
    store,
    append: async (count: number): Promise<void> => {
      for (let one = 0; one < count; one += 1) await appendKey(store, `key_${written++}`);
    },
    streams: () => Array.from({ length: written }, (_, number) => `apiKey-key_${number}`),
  };
};

/** Reads one batch, unless the reader is at the end. */
const turn = async (follower: LogFollower, store: EventStore, reader: Reader): Promise<boolean> => {
  if (reader.position >= (await store.head())) return false;
  const batch = await follower.next(reader.position, ALL);
  expect(batch?.after).toBe(reader.position);
  reader.seen.push(...(batch?.events ?? []).map(({ stream }) => stream));
  reader.position = batch?.position ?? reader.position;
  return true;
};

const readToTheEnd = async (follower: LogFollower, store: EventStore, reader: Reader): Promise<void> => {
  while (await turn(follower, store, reader));
};

test('every consumer receives every event once and in order, whether others are ahead or behind', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const { store, append, streams } = openLog();
      const impatient = { ...system, sleep: async () => undefined };
      const follower = createLogFollower({ store, system: impatient });
      const readers = READERS.map((): Reader => ({ position: '', seen: [] }));
      for (const { reader, appends } of plan) {
        await append(appends);
        await turn(follower, store, readers[reader] as Reader);
      }
      for (const reader of readers) await readToTheEnd(follower, store, reader);
      expect(readers.map(({ seen }) => seen)).toEqual(readers.map(streams));
      await follower.close();
      expect(await follower.next(await store.head(), ALL)).toBeNull();
    }),
    { numRuns: 60 },
  );
});

test('a consumer that is behind earlier ones receives each event once', async () => {
  const { store, append, streams } = openLog();
  await append(5);
  const { events } = await store.readAll({ from: '', limit: 2 });
  const follower = createLogFollower({ store, system });
  const ahead = await follower.next(events.at(-1)?.position ?? '', ALL);
  expect(ahead?.events.map(({ stream }) => stream)).toEqual(streams().slice(2));
  const behind: Reader = { position: '', seen: [] };
  await readToTheEnd(follower, store, behind);
  expect(behind.seen).toEqual(streams());
  await follower.close();
});

test('a consumer that joins inside a page that others have read receives only what follows its position', async () => {
  const { store, append, streams } = openLog();
  await append(5);
  const follower = createLogFollower({ store, system });
  const first = await follower.next('', ALL);
  const positions = first?.events.map(({ position }) => position) ?? [];
  expect(positions).toHaveLength(5);
  for (const [at, position] of positions.slice(0, -1).entries()) {
    const batch = await follower.next(position, ALL);
    expect(batch?.events.map(({ stream }) => stream)).toEqual(streams().slice(at + 1));
  }
  await follower.close();
});

test('a follower that is behind does not pause while pages are full', async () => {
  const { store, append } = openLog();
  await append(1700);
  const sleep = vi.fn(async () => undefined);
  const follower = createLogFollower({ store, system: { ...system, sleep, monotonicMs: () => 0 } });
  const reader: Reader = { position: '', seen: [] };
  await readToTheEnd(follower, store, reader);
  expect(reader.seen).toHaveLength(1700);
  expect(sleep).not.toHaveBeenCalled();
  await append(1);
  await readToTheEnd(follower, store, reader);
  expect(sleep).toHaveBeenCalled();
  await follower.close();
});

test('a consumer with no events between it and the subscription waits for the next one, and does not poll', async () => {
  const { store, append } = openLog();
  await append(3);
  const readAll = vi.fn(store.readAll);
  const follower = createLogFollower({ store: { ...store, readAll }, system });
  const head = await store.head();
  const further = follower.next('9999999999999999', ALL);
  const behind = follower.next(head, ALL);
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
  expect(readAll.mock.calls.length).toBeLessThanOrEqual(1);
  await follower.close();
  expect(await Promise.all([further, behind])).toEqual([null, null]);
});

test('a jump ends the previous subscription', async () => {
  const { store, append } = openLog();
  await append(3);
  const ended = vi.fn();
  const subscribe: EventStore['subscribe'] = async function* (...given) {
    try {
      yield* store.subscribe(...given);
    } finally {
      ended();
    }
  };
  const follower = createLogFollower({ store: { ...store, subscribe }, system });
  await follower.next('', ALL);
  expect(ended).not.toHaveBeenCalled();
  const further = follower.next('9999999999999999', ALL);
  await vi.waitFor(() => expect(ended).toHaveBeenCalledTimes(1), { timeout: 20_000 });
  await follower.close();
  expect(await further).toBeNull();
});

/** A log of large events that share one text. */
const largeLog = () => {
  const { store, append } = openLog();
  const text = 'x'.repeat(300_000);
  const large = <P extends Page>(page: P): P => ({
    ...page,
    events: page.events.map((event) => ({ ...event, stored: { ...event.stored, data: text } })),
  });
  const readAll = vi.fn(async (options: ReadAllOptions) => large(await store.readAll({ ...options, limit: 5 })));
  const subscribe: EventStore['subscribe'] = async function* (after, filter, signal) {
    for (let position = after; !signal.aborted; ) {
      const page = await store.readAll({ from: position, filter, limit: 5 });
      if (page.position === position) return;
      position = page.position;
      yield { ...large(page), isFull: true };
    }
  };
  return { append, store: { ...store, readAll, subscribe }, readAll };
};

test('large events are kept and read behind within a bounded number of bytes', async () => {
  const { append, store, readAll } = largeLog();
  await append(100); // 30 MB
  const follower = createLogFollower({ store, system });
  const first: Reader = { position: '', seen: [] };
  await readToTheEnd(follower, store, first);
  expect(readAll).not.toHaveBeenCalled();
  const second: Reader = { position: '', seen: [] };
  await readToTheEnd(follower, store, second);
  expect(second.seen).toEqual(first.seen);
  // Half of them are no longer in the buffer.
  expect(readAll.mock.calls.length).toBeGreaterThan(5);
  for (const [{ bytesMax }] of readAll.mock.calls) expect(bytesMax).toBeLessThanOrEqual(8_000_000);
  await follower.close();
});

test('a consumer that is behind reads again if a lagging node returned nothing', async () => {
  const { store, append } = openLog();
  await append(3);
  let reads = 0;
  const readAll = async (options: ReadAllOptions): Promise<Page> => {
    reads += 1;
    return reads === 1 ? { events: [], position: options.from ?? '' } : store.readAll(options);
  };
  const follower = createLogFollower({ store: { ...store, readAll }, system });
  const ahead = follower.next(await store.head(), ALL);
  const behind = follower.next('', ALL);
  expect((await behind)?.events).toHaveLength(3);
  await follower.close();
  expect(await ahead).toBeNull();
});

/** A subscription whose pages hold so many events, and a reader of the log that counts its reads. */
const pagedLog = (sizes: readonly number[], { bytes = 0, isFull = true } = {}) => {
  const place = (number: number): string => String(number).padStart(16, '0');
  const data = 'x'.repeat(bytes);
  const event = (number: number) => ({ stream: `key-${number}`, position: place(number), stored: { data } });
  let last = 0;
  const pages = sizes.map((size) => {
    const events = Array.from({ length: size }, (_, index) => event(last + index + 1));
    last += size;
    return { events, position: place(last), isFull } as unknown as FollowedPage;
  });
  const all = pages.flatMap(({ events }) => events);
  const readAll = vi.fn(async ({ from = '', limit }: ReadAllOptions): Promise<Page> => {
    const events = all.filter(({ position }) => position > from).slice(0, limit);
    return { events, position: events.at(-1)?.position ?? from };
  });
  const subscribe: EventStore['subscribe'] = async function* (after) {
    yield* pages.filter(({ position }) => position > after);
    await new Promise(() => undefined);
  };
  const follower = createLogFollower({ store: { readAll, subscribe }, system: { ...system, sleep: async () => {} } });
  return {
    ...{ follower, readAll },
    /** Lets a consumer read all pages, so that the newest are kept. */
    pull: async (): Promise<void> => {
      for (let position = ''; position < place(last); )
        position = (await follower.next(position, { eventsMax: 1 }))?.position ?? '';
    },
    /** Number of events in the batch after an event. */
    batchAfter: async (number: number, eventsMax: number): Promise<number | undefined> =>
      (await follower.next(number === 0 ? '' : place(number), { eventsMax }))?.events.length,
  };
};

test('a batch has whole pages, as many as fit, and at least one', async () => {
  const { pull, batchAfter } = pagedLog([3, 2, 2, 4]);
  await pull();
  expect(await batchAfter(0, 1)).toBe(3);
  expect(await batchAfter(0, 4)).toBe(3);
  expect(await batchAfter(0, 5)).toBe(5);
  expect(await batchAfter(3, 4)).toBe(4);
  expect(await batchAfter(3, 100)).toBe(8);
});

test.each([
  ['500 pages', Array(600).fill(1), 100, 99],
  ['8,000 events', Array(20).fill(500), 2_000, 1_999],
  ['8,000 events, also after many more', Array(60).fill(500), 22_000, 21_999],
])('the newest %s are kept for consumers that lag a little', async (_, sizes, kept, dropped) => {
  const { pull, batchAfter, readAll } = pagedLog(sizes);
  await pull();
  expect(await batchAfter(kept, 1)).toBe(sizes[0]);
  expect(readAll).not.toHaveBeenCalled();
  expect(await batchAfter(dropped, 10)).toBeGreaterThan(0);
  expect(readAll).toHaveBeenCalledOnce();
});

test('events are kept for consumers that lag a little also after a jump, whatever was kept before it', async () => {
  const { follower, batchAfter, readAll } = pagedLog(Array(20).fill(500));
  for (let number = 0; number < 8_000; number += 500) await batchAfter(number, 1);
  for (const number of [9_000, 9_500, 9_000]) expect(await batchAfter(number, 1)).toBe(500);
  expect(readAll).not.toHaveBeenCalled();
  await follower.close();
});

test('large events are kept by their size, also after many more', async () => {
  const { pull, batchAfter, readAll } = pagedLog(Array(200).fill(1), { bytes: 1_000_000 });
  await pull();
  expect(await batchAfter(195, 100)).toBe(5);
  expect(readAll).not.toHaveBeenCalled();
  await batchAfter(150, 1);
  expect(readAll).toHaveBeenCalled();
});

test('a batch that leaves pages out says that there is more', async () => {
  const { pull, follower } = pagedLog([2, 2, 2], { isFull: false });
  await pull();
  const isFull = async (eventsMax: number) => (await follower.next('', { eventsMax }))?.isFull;
  expect([await isFull(2), await isFull(4), await isFull(6)]).toEqual([true, true, false]);
});

/** A log whose subscriptions are in the hands of the test. */
const subscribedLog = () => {
  interface Opened {
    readonly after: string;
    give(position: string): void;
    fail(error: Error): void;
  }
  const opened: Opened[] = [];
  const subscribe: EventStore['subscribe'] = async function* (after, _filter, signal) {
    let next = Promise.withResolvers<string>();
    signal.addEventListener('abort', () => next.reject(new Error('the subscription was ended')));
    opened.push({ after, give: (position) => next.resolve(position), fail: (error) => next.reject(error) });
    next.promise.catch(() => undefined); // thrown where it is awaited
    for (;;) {
      const position = await next.promise;
      next = Promise.withResolvers();
      next.promise.catch(() => undefined);
      yield { events: [], position, isFull: false };
    }
  };
  const readAll = async ({ from = '' }: ReadAllOptions): Promise<Page> => ({ events: [], position: from });
  const follower = createLogFollower({ store: { readAll, subscribe }, system });
  const turns = async (): Promise<void> => {
    for (let count = 0; count < 20; count += 1) await nextTurn();
  };
  return { follower, opened, turns };
};

test('a fault of the subscription is reported to those who wait, and the next caller opens another', async () => {
  const { follower, opened, turns } = subscribedLog();
  const waiting = [follower.next('1', ALL), follower.next('1', ALL)];
  await turns();
  opened[0]?.fail(new Error('the log is away'));
  for (const each of await Promise.allSettled(waiting))
    expect(each).toMatchObject({ status: 'rejected', reason: { message: 'the log is away' } });
  const next = follower.next('1', ALL);
  await turns();
  expect(opened.map(({ after }) => after)).toEqual(['1', '1']);
  opened[1]?.give('2');
  expect(await next).toMatchObject({ after: '1', position: '2' });
});

test('a jump disturbs no waiting consumer', async () => {
  const { follower, opened, turns } = subscribedLog();
  const behind = follower.next('1', ALL);
  await turns();
  const ahead = follower.next('5', ALL);
  await turns();
  expect(opened.map(({ after }) => after)).toEqual(['1', '5']);
  opened[1]?.give('6');
  expect(await ahead).toMatchObject({ after: '5', position: '6' });
  await follower.close();
  expect(await behind).toBeNull();
});

test('a close ends when the last read of the log has ended', async () => {
  const waiting = Promise.withResolvers<void>();
  const subscribe: EventStore['subscribe'] = async function* (_after, _filter, signal) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    await waiting.promise;
    if (signal.aborted) return;
    yield { events: [], position: '1', isFull: false };
  };
  const { store } = openLog();
  const follower = createLogFollower({ store: { ...store, subscribe }, system });
  const next = follower.next('', ALL);
  for (let count = 0; count < 20; count += 1) await nextTurn();
  let isClosed = false;
  const closed = follower.close().then(() => {
    isClosed = true;
  });
  for (let count = 0; count < 20; count += 1) await nextTurn();
  expect(isClosed).toBe(false);
  waiting.resolve();
  await closed;
  expect(await next).toBeNull();
});
