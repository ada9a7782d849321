import { EventStoreDBClient, jsonEvent, NO_STREAM, streamNameFilter } from '@eventstore/db-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EventStoreDbDouble, startEventStoreDbDouble } from '../../support/eventstoredb-double/start.ts';

/** Observed behaviour of real nodes with the client's default way of appending, which our adapter does not use. */
describe('the EventStoreDB double, accessed through the bare client', () => {
  let double: EventStoreDbDouble;
  let client: EventStoreDBClient;
  beforeEach(async () => {
    double = await startEventStoreDbDouble();
    client = EventStoreDBClient.connectionString(double.url);
  });
  afterEach(async () => {
    await client.dispose();
    await double.close();
  });

  const event = (bytes = 1) => jsonEvent({ id: crypto.randomUUID(), type: 'Thing', data: { text: 'x'.repeat(bytes) } });
  const countOf = (stream: string): number => double.log.stream(stream).length;

  it('accepts many appends in one call and answers each', async () => {
    const append = (name: string) => client.appendToStream(name, [event(), event()], { expectedRevision: NO_STREAM });
    const names = Array.from({ length: 50 }, (_, index) => `thing-${index}`);
    const answers = await Promise.all(names.map(append));
    expect(answers.map(({ nextExpectedRevision }) => nextExpectedRevision)).toEqual(names.map(() => 1n));
    expect(answers.map(({ position }) => Number(position?.commit))).toEqual(
      names.map((name) => double.log.stream(name)[1]?.position),
    );
  });

  it('rejects wrong revisions, large appends and invalid ids', async () => {
    await client.appendToStream('thing-1', event(), { expectedRevision: NO_STREAM });
    await expect(client.appendToStream('thing-1', event(), { expectedRevision: NO_STREAM })).rejects.toMatchObject({
      type: 'wrong-expected-version',
      message: '',
      actualVersion: 0n,
    });
    await expect(client.appendToStream('thing-2', event(), { expectedRevision: 3n })).rejects.toMatchObject({
      actualVersion: 'no_stream',
    });
    await expect(client.appendToStream('thing-2', event(1_100_000))).rejects.toMatchObject({
      type: 'maximum-append-size-exceeded',
      maxAppendSize: 1_048_576,
    });
    const nameless = jsonEvent({ id: 'no-uuid', type: 'Thing', data: {} });
    await expect(client.appendToStream('thing-2', nameless)).rejects.toThrow('Could not recognize BadRequest');
    expect([countOf('thing-1'), countOf('thing-2')]).toEqual([1, 0]);
  });

  it('remembers ids for an exact revision for ever, and ids for "any" until it restarts', async () => {
    const exact = event();
    const any = event();
    const both = async (): Promise<void> => {
      await client.appendToStream('exact-1', exact, { expectedRevision: NO_STREAM });
      await client.appendToStream('any-1', any);
    };
    await both();
    await both();
    expect([countOf('exact-1'), countOf('any-1')]).toEqual([1, 1]);
    await double.stop();
    await double.start();
    await expect.poll(() => both().then(() => 'done', String), { timeout: 10_000 }).toBe('done');
    expect([countOf('exact-1'), countOf('any-1')]).toEqual([1, 2]);
  });

  it('never answers a read of the whole log for zero events, like a real node', async () => {
    let ended = false;
    const reading = client.readAll({ maxCount: 0 });
    reading
      .on('data', () => {})
      .on('end', () => {
        ended = true;
      });
    await expect.poll(() => double.counts().readAll.calls).toBe(1);
    // Responses on one connection arrive in order.
    for await (const _ of client.readAll({ maxCount: 1 })) expect(ended).toBe(false);
    expect(ended).toBe(false);
    await reading.cancel();
  });

  describe('with simulated costs', () => {
    const DELAY_MS = 30;
    const NOTHING = { calls: 0, events: 0, bytes: 0 };

    const readStream = async (name: string): Promise<number> => {
      let count = 0;
      for await (const _ of client.readStream(name)) count += 1;
      return count;
    };
    const msOf = async (work: () => Promise<unknown>): Promise<number> => {
      const beganMs = performance.now();
      await work();
      return performance.now() - beganMs;
    };

    it('counts calls, events and bytes by method, and names the streams that were read', async () => {
      await client.appendToStream('thing-1', [event(), event(), event()], { expectedRevision: NO_STREAM });
      const { append } = double.counts();
      expect([append.calls, append.events, append.bytes > 0]).toEqual([1, 3, true]);
      expect(await readStream('thing-1')).toBe(3);
      const { readAll, readStream: streams, subscribe } = double.counts();
      expect({ readAll, streams, subscribe }).toEqual({
        readAll: NOTHING,
        streams: { ...append, calls: 1 },
        subscribe: NOTHING,
      });
      expect(double.streamsRead).toEqual(['thing-1']);
    });

    it('answers each call after a delay, and simultaneous appends in order', async () => {
      await client.appendToStream('thing-1', event(), { expectedRevision: NO_STREAM });
      double.costs.callMs = DELAY_MS;
      const append = (expectedRevision: bigint) => client.appendToStream('thing-1', event(), { expectedRevision });
      expect(await msOf(() => Promise.all([append(0n), append(1n), append(2n)]))).toBeGreaterThanOrEqual(DELAY_MS - 2);
      expect(await msOf(() => readStream('thing-1'))).toBeGreaterThanOrEqual(DELAY_MS - 2);
    });

    it('serves a few reads at once: the others wait', async () => {
      await client.appendToStream('thing-1', event(), { expectedRevision: NO_STREAM });
      Object.assign(double.costs, { callMs: DELAY_MS, readsAtOnce: 2 });
      const eight = Array.from({ length: 8 }, () => readStream('thing-1'));
      await expect.poll(double.openReads, { interval: 1 }).toBe(8);
      expect(await msOf(() => Promise.all(eight))).toBeGreaterThanOrEqual(2 * DELAY_MS);
      expect(double.openReads()).toBe(0);
    });

    it('scans a limited number of events per second, filtered or not, until no client waits any more', async () => {
      const many = Array.from({ length: 200 }, () => event());
      await client.appendToStream('thing-1', many, { expectedRevision: NO_STREAM });
      double.costs.scannedPerSecond = 1_000;
      const others = streamNameFilter({ prefixes: ['other-'] });
      const subscribe = () => client.subscribeToAll({ fromPosition: 'start', filter: others });
      const subscription = subscribe();
      subscription.on('data', () => {});
      const caughtUp = new Promise((resolve) => subscription.once('caughtUp', resolve));
      expect(await msOf(() => caughtUp)).toBeGreaterThanOrEqual(150);
      expect([double.counts().subscribe, double.openReads()]).toEqual([{ ...NOTHING, calls: 1 }, 0]);
      await subscription.unsubscribe();
      double.costs.scannedPerSecond = 10;
      const givenUp = subscribe();
      givenUp.on('data', () => {});
      await expect.poll(double.openReads).toBe(1);
      await givenUp.unsubscribe();
      await expect.poll(double.openReads).toBe(0);
    });
  });
});
