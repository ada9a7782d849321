import { describe, expect, it } from 'vitest';
import {
  type EventStore,
  LOG_START,
  type Position,
  type ReadAllOptions,
  type RecordedEvent,
} from '../../../src/domain/kernel/event-store.ts';
import type { EventStoreHarness } from './harness.ts';
import { events, first, idsOf, largeEvent, newStream, next, textsOf } from './samples.ts';
import { sharedLog } from './shared-log.ts';

/** Appends events a0, b0, a1, b1, a2 to two streams. Returns the head before them. */
const twoStreams = async (store: EventStore): Promise<Position> => {
  const head = await store.head();
  const [a, b] = [newStream('apiKey'), newStream('webhook')];
  await store.append(first(a, events(1, 'a')));
  await store.append(first(b, events(1, 'b')));
  await store.append(next(a, 0, events(1, 'aa')));
  await store.append(next(b, 0, events(2, 'bb')));
  return head;
};

const readFrom = async (store: EventStore, from: Position): Promise<readonly RecordedEvent[]> =>
  (await store.readAll({ from, limit: 100 })).events;

/** The first `count` events, read in pages of two. */
const pageThrough = async (
  store: EventStore,
  start: Pick<ReadAllOptions, 'from' | 'direction'>,
  count: number,
): Promise<readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  let options: ReadAllOptions = { ...start, limit: 2 };
  while (events.length < count) {
    const page = await store.readAll(options);
    events.push(...page.events);
    options = { ...options, from: page.position };
  }
  return events.slice(0, count);
};

export const readingContract = (harness: EventStoreHarness): void => {
  describe('reading a stream', () => {
    const log = sharedLog(harness);

    it('returns nothing for a stream that does not exist', async () => {
      expect(await log().store.readStream(newStream())).toEqual([]);
    });

    it('goes forwards from any revision, and backwards to it', async () => {
      const { store } = log();
      const stream = newStream();
      await store.append(first(stream, events(5)));
      const read = async (options: Parameters<EventStore['readStream']>[1]): Promise<readonly string[]> =>
        textsOf(await store.readStream(stream, options));
      expect(await read({})).toEqual(['e0', 'e1', 'e2', 'e3', 'e4']);
      expect(await read({ from: 3 })).toEqual(['e3', 'e4']);
      expect(await read({ from: 5 })).toEqual([]);
      expect(await read({ from: 1, limit: 2 })).toEqual(['e1', 'e2']);
      expect(await read({ direction: 'backwards' })).toEqual(['e4', 'e3', 'e2', 'e1', 'e0']);
      expect(await read({ direction: 'backwards', limit: 1 })).toEqual(['e4']);
      expect(await read({ direction: 'backwards', from: 1 })).toEqual(['e1', 'e0']);
      expect(await read({ direction: 'backwards', from: 9, limit: 2 })).toEqual(['e4', 'e3']);
    });

    it('separates streams whose names share a prefix', async () => {
      const { store } = log();
      const stream = newStream();
      await store.append(first(stream, events(1, 'short')));
      await store.append(first(`${stream}0`, events(1, 'long')));
      expect(textsOf(await store.readStream(stream))).toEqual(['short0']);
    });

    it('gives each of many concurrent readers its own stream', async () => {
      const { store } = log();
      const streams = Array.from({ length: 60 }, () => newStream());
      await Promise.all(streams.map((stream, index) => store.append(first(stream, events(2, `s${index}-`)))));
      const read = await Promise.all(
        streams.map((stream, index) => store.readStream(stream, index % 2 === 0 ? {} : { direction: 'backwards' })),
      );
      expect(read.map(textsOf)).toEqual(
        streams.map((_, index) => (index % 2 === 0 ? [`s${index}-0`, `s${index}-1`] : [`s${index}-1`, `s${index}-0`])),
      );
    });

    it('shows an append as soon as it is answered', async () => {
      const { store } = log();
      const stream = newStream();
      for (const revision of [0, 1, 2, 3]) {
        await store.append(revision === 0 ? first(stream, events(1)) : next(stream, revision - 1, events(1)));
        expect(await store.readStream(stream)).toHaveLength(revision + 1);
      }
    });
  });

  describe('reading the whole log', () => {
    const log = sharedLog(harness);

    it('goes forwards from strictly after any position', async () => {
      const { store } = log();
      const all = await readFrom(store, await twoStreams(store));
      expect(textsOf(all)).toEqual(['a0', 'b0', 'aa0', 'bb0', 'bb1']);
      for (const [index, { position }] of all.entries()) {
        expect(await readFrom(store, position)).toEqual(all.slice(index + 1));
      }
    });

    it.each([{}, { categories: ['webhook'] }, { categories: ['webhook', 'message'] }])(
      'ends a page early if its data would be too large: %j',
      async (filter) => {
        const { store } = log();
        const head = await store.head();
        const large = first(
          newStream('webhook'),
          Array.from({ length: 7 }, () => largeEvent(60_000)),
        );
        await store.append(large);
        const seen: string[] = [];
        const sizes: number[] = [];
        for (let from = head; seen.length < 7; ) {
          const page = await store.readAll({ from, filter, limit: 100, bytesMax: 150_000 });
          seen.push(...idsOf(page.events));
          sizes.push(page.events.length);
          from = page.position;
        }
        expect(seen).toEqual(idsOf(large.events));
        expect(sizes).toEqual([3, 3, 1]);
      },
    );

    it('goes backwards from strictly before any position', async () => {
      const { store } = log();
      const all = await readFrom(store, await twoStreams(store));
      for (const [index, { position }] of all.entries()) {
        const page = await store.readAll({ from: position, direction: 'backwards', limit: index });
        expect(page.events).toEqual(all.slice(0, index).toReversed());
      }
      expect((await store.readAll({ direction: 'backwards', limit: 2 })).events).toEqual(all.slice(3).toReversed());
    });

    it('reads from the very start, and nothing backwards from there', async () => {
      const { store } = log();
      await twoStreams(store);
      const fromStart = await store.readAll({ from: LOG_START, limit: 1 });
      expect(fromStart.events).toHaveLength(1);
      expect(await store.readAll({ limit: 1 })).toEqual(fromStart);
      expect((await store.readAll({ from: LOG_START, direction: 'backwards', limit: 1 })).events).toEqual([]);
    });

    it('pages through without skipping or repeating, in both directions', async () => {
      const { store } = log();
      const head = await twoStreams(store);
      const all = await readFrom(store, head);
      expect(await pageThrough(store, { from: head, direction: 'forwards' }, all.length)).toEqual(all);
      expect(await pageThrough(store, { direction: 'backwards' }, all.length)).toEqual(all.toReversed());
    });

    it('shows only the requested categories, and how far it searched', async () => {
      const { store } = log();
      const head = await twoStreams(store);
      const only = async (...categories: string[]): Promise<readonly string[]> =>
        textsOf((await store.readAll({ from: head, filter: { categories }, limit: 100 })).events);
      expect(await only('apiKey')).toEqual(['a0', 'aa0']);
      expect(await only('webhook')).toEqual(['b0', 'bb0', 'bb1']);
      expect(await only('webhook', 'apiKey')).toEqual(['a0', 'b0', 'aa0', 'bb0', 'bb1']);
      expect(await only('api')).toEqual([]);
      expect(await only('message', 'webhook')).toEqual(['b0', 'bb0', 'bb1']);
      const nothing = await store.readAll({ from: head, filter: { categories: ['domain'] }, limit: 100 });
      expect(nothing).toEqual({ events: [], position: await store.head() });
      const backwards = await store.readAll({ direction: 'backwards', filter: { categories: ['apiKey'] }, limit: 2 });
      expect(textsOf(backwards.events)).toEqual(['aa0', 'a0']);
    });

    it('reports the end of a full page, not the end of the log', async () => {
      const { store } = log();
      const head = await twoStreams(store);
      const page = await store.readAll({ from: head, filter: { categories: ['apiKey'] }, limit: 1 });
      const rest = await store.readAll({ from: page.position, filter: { categories: ['apiKey'] }, limit: 1 });
      expect([...textsOf(page.events), ...textsOf(rest.events)]).toEqual(['a0', 'aa0']);
    });

    it('has its head at the last event, and keeps it when nothing is appended', async () => {
      const { store } = log();
      const { position } = await store.append(first(newStream(), events(3)));
      expect(await store.head()).toBe(position);
      expect(await store.readAll({ from: position, limit: 10 })).toEqual({ events: [], position });
    });

    it('keeps its id', async () => {
      const { store } = log();
      const id = await store.logId();
      expect(id.length).toBeGreaterThan(8);
      expect(await store.logId()).toBe(id);
    });
  });
};
