import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { EventStore, Position, RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { ServerStyle } from '../../support/eventstoredb-double/bad-days.ts';
import { type EventStoreDbDouble, startEventStoreDbDouble } from '../../support/eventstoredb-double/start.ts';
import { slowness } from '../../support/slowness.ts';
import { openEventStoreDb } from './eventstoredb-store.ts';
import { events, first, newStream, textsOf } from './samples.ts';

const BETWEEN = 5000;
const MESSAGE_BYTES = 1000;
const filter = { categories: ['apiKey', 'webhook'] };

describe('reading few events from a long log in EventStoreDB', () => {
  /** Events that a reader of keys does not need and could not decode. */
  const addMessages = (double: EventStoreDbDouble, count: number): void => {
    const events = Array.from({ length: count }, () => ({
      id: crypto.randomUUID(),
      type: 'Unreadable',
      contentType: 'application/json',
      data: Buffer.from(JSON.stringify({ text: 'x'.repeat(MESSAGE_BYTES) })),
      metadata: Buffer.from('{"schemaVersion":1}'),
    }));
    for (let from = 0; from < count; from += 500) {
      const some = events.slice(from, from + 500);
      double.log.append({ stream: newStream('message'), expected: 'no-stream', events: some });
    }
  };

  /** A log with a0 a1, messages, b0 b1 b2, messages, c0 and a few more messages. */
  const longLog = async (style: ServerStyle = '24.10.5') => {
    const double = await startEventStoreDbDouble(style);
    const store = openEventStoreDb(double.url);
    onTestFinished(double.close);
    onTestFinished(store.close);
    await store.append(first(newStream(), events(2, 'a')));
    addMessages(double, BETWEEN);
    await store.append(first(newStream('webhook'), events(3, 'b')));
    addMessages(double, BETWEEN);
    await store.append(first(newStream(), events(1, 'c')));
    addMessages(double, 300);
    return { double, store };
  };

  const readInPages = async (store: EventStore, limit: number): Promise<readonly RecordedEvent[]> => {
    const found: RecordedEvent[] = [];
    const head = await store.head();
    for (let from: Position = ''; from < head; ) {
      const page = await store.readAll({ from, filter, limit });
      expect(page.position > from).toBe(true);
      found.push(...page.events);
      from = page.position;
    }
    return found;
  };

  it.each<ServerStyle>(['23.10.8', '24.10.5'])('finds all of them up to the head on %s', async (style) => {
    const { store } = await longLog(style);
    const page = await store.readAll({ filter, limit: 100 });
    expect(textsOf(page.events)).toEqual(['a0', 'a1', 'b0', 'b1', 'b2', 'c0']);
    expect(page.position).toBe(await store.head());
    for (const limit of [2, 6]) expect(await readInPages(store, limit)).toEqual(page.events);
  });

  it.each<ServerStyle>(['24.6.0', '24.10.5'])(
    'ends an aborted search on %s, and the next one resumes where it stopped',
    async (style) => {
      const { double, store } = await longLog(style);
      double.costs.scannedPerSecond = 20_000;
      const from = (await store.readAll({ filter, limit: 2 })).position;
      const begunMs = performance.now();
      const givenUp = await store.readAll({ from, filter, limit: 100, signal: AbortSignal.timeout(350) });
      expect(performance.now() - begunMs).toBeLessThan(1_000 * slowness());
      await vi.waitFor(() => expect(double.openReads()).toBe(0), { timeout: 20_000 });
      expect(givenUp.position > from).toBe(true);
      const { readAll, subscribe } = double.counts();
      const rest = await store.readAll({ from: givenUp.position, filter, limit: 100 });
      expect(textsOf([...givenUp.events, ...rest.events])).toEqual(['b0', 'b1', 'b2', 'c0']);
      const after = double.counts();
      const sent = after.readAll.events - readAll.events + after.subscribe.events - subscribe.events;
      const left = double.log.records.length - double.log.countTo(Number.parseInt(givenUp.position.slice(0, 16), 16));
      expect(sent).toBeLessThan(left + 50);
    },
  );

  it('does not transfer the events in between', async () => {
    const { double, store } = await longLog();
    await store.head();
    const before = double.sentBytes();
    await store.readAll({ filter, limit: 100 });
    expect(double.sentBytes() - before).toBeLessThan((2 * BETWEEN * MESSAGE_BYTES) / 2);
  });

  it('excludes events appended during the read', async () => {
    const { double, store } = await longLog();
    const reading = store.readAll({ filter, limit: 100 });
    const head = await store.head();
    const writing = Promise.all(Array.from({ length: 20 }, () => store.append(first(newStream(), events(1, 'late')))));
    addMessages(double, BETWEEN);
    const page = await reading;
    await writing;
    const rest = await store.readAll({ from: page.position, filter, limit: 100 });
    expect(page.position >= head).toBe(true);
    expect(textsOf([...page.events, ...rest.events])).toHaveLength(26);
  });

  /**
   * Disturbs a read once this many bytes were sent. Returns the name of its error, or the number of events that it
   * read.
   */
  const disturbed = async (
    { double, store }: Awaited<ReturnType<typeof longLog>>,
    disturb: () => unknown,
    bytes: number,
  ): Promise<string | number> => {
    const before = double.sentBytes();
    const reading = store.readAll({ filter, limit: 100 }).then(
      (page) => page.events.length,
      ({ name }: Error) => name,
    );
    let ended = false;
    reading.finally(() => {
      ended = true;
    });
    while (!ended && double.sentBytes() - before < bytes) await new Promise((resolve) => setImmediate(resolve));
    await disturb();
    return reading;
  };

  it.each([100_000, 2_450_000, 2_600_000])(
    'never returns a part as the whole when the server goes away',
    async (bytes) => {
      const log = await longLog();
      expect(['StoreUnavailable', 6]).toContain(await disturbed(log, log.double.cut, bytes));
      const read = (): Promise<string | number> => disturbed(log, () => {}, 0);
      await expect.poll(read, { timeout: 10_000 }).toBe(6);
    },
  );

  it.each([100_000, 2_450_000, 2_600_000])(
    'never returns a part as the whole when the store is closed',
    async (bytes) => {
      const log = await longLog();
      expect(['StoreUnavailable', 6]).toContain(await disturbed(log, log.store.close, bytes));
    },
  );
});
