import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  LOG_START,
  type Page,
  type Position,
  type ReadAllOptions,
  type RecordedEvent,
} from '../../../src/lib/event-log/event-log.ts';
import { createSharedReading, type SharedReading } from '../../../src/lib/event-log/postgres.ts';

const positionOf = (index: number): Position => String(index).padStart(16, '0');

const EVENT_BYTES = 100;

/** A readable log with the interface of `readPage`: an event at every position, whose categories alternate. */
const openLog = (categories: readonly string[]) => {
  const log: RecordedEvent[] = [];
  const asked: ReadAllOptions[] = [];
  return {
    asked,
    append: (count: number): readonly RecordedEvent[] => {
      const before = log.length;
      for (let i = 0; i < count; i += 1) {
        const category = categories[log.length % categories.length];
        const stored = { data: 'd'.repeat(EVENT_BYTES) };
        log.push({ stream: `${category}-1`, position: positionOf(log.length + 1), stored } as unknown as RecordedEvent);
      }
      return log.slice(before);
    },
    read: async (request: ReadAllOptions): Promise<Page> => {
      asked.push(request);
      await Promise.resolve();
      const { from = LOG_START, filter = {}, limit } = request;
      const wanted = ({ stream }: RecordedEvent): boolean =>
        filter.categories === undefined || filter.categories.includes(stream.split('-')[0] ?? '');
      const events = log.filter((event) => event.position > from && wanted(event)).slice(0, limit);
      const head = log.at(-1)?.position ?? LOG_START;
      return { events, position: events.at(-1)?.position ?? (head > from ? head : from) };
    },
    positionsOf: (wanted: readonly string[] | undefined, after: Position): readonly Position[] =>
      log
        .filter(({ stream, position }) => position > after && (wanted?.includes(stream.split('-')[0] ?? '') ?? true))
        .map(({ position }) => position),
  };
};

/** Appends events as a process that also follows the log. */
const takeOwn = (log: ReturnType<typeof openLog>, { take }: SharedReading, count: number): void => {
  const own = log.append(count);
  if (own[0] !== undefined) take(own[0].position, () => own);
};

const FILTERS = [undefined, ['message'], ['message', 'apiKey'], ['apiKey']] as const;
const FOLLOWERS = 6;

type ReadPage = (request: ReadAllOptions) => Promise<Page>;

/** A reader that requests page after page from a position. */
const createFollower = (read: ReadPage, categories: readonly string[] | undefined, after: Position) => {
  const seen: Position[] = [];
  let position = after;
  return {
    seen,
    /** @returns true if the position moved. */
    next: async (bounds: Pick<ReadAllOptions, 'limit' | 'bytesMax'> = { limit: 1_000 }): Promise<boolean> => {
      const filter = categories === undefined ? {} : { categories };
      const page = await read({ from: position, filter, ...bounds });
      const moved = page.position > position;
      expect(page.position >= position).toBe(true);
      seen.push(...page.events.map((event) => event.position));
      position = page.position;
      return moved;
    },
    finish: async function finish(): Promise<void> {
      if (await this.next()) await finish.call(this);
    },
  };
};

const arbitraryFollowers = fc.array(
  fc.record({ categories: fc.constantFrom(...FILTERS), after: fc.nat(3_000).map(positionOf) }),
  { minLength: FOLLOWERS, maxLength: FOLLOWERS },
);
/** Steps that append events, after which some followers read at the same time, with these bounds. */
const arbitrarySteps = fc.array(
  fc.record({
    appended: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 3_000 })),
    /** Events appended by the following process, after those that others appended. */
    own: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 3_000 })),
    asking: fc.uniqueArray(fc.nat(FOLLOWERS - 1), { maxLength: 3 }),
    limit: fc.integer({ min: 1, max: 1_000 }),
    bytesMax: fc.integer({ min: 1, max: 1_000 * EVENT_BYTES }),
  }),
  { maxLength: 40 },
);

describe('followers that share their reading', () => {
  test('see each event of their categories once and in order, whatever their positions and speeds', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryFollowers, arbitrarySteps, async (places, steps) => {
        const log = openLog(['message', 'message', 'apiKey', 'domain']);
        log.append(3_000);
        const shared = createSharedReading(log.read);
        const followers = places.map(({ categories, after }) => createFollower(shared.read, categories, after));
        for (const { appended, own, asking, ...bounds } of steps) {
          log.append(appended);
          const asked = Promise.all(asking.map((index) => followers[index]?.next(bounds)));
          takeOwn(log, shared, own);
          await asked;
        }
        for (const follower of followers) await follower.finish();
        const expected = places.map(({ categories, after }) => log.positionsOf(categories, after));
        expect(followers.map(({ seen }) => seen)).toEqual(expected);
      }),
      { numRuns: 40 },
    );
  });

  test('near the head ask the log once for all of them', async () => {
    const log = openLog(['message', 'apiKey']);
    log.append(10);
    const { read } = createSharedReading(log.read);
    const from = positionOf(10);
    const ask = () =>
      Promise.all([{}, { categories: ['message'] }, {}].map((filter) => read({ from, filter, limit: 1_000 })));
    await ask();
    log.append(20);
    const asked = log.asked.length;
    expect((await ask()).map(({ events }) => events.length)).toEqual([20, 10, 20]);
    expect(log.asked.length - asked).toBe(1);
  });

  test('do not query the log for events that this process appended, as long as no other process appends', async () => {
    const log = openLog(['message', 'apiKey']);
    log.append(10);
    const shared = createSharedReading(log.read);
    const positions = async (after: number): Promise<readonly Position[]> =>
      (await shared.read({ from: positionOf(after), limit: 1_000 })).events.map(({ position }) => position);
    expect(await positions(10)).toEqual([]);
    const asked = log.asked.length;
    takeOwn(log, shared, 2);
    takeOwn(log, shared, 1);
    expect(await positions(10)).toEqual([11, 12, 13].map(positionOf));
    expect(await positions(12)).toEqual([positionOf(13)]);
    expect(log.asked.length).toBe(asked);
    log.append(1);
    takeOwn(log, shared, 1);
    expect(await positions(13)).toEqual([14, 15].map(positionOf));
    expect(log.asked.length).toBe(asked + 1);
  });

  test('ignore an answer for another position', async () => {
    const log = openLog(['message']);
    log.append(2_000);
    const { read } = createSharedReading(log.read);
    const pages = await Promise.all([10, 1_500].map((from) => read({ from: positionOf(from), limit: 100 })));
    expect(pages.map(({ events }) => events.length)).toEqual([100, 100]);
  });

  test('that follow no messages read on their own, and read only what they follow', async () => {
    const log = openLog(['message', 'apiKey']);
    log.append(10);
    const { read } = createSharedReading(log.read);
    const { events } = await read({ from: LOG_START, filter: { categories: ['apiKey'] }, limit: 1_000 });
    expect(events).toHaveLength(5);
    expect(log.asked).toEqual([{ from: LOG_START, filter: { categories: ['apiKey'] }, limit: 1_000 }]);
  });

  test('all learn that the log does not answer, and continue when it does', async () => {
    const log = openLog(['message']);
    log.append(1);
    let isAway = true;
    const { read } = createSharedReading((request) => (isAway ? Promise.reject(new Error('away')) : log.read(request)));
    const ask = () => Promise.allSettled([1, 2].map(() => read({ from: LOG_START, limit: 10 })));
    expect((await ask()).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    isAway = false;
    expect((await ask()).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  });
});

test('a page of cached events ends with the event that reaches its byte limit', async () => {
  const log = openLog(['message']);
  log.append(10);
  const shared = createSharedReading(log.read);
  const from = positionOf(10);
  await shared.read({ from, limit: 100 });
  takeOwn(log, shared, 50);
  const page = await shared.read({ from, limit: 100, bytesMax: 3 * EVENT_BYTES + 1 });
  expect([page.events.length, page.position]).toEqual([4, positionOf(14)]);
  const rest = await shared.read({ from: page.position, limit: 100, bytesMax: 1_000 * EVENT_BYTES });
  expect([rest.events.length, rest.position]).toEqual([46, positionOf(60)]);
});

test('caches few large events: a follower that pauses reads on its own', async () => {
  const text = 'x'.repeat(1_000_000);
  const log = Array.from(
    { length: 40 },
    (_, index) =>
      ({ stream: 'message-1', position: positionOf(index + 1), stored: { data: text } }) as unknown as RecordedEvent,
  );
  const asked: Position[] = [];
  const { read } = createSharedReading(async ({ from = LOG_START }) => {
    asked.push(from);
    const events = log.filter(({ position }) => position > from).slice(0, 4);
    return { events, position: events.at(-1)?.position ?? from };
  });
  const readAll = async (): Promise<void> => {
    for (let from = LOG_START; from < positionOf(40); ) from = (await read({ from, limit: 4 })).position;
  };
  await readAll();
  expect(asked).toHaveLength(10);
  await readAll();
  // The newest 16 MB are kept.
  expect(asked.length).toBeGreaterThanOrEqual(15);
});
