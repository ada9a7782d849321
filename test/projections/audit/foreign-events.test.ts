import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { adoptEventsCommand } from '../../../src/cli/audit/commands.ts';
import { adoptEarlierEvents, adoptOlderEvents } from '../../../src/commands/adopt-events.ts';
import { signCheckpoint } from '../../../src/commands/audit.ts';
import { internalOrigin } from '../../../src/commands/execute.ts';
import { createSealingCodec, eventCodec } from '../../../src/domain/kernel/codec.ts';
import { createEventMacs } from '../../../src/domain/kernel/event-macs.ts';
import { adoptionsStream, auditStream } from '../../../src/domain/kernel/streams.ts';
import { createEventStoreDbEventStore } from '../../../src/lib/event-log/eventstoredb.ts';
import { NO_POLICY } from '../../../src/lib/transparency/transparency.ts';
import { checkTrees } from '../../../src/projections/audit/check/check-trees.ts';
import { auditProjection } from '../../../src/projections/audit/projection.ts';
import { createAuditTrees } from '../../../src/projections/audit/tree.ts';
import { rebuild } from '../../../src/projections/runner.ts';
import { startEventStoreDbDouble } from '../../support/eventstoredb-double/start.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createInMemoryRequestOrigins } from '../../support/in-memory/request-origins.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { silentLogger } from '../../support/logger.ts';
import { contextAt, NOW } from '../../support/specification.ts';
import { caughtUp, openPool, startRunner } from '../support/open.ts';

const TREE = 'org_mine';
const STREAM = 'apiKey-key_1';
const system = createSystem();

/** A log whose events are proved, the trees of which follow it. */
const open = async () => {
  const pool = await openPool();
  const codec = createSealingCodec(createEventMacs([randomBytes(32)]));
  const openStore = async (by = codec) => {
    const opened = await createPostgresEventStore({ url: pool.url, codec: by, system, logger: silentLogger });
    onTestFinished(() => opened.close());
    return opened;
  };
  const store = await openStore();
  const trees = createAuditTrees(pool);
  const context = { store, system, secrets: createInMemorySecrets() };
  const keyRevoked = () => ({ id: system.uuid(), type: 'KeyRevoked' as const, data: { keyId: 'key_1' } });
  const append = (by = store, stream: `${string}-${string}` = STREAM, expected: number | 'no-stream' = 'no-stream') =>
    by.append({ stream, expected, events: [keyRevoked(), keyRevoked()], context: contextAt(NOW, TREE) });
  const follow = async () => {
    const runner = startRunner(pool, store, [auditProjection]);
    expect(await caughtUp(pool, store, [auditProjection])).toBe(true);
    await runner.stop();
  };
  const sign = () => signCheckpoint(context, { tree: TREE, trees, host: 'mail.example' });
  const check = () =>
    checkTrees({
      ...{ db: pool, store, system, contents: createInMemoryContents(), origins: createInMemoryRequestOrigins() },
      ...{ policy: NO_POLICY, restShare: 0, signal: new AbortController().signal },
    });
  const adopt = () =>
    adoptEarlierEvents(
      context,
      internalOrigin({ actor: 'operator', organizationId: '', causeId: 'test' }),
      'looked into',
    );
  const signedSizes = async () =>
    (await store.readStream(auditStream(TREE))).flatMap((event) =>
      event.type === 'CheckpointSigned' ? [event.data.size] : [],
    );
  return { pool, store, openStore, trees, append, follow, sign, check, adopt, signedSizes, context };
};

/** Inserts an event as an intruder would who has the database, and keeps all of its columns right. */
const FORGE = `
  select * from event_log.append(array['${STREAM}'], array[1], array[1],
    array['{"$causationId":"c","$correlationId":"c","actor":"key:key_9","environment":null,"occurredAt":"${NOW}","organizationId":"${TREE}","requestId":null,"schemaVersion":1}'],
    array[1], array[1], array['01a00000-0000-7000-8000-00000000dead'], array['KeyRevoked'], array[1], array['{"keyId":"key_7"}'],
    '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')`;

describe('an event that this service did not write', () => {
  test('is not signed, raises the alarm, and is signed once an operator has adopted it', async () => {
    const { pool, append, follow, sign, trees, check, adopt, signedSizes, store } = await open();
    await append();
    await follow();
    await sign();
    expect(await check()).toMatchObject({ verdict: 'consistent' });
    await pool.query(FORGE);
    await append(store, STREAM, 2);
    await follow();
    expect(await trees.foreign(10)).toEqual([{ tree: TREE, leaf: 4, eventId: '01a00000-0000-7000-8000-00000000dead' }]);
    await expect(sign()).rejects.toThrow('did not write event 01a00000-0000-7000-8000-00000000dead of org_mine');
    expect(await signedSizes()).toEqual([2]);
    expect(await check()).toMatchObject({
      verdict: 'faults',
      faults: [expect.stringContaining('01a00000-0000-7000-8000-00000000dead')],
    });
    // Built anew from the log, the tree says the same.
    await rebuild({ pool, store, logger: silentLogger }, [auditProjection]);
    expect(await trees.state(TREE)).toMatchObject({ foreignLeaf: 4 });
    await adopt();
    await follow();
    expect(await trees.foreign(10)).toEqual([]);
    await sign();
    expect(await signedSizes()).toEqual([2, 7]);
    expect(await check()).toMatchObject({ verdict: 'consistent', faults: [] });
  });

  test('is needed for an adoption: without one the command refuses and records nothing', async () => {
    const { pool, append, follow, store, context } = await open();
    const run = () =>
      adoptEventsCommand.run(
        { pool, store, system, context } as unknown as Parameters<typeof adoptEventsCommand.run>[0],
        { values: { reason: 'looked into' }, positionals: [] },
        undefined as never,
        undefined as never,
      );
    const adoptions = async () => (await store.readStream(adoptionsStream())).length;
    await append();
    await follow();
    await expect(run()).rejects.toThrow('every event has a valid proof: nothing was adopted');
    expect(await adoptions()).toBe(0);
    await pool.query(FORGE);
    // The trees have not read it yet.
    const eventId = '01a00000-0000-7000-8000-00000000dead';
    expect(await run()).toMatchObject({ first_events: [{ tree: TREE, leaf: null, event_id: eventId }] });
    await expect(run()).rejects.toThrow('nothing was adopted');
    await follow();
    await expect(run()).rejects.toThrow('nothing was adopted');
    expect(await adoptions()).toBe(1);
  });

  test('cannot be adopted by an event that the intruder inserts', async () => {
    const { pool, append, follow, trees } = await open();
    await append();
    await pool.query(FORGE);
    await pool.query(
      FORGE.replace(STREAM, adoptionsStream())
        .replace('array[1], array[1],', 'array[-1], array[1],')
        .replace('dead', 'beef')
        .replace('KeyRevoked', 'EarlierEventsAdopted')
        .replace('{"keyId":"key_7"}', '{"reason":"x"}')
        .replace(`"organizationId":"${TREE}"`, '"organizationId":""'),
    );
    await follow();
    expect((await trees.foreign(10)).map(({ tree }) => tree)).toEqual([TREE, 'service']);
  });

  test('is found by a check where it was changed in its place', async () => {
    const { pool, append, check, follow } = await open();
    await append();
    await follow();
    await pool.query(`update event_log.events set data = '{"keyId":"key_8"}' where revision = 1`);
    expect((await check()).faults).toEqual([
      expect.stringMatching(
        /^event \S+ \(KeyRevoked, apiKey-key_1 revision 1, leaf 1 of org_mine\) was changed in the log: data.keyId was "key_1" and is "key_8"/,
      ),
    ]);
  });

  test.each([
    [`update event_log.events set category = 'message' where revision = 1`, /has the category "message"/],
    ['update event_log.streams set revision = 0', /does not cover revision 1 of stream apiKey-key_1/],
    ['update event_log.streams set last_position = first_position', /does not cover revision 1/],
    ['delete from event_log.streams', /does not cover revision 0/],
    [
      `insert into event_log.streams values ('apiKey-key_2', 3, 1, 2)`,
      /stream apiKey-key_2 ends with revision 3, but that event is not there/,
    ],
  ])('differs from a change outside the events: %s', async (sql, sentence) => {
    const { pool, append, check, follow } = await open();
    await append();
    await follow();
    await pool.query(sql);
    expect((await check()).faults).toContainEqual(expect.stringMatching(sentence));
  });
});

describe('events of a version that wrote no proofs', () => {
  test('are adopted at the first start of one that does, on record, and once', async () => {
    const { openStore, append, follow, trees, context, sign, signedSizes, check } = await open();
    await append(await openStore(eventCodec));
    expect([await adoptOlderEvents(context), await adoptOlderEvents(context)]).toEqual([true, false]);
    await follow();
    expect(await trees.foreign(10)).toEqual([]);
    await sign();
    expect(await signedSizes()).toEqual([2]);
    expect(await check()).toMatchObject({ verdict: 'consistent', faults: [] });
    // An older process that still writes is not adopted by a restart.
    await append(await openStore(eventCodec), 'apiKey-key_2');
    expect(await adoptOlderEvents(context)).toBe(false);
    await follow();
    expect((await trees.state(TREE))?.foreignEvent).not.toBeNull();
  });

  test('are not adopted in a log that began with proofs, nor in an empty one', async () => {
    const { append, context, openStore } = await open();
    expect(await adoptOlderEvents(context)).toBe(false);
    await append();
    const older = await openStore(eventCodec);
    for (let number = 2; number < 60; number += 1) await append(older, `apiKey-key_${number}`);
    expect(await adoptOlderEvents(context)).toBe(false);
  });
});

test('an event in EventStoreDB is proved like one in PostgreSQL', async () => {
  const double = await startEventStoreDbDouble();
  onTestFinished(() => double.close());
  const codec = createSealingCodec(createEventMacs([randomBytes(32)]));
  const openStore = (by: typeof codec) => {
    const place = { connectionString: double.url, setting: 'EVENTSTORE_URL' as const };
    const opened = createEventStoreDbEventStore({
      ...place,
      codec: by,
      contents: createInMemoryContents(),
      system,
      logger: silentLogger,
    });
    onTestFinished(() => opened.close());
    return opened;
  };
  const [store, intruder] = [openStore(codec), openStore(eventCodec)];
  const event = () => ({ id: system.uuid(), type: 'KeyRevoked' as const, data: { keyId: 'key_1' } });
  await store.append({
    stream: STREAM,
    expected: 'no-stream',
    events: [event(), event()],
    context: contextAt(NOW, TREE),
  });
  await intruder.append({ stream: STREAM, expected: 1, events: [event()], context: contextAt(NOW, TREE) });
  const { events } = await store.readAll({ limit: 10 });
  expect(events.map((each) => store.isAuthentic?.(each))).toEqual([true, true, false]);
});
