import { EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EventStoreDbDouble, startEventStoreDbDouble } from '../../support/eventstoredb-double/start.ts';

/** What real nodes were seen to do with the client's default way of appending, which our adapter does not use. */
describe('the EventStoreDB double, seen through the bare client', () => {
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

  it('takes many appends in one call and answers each', async () => {
    const append = (name: string) => client.appendToStream(name, [event(), event()], { expectedRevision: NO_STREAM });
    const names = Array.from({ length: 50 }, (_, index) => `thing-${index}`);
    const answers = await Promise.all(names.map(append));
    expect(answers.map(({ nextExpectedRevision }) => nextExpectedRevision)).toEqual(names.map(() => 1n));
    expect(answers.map(({ position }) => Number(position?.commit))).toEqual(
      names.map((name) => double.log.stream(name)[1]?.position),
    );
  });

  it('refuses wrong revisions, large appends and ids that are none', async () => {
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

  it('knows repeated ids of an exact revision for ever, and those of "any" until it restarts', async () => {
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
});
