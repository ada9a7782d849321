import { randomBytes } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { createPostgresEventStore } from '../../src/adapters/event-store.ts';
import { createSystem } from '../../src/adapters/system.ts';
import { adoptEarlierEvents } from '../../src/commands/adopt-events.ts';
import { internalOrigin, load, readWholeStream } from '../../src/commands/execute.ts';
import { ForeignEvent, readStream, withoutForeign } from '../../src/commands/foreign-events.ts';
import { apiKey } from '../../src/domain/api-key/api-key.ts';
import { createSealingCodec, eventCodec } from '../../src/domain/kernel/codec.ts';
import { createEventMacs } from '../../src/domain/kernel/event-macs.ts';
import { errorAnswer } from '../../src/http/errors.ts';
import { openPool } from '../projections/support/open.ts';
import { keyCreated, keyRevoked } from '../support/controls/api-key.ts';
import { silentLogger } from '../support/logger.ts';
import { contextAt, NOW } from '../support/specification.ts';
import { createRecordingLogger } from '../workers/recording-logger.ts';

const system = createSystem();
const STREAM = 'apiKey-key_1';

/** A store of this service, and one of an intruder whose events have no proof. */
const open = async () => {
  const { url } = await openPool();
  const openStore = async (codec = eventCodec) => {
    const store = await createPostgresEventStore({ url, codec, system, logger: silentLogger });
    onTestFinished(() => store.close());
    return store;
  };
  const [store, intruder] = [
    await openStore(createSealingCodec(createEventMacs([randomBytes(32)]))),
    await openStore(),
  ];
  const append = (by: typeof store, expected: number | 'no-stream', event: typeof keyRevoked) =>
    by.append({
      stream: STREAM,
      expected,
      events: [{ ...event, id: system.uuid() }],
      context: contextAt(NOW, 'org_1'),
    });
  const adopt = () =>
    adoptEarlierEvents(
      { store, system },
      internalOrigin({ actor: 'operator', organizationId: '', causeId: 'test' }),
      'looked into',
    );
  return { store, intruder, append, adopt };
};

test('a stream with an event that this service did not write decides nothing until it is adopted', async () => {
  const { store, intruder, append, adopt } = await open();
  await append(store, 'no-stream', keyCreated());
  expect((await load(store, apiKey, STREAM)).state).toMatchObject({ status: 'active' });
  await append(intruder, 0, keyRevoked);
  const error = await load(store, apiKey, STREAM).catch((refused: unknown) => refused);
  expect(error).toBeInstanceOf(ForeignEvent);
  expect(errorAnswer(error)).toMatchObject({
    ...{ status: 503, fault: true },
    body: { error: { code: 'unavailable', message: expect.stringContaining('(KeyRevoked) of apiKey-key_1') } },
  });
  // Later events of this service do not hide it.
  await append(store, 1, keyRevoked);
  await expect(load(store, apiKey, STREAM)).rejects.toThrow(ForeignEvent);
  await adopt();
  expect((await load(store, apiKey, STREAM)).state).toMatchObject({ status: 'revoked' });
  await append(intruder, 2, keyRevoked);
  await expect(load(store, apiKey, STREAM)).rejects.toThrow(ForeignEvent);
});

test('a stream with an event that this service did not write is not shown until it is adopted', async () => {
  const { store, intruder, append, adopt } = await open();
  await append(store, 'no-stream', keyCreated());
  await append(intruder, 0, keyRevoked);
  await expect(readWholeStream(store, STREAM)).rejects.toThrow(ForeignEvent);
  await expect(readStream(store, STREAM, { direction: 'backwards', limit: 1 })).rejects.toThrow(ForeignEvent);
  expect(await readStream(store, STREAM, { limit: 1 })).toMatchObject([{ type: 'KeyCreated' }]);
  await adopt();
  expect(await readWholeStream(store, STREAM)).toHaveLength(2);
});

test('followers that act on events do not get those that this service did not write', async () => {
  const { store, intruder, append, adopt } = await open();
  const logger = createRecordingLogger();
  const own = withoutForeign(store, logger);
  await append(intruder, 'no-stream', keyCreated());
  await append(store, 0, keyRevoked);
  const read = async () => (await own.readAll({ limit: 10 })).events.map(({ type }) => type);
  const all = (await store.readAll({ limit: 10 })).events.map(({ type }) => type);
  expect([all, await read()]).toEqual([['KeyCreated', 'KeyRevoked'], ['KeyRevoked']]);
  const ending = new AbortController();
  for await (const page of own.subscribe('', {}, ending.signal)) {
    expect(page.events.map(({ type }) => type)).toEqual(['KeyRevoked']);
    expect(page.position).toBe(await store.head());
    ending.abort();
  }
  expect(new Set(logger.said('error'))).toEqual(new Set([expect.stringContaining('left out an event')]));
  expect(logger.fieldsOf('error')[0]).toMatchObject({ alarm: 'audit', type: 'KeyCreated', stream: STREAM });
  await adopt();
  expect(await read()).toEqual(['KeyCreated', 'KeyRevoked', 'EarlierEventsAdopted']);
});
