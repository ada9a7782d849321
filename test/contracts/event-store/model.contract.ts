import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import {
  type Append,
  type EventStore,
  type NewEvent,
  type Position,
  type RecordedEvent,
  WrongExpectedRevision,
} from '../../../src/domain/kernel/event-store.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import type { EventStoreHarness } from './harness.ts';
import { aContext, idsOf, keyRevoked, newStream } from './samples.ts';
import { sharedLog } from './shared-log.ts';

const STREAMS = ['apiKey', 'webhook', 'apiKey'] as const;
const POOL_IDS = 6;

/** An append with few possible values, so that conflicts and repeats are common. */
const drawnAppend = fc.record({
  stream: fc.nat({ max: STREAMS.length - 1 }),
  expected: fc.integer({ min: -1, max: 4 }),
  ids: fc.array(fc.nat({ max: POOL_IDS - 1 }), { minLength: 1, maxLength: 3 }),
  fresh: fc.boolean(),
});
type DrawnAppend = typeof drawnAppend extends fc.Arbitrary<infer T> ? T : never;

const drawnRead = fc.record({
  from: fc.option(fc.nat({ max: 8 }), { nil: undefined }),
  direction: fc.constantFrom('forwards' as const, 'backwards' as const),
  limit: fc.integer({ min: 1, max: 9 }),
  category: fc.constantFrom(undefined, 'apiKey', 'webhook', 'message'),
});

const outcomeOf = (store: EventStore, append: Append): Promise<unknown> =>
  store.append(append).then(
    ({ revision }) => revision,
    (error: unknown) => {
      if (error instanceof WrongExpectedRevision) return { expected: error.expected, actual: error.actual };
      throw error;
    },
  );

/** Runs the same appends and reads on a store. The outcome contains only promised values, so no positions. */
const run = async (store: EventStore, appends: readonly Append[], reads: readonly DrawnRead[]): Promise<unknown> => {
  const outcomes: unknown[] = [];
  const start = await store.head();
  for (const append of appends) outcomes.push(await outcomeOf(store, append));
  const all = (await store.readAll({ from: start, limit: 1000 })).events;
  const streams = [...new Set(appends.map(({ stream }) => stream))];
  const read: unknown[] = [];
  for (const one of reads) {
    for (const stream of streams) read.push(idsOf(await store.readStream(stream, streamOptions(one))));
    read.push(await readAllIds(store, one, [start, ...all.map(({ position }) => position)]));
  }
  return { outcomes, all: all.map(withoutPosition), read };
};

type DrawnRead = typeof drawnRead extends fc.Arbitrary<infer T> ? T : never;

const withoutPosition = ({ position: _, ...event }: RecordedEvent): unknown => event;

const streamOptions = ({ from, direction, limit }: DrawnRead): Parameters<EventStore['readStream']>[1] =>
  from === undefined ? { direction, limit } : { from, direction, limit };

const readAllIds = async (store: EventStore, read: DrawnRead, positions: readonly Position[]): Promise<unknown> => {
  const [start] = positions;
  const from = positions[Math.min(read.from ?? 0, positions.length - 1)] ?? '';
  const filter = read.category === undefined ? {} : { categories: [read.category] };
  const { events } = await store.readAll({ from, direction: read.direction, filter, limit: read.limit });
  return idsOf(events.filter(({ position }) => position > (start ?? '')));
};

const appendsFrom = (drawn: readonly DrawnAppend[]): readonly Append[] => {
  const streams = STREAMS.map((category) => newStream(category));
  const pool: readonly NewEvent[] = Array.from({ length: POOL_IDS }, (_, index) => keyRevoked(`pool${index}`));
  return drawn.map(({ stream, expected, ids, fresh }) => ({
    stream: streams[stream] as (typeof streams)[number],
    expected: expected === -1 ? 'no-stream' : expected,
    events: ids.map((id) => ({ ...(pool[id] as NewEvent), ...(fresh ? { id: randomUUID() } : {}) })),
    context: aContext,
  }));
};

export const modelContract = (harness: EventStoreHarness): void => {
  describe('any sequence of appends and reads', () => {
    const log = sharedLog(harness);

    it('has the same outcomes as the in-memory store', async () => {
      const property = fc.asyncProperty(
        fc.array(drawnAppend, { minLength: 1, maxLength: 12 }),
        fc.array(drawnRead, { maxLength: 4 }),
        async (drawn, reads) => {
          const appends = appendsFrom(drawn);
          const model = createInMemoryEventStore({ codec: eventCodec, system: createSystem() });
          expect(await run(log().store, appends, reads)).toEqual(await run(model, appends, reads));
        },
      );
      await fc.assert(property, { numRuns: 60, interruptAfterTimeLimit: 12_000 });
    });
  });
};
