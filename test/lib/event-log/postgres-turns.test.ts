import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { type EventCodec, eventCodec } from '../../../src/domain/kernel/codec.ts';
import { type EventStore, LOG_START } from '../../../src/domain/kernel/event-store.ts';
import { DECODED_BYTES_MAX } from '../../../src/lib/event-log/postgres-read.ts';
import { first, largeEvent, newStream } from '../../contracts/event-store/samples.ts';
import { silentLogger } from '../../support/logger.ts';
import { freshDatabase, type TestDatabase } from '../../support/postgres.ts';

const EVENT_BYTES = 60_000;
const EVENTS = 40;
/** A turn ends with the event that exceeds the bound. */
const TURN_BYTES_MAX = DECODED_BYTES_MAX + 2 * EVENT_BYTES;

/** Counts the bytes of data that are decoded in each turn of the event loop. */
const countingCodec = () => {
  let turns: number[] = [];
  let isCounting = false;
  const codec: EventCodec = {
    ...eventCodec,
    decode: (stored) => {
      if (!isCounting) {
        isCounting = true;
        turns.push(0);
        setImmediate(() => {
          isCounting = false;
        });
      }
      turns.push((turns.pop() ?? 0) + stored.data.length);
      return eventCodec.decode(stored);
    },
  };
  return {
    codec,
    /** Starts a new count. */
    start: (): void => {
      turns = [];
    },
    turns: () => turns,
  };
};

const counted = countingCodec();
let database: TestDatabase;
let store: EventStore;
const streams = Array.from({ length: EVENTS }, () => newStream('webhook'));

const appendAll = (): Promise<unknown> =>
  Promise.all(streams.map((stream) => store.append(first(stream, [largeEvent(EVENT_BYTES)]))));

beforeAll(async () => {
  database = await freshDatabase();
  const options = { url: database.url, codec: counted.codec, system: createSystem(), logger: silentLogger };
  store = await createPostgresEventStore(options);
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

const expectManyTurns = (): void => {
  const turns = counted.turns();
  expect(turns.reduce((sum, bytes) => sum + bytes, 0)).toBeGreaterThan((EVENTS - 1) * (EVENT_BYTES - 1_000));
  expect(Math.max(...turns)).toBeLessThanOrEqual(TURN_BYTES_MAX);
};

test('events that this process appends are decoded for its followers a few in a turn', async () => {
  const ending = new AbortController();
  const pages = store.subscribe(LOG_START, {}, ending.signal)[Symbol.asyncIterator]();
  const page = pages.next();
  await store.append(first(newStream(), [largeEvent(1_000)]));
  await page;
  counted.start();
  await appendAll();
  expectManyTurns();
  ending.abort();
});

test('a page of the log is decoded a few in a turn', async () => {
  counted.start();
  expect((await store.readAll({ limit: 1_000 })).events).toHaveLength(EVENTS + 1);
  expectManyTurns();
});

test('streams that are read together are decoded a few in a turn', async () => {
  counted.start();
  const found = await Promise.all(streams.map((stream) => store.readStream(stream)));
  expect(found.map(({ length }) => length)).toEqual(streams.map(() => 1));
  expectManyTurns();
});
