import { Client } from 'pg';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createPostgresContents } from '../../src/adapters/contents/postgres.ts';
import { createPostgresEventStore } from '../../src/adapters/event-store.ts';
import { eventCodec } from '../../src/domain/kernel/codec.ts';
import { PROJECTIONS } from '../../src/projections/all.ts';
import { rebuild } from '../../src/projections/runner.ts';
import { silentLogger } from '../support/logger.ts';
import { createHistory } from './support/history.ts';
import { appendKey, newStore, system, until } from './support/keys-log.ts';
import { caughtUp, openPool, openReadModels, startRunner } from './support/open.ts';
import { allRows } from './support/read-model-rows.ts';
import { poisonousKey, tampered } from './support/tampered.ts';

const sentences = ({ said }: { readonly said: readonly { readonly sentence: string }[] }): readonly string[] =>
  said.map(({ sentence }) => sentence);

/** Ends connections, as a restart of the server does. */
const KILL = `select pg_terminate_backend(l.pid) from pg_locks l join pg_database d on d.oid = l.database
  where l.locktype = 'advisory' and d.datname = current_database() and l.classid = 7310011`;

describe('running projections', () => {
  test('applies existing events, and new ones soon after they are appended', async () => {
    const pool = await openPool();
    const store = newStore();
    await appendKey(store, 'key_1');
    startRunner(pool, store);
    expect(await caughtUp(pool, store)).toBe(true);
    const times: number[] = [];
    for (let number = 2; number < 12; number += 1) {
      const start = performance.now();
      await appendKey(store, `key_${number}`);
      expect(await caughtUp(pool, store)).toBe(true);
      times.push(performance.now() - start);
    }
    expect(times.sort((a, b) => a - b)[5]).toBeLessThan(500);
    const list = await openReadModels(pool, store).apiKeys.list({
      organizationId: 'org_mine',
      environment: null,
      limit: 100,
      after: null,
    });
    expect(list.items).toHaveLength(11);
  });

  test('works on the log in PostgreSQL, live and in a rebuild', async () => {
    const pool = await openPool();
    const store = await createPostgresEventStore({ url: pool.url, codec: eventCodec, system, logger: silentLogger });
    const runner = startRunner(pool, store);
    const history = await createHistory({ seed: 11, stored: { store, contents: createPostgresContents({ pool }) } });
    await history.go(150);
    expect(await caughtUp(pool, store)).toBe(true);
    await runner.stop();
    const live = await allRows(pool);
    await rebuild({ pool, store, logger: silentLogger }, PROJECTIONS);
    expect(await allRows(pool)).toEqual(live);
    await store.close();
  });

  test('in two processes applies everything once, and the second takes over when the first ends', async () => {
    const pool = await openPool();
    const history = await createHistory({ seed: 4 });
    const first = startRunner(pool, history.store);
    const second = startRunner(pool, history.store);
    await history.go(100);
    expect(await caughtUp(pool, history.store)).toBe(true);
    expect(await first.stop()).toBe('ok');
    await history.go(50);
    expect(await caughtUp(pool, history.store)).toBe(true);
    await second.stop();
    expect([...sentences(first.logger), ...sentences(second.logger)]).toEqual([]);
    const live = await allRows(pool);
    await rebuild({ pool, store: history.store, logger: silentLogger }, PROJECTIONS);
    expect(await allRows(pool)).toEqual(live);
  });

  test('waits as a follower on existing connections, and opens no others', async () => {
    const pool = await openPool();
    const store = newStore();
    const first = startRunner(pool, store);
    await appendKey(store, 'key_1');
    expect(await caughtUp(pool, store)).toBe(true);
    startRunner(pool, store);
    const { max } = pool.options;
    let opened = 0;
    pool.on('connect', () => {
      opened += 1;
    });
    const asked = vi.spyOn(Client.prototype, 'query');
    onTestFinished(() => asked.mockRestore());
    const tries = (): number =>
      asked.mock.calls.filter((call) => JSON.stringify(call).includes('pg_try_advisory')).length;
    expect(await until(() => tries() >= 3 * PROJECTIONS.length)).toBe(true);
    expect(opened).toBeLessThanOrEqual(PROJECTIONS.length + 1);
    expect(pool.totalCount).toBeLessThan(max);
    await first.stop();
    await appendKey(store, 'key_2');
    expect(await caughtUp(pool, store)).toBe(true);
  });

  test('reports that another process has moved its checkpoint, and continues from there', async () => {
    const pool = await openPool();
    const store = newStore();
    await appendKey(store, 'key_1');
    const { logger } = startRunner(pool, store);
    expect(await caughtUp(pool, store)).toBe(true);
    // Another runner that lost its lock unnoticed would do this together with the rows of the event.
    const position = String(Number(await store.head()) + 1).padStart(16, '0');
    await pool.query(`update read_models.checkpoints set position = $1 where name = 'api-keys'`, [position]);
    await appendKey(store, 'key_2');
    await appendKey(store, 'key_3');
    expect(await caughtUp(pool, store)).toBe(true);
    const { rows } = await pool.query('select key_id from read_models.api_keys order by 1');
    expect(rows.map(({ key_id }) => key_id)).toEqual(['key_1', 'key_3']);
    expect(sentences(logger)).toEqual([
      'the checkpoint of read model api-keys was moved by another process: this runner starts over',
      'a projection recovered',
    ]);
  });

  test('logs one line when it fails and one when it recovers, however many attempts there were', async () => {
    const pool = await openPool();
    const store = newStore();
    await appendKey(store, 'key_1');
    const { logger } = startRunner(pool, store);
    expect(await caughtUp(pool, store)).toBe(true);
    await pool.query('alter table read_models.api_keys rename to api_keys_gone');
    await pool.query('alter table read_models.parked_events rename to parked_events_gone');
    let tries = 0; // after the first, each on a connection of its own
    pool.on('acquire', () => {
      tries += 1;
    });
    await appendKey(store, 'key_2');
    expect(await until(() => tries >= 3)).toBe(true);
    await pool.query('alter table read_models.parked_events_gone rename to parked_events');
    await pool.query('alter table read_models.api_keys_gone rename to api_keys');
    expect(await caughtUp(pool, store)).toBe(true);
    const ofKeys = logger.said.filter(({ fields }) => 'projection' in fields && fields.projection === 'api-keys');
    expect(ofKeys.map(({ sentence }) => sentence)).toEqual(['a projection failed: retrying', 'a projection recovered']);
    expect(ofKeys[1]?.fields).toMatchObject({ faults: expect.any(Number) });
  });

  test('survives losing its connections, and parks nothing because of it', async () => {
    const pool = await openPool();
    const history = await createHistory({ seed: 5 });
    const runner = startRunner(pool, history.store);
    for (let time = 0; time < 3; time += 1) {
      await history.go(40);
      expect(await caughtUp(pool, history.store)).toBe(true);
      expect((await pool.query(KILL)).rowCount).toBe(PROJECTIONS.length);
    }
    await history.go(40);
    expect(await caughtUp(pool, history.store)).toBe(true);
    await runner.stop();
    expect((await pool.query('select 1 from read_models.parked_events')).rowCount).toBe(0);
    const live = await allRows(pool);
    await rebuild({ pool, store: history.store, logger: silentLogger }, PROJECTIONS);
    expect(await allRows(pool)).toEqual(live);
  });

  test('is not delayed by one projection that fails or is slow', async () => {
    const pool = await openPool();
    const store = newStore();
    const broken = tampered(() => Promise.reject(Object.assign(new Error('disk full'), { code: '53100' })));
    const projections = PROJECTIONS.map((projection) => (projection.name === broken.name ? broken : projection));
    const { logger } = startRunner(pool, store, projections);
    for (let number = 0; number < 30; number += 1) await appendKey(store, `key_${number}`);
    const others = PROJECTIONS.filter(({ name }) => name !== broken.name);
    expect(await caughtUp(pool, store, others)).toBe(true);
    expect(await until(() => sentences(logger).includes('a projection failed: retrying'))).toBe(true);
    const lag = await openReadModels(pool, store).lag();
    expect(lag.map(({ name, seconds }) => [name, seconds > 0])).toEqual(
      PROJECTIONS.map(({ name }) => [name, name === broken.name]).sort(),
    );
  });

  test('parks what cannot be applied, logs it, and reports it with the lag', async () => {
    const pool = await openPool();
    const store = newStore();
    await appendKey(store, 'key_1', poisonousKey('key_1'));
    const { logger } = startRunner(pool, store);
    expect(await caughtUp(pool, store)).toBe(true);
    expect(sentences(logger)).toEqual(['parked an event that could not be applied']);
    const lag = await openReadModels(pool, store).lag();
    expect(lag.find(({ name }) => name === 'api-keys')).toMatchObject({
      name: 'api-keys',
      seconds: 0,
      parkedEvents: 1,
    });
  });

  test('finishes its batch when it is stopped', async () => {
    const pool = await openPool();
    const store = newStore();
    await appendKey(store, 'key_1');
    const begun = Promise.withResolvers<void>();
    const stopping = Promise.withResolvers<void>();
    const slow = tampered(async () => {
      begun.resolve();
      await stopping.promise;
    });
    const runner = startRunner(pool, store, [slow]);
    await begun.promise;
    const stopped = runner.stop();
    stopping.resolve();
    expect(await stopped).toBe('ok');
    expect((await pool.query('select 1 from read_models.api_keys')).rowCount).toBe(1);
  });
});
