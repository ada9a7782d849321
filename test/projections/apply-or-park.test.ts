import { describe, expect, test } from 'vitest';
import { applyBatch, Fenced, isPoison } from '../../src/lib/projections/projections.ts';
import { apiKeysProjection } from '../../src/projections/api-keys.ts';
import { retryParked } from '../../src/projections/retry-parked.ts';
import { rebuild } from '../../src/projections/runner.ts';
import { keyCreated, keyRevoked, keyRotated, keyUpdated } from '../support/controls/api-key.ts';
import { silentLogger } from '../support/logger.ts';
import { contextAt, NOW } from '../support/specification.ts';
import { openApplied } from './support/applied.ts';
import { system } from './support/keys-log.ts';
import { mended, poisonousKey, tampered } from './support/tampered.ts';

/** Ends all other connections to the database, as a restart of the server does. */
const KILL_OTHERS = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`;

const open = async () => {
  const applied = await openApplied(apiKeysProjection);
  const { pool } = applied;
  return {
    ...applied,
    keys: async () => (await pool.query('select key_id, status from read_models.api_keys order by 1')).rows,
    parked: async () =>
      (await pool.query('select stream, revision, error from read_models.parked_events order by position')).rows,
  };
};

/** A projection of API keys that cannot apply any event. */
const openParking = async (fault: Error) => {
  const applied = await openApplied(tampered(() => Promise.reject(fault)));
  return {
    ...applied,
    parked: async () =>
      (await applied.pool.query('select error from read_models.parked_events')).rows.map(({ error }) => error),
  };
};

describe('an event that cannot be applied', () => {
  test('is parked with its error, and the other events of its batch are applied', async () => {
    const { given, keys, parked } = await open();
    await given('apiKey-key_1', [keyCreated()]);
    await given('apiKey-key_2', [poisonousKey('key_2')]);
    await given('apiKey-key_3', [keyCreated({ keyId: 'key_3' })]);
    expect(await keys()).toMatchObject([{ key_id: 'key_1' }, { key_id: 'key_3' }]);
    expect(await parked()).toEqual([
      { stream: 'apiKey-key_2', revision: 0, error: 'error: unsupported Unicode escape sequence' },
    ]);
  });

  test('stops a read model that must be complete, and nothing is parked', async () => {
    const { given, pool } = await openApplied({ ...apiKeysProjection, isWhole: true });
    await given('apiKey-key_1', [keyCreated()]);
    await expect(given('apiKey-key_2', [poisonousKey('key_2')])).rejects.toThrow('unsupported Unicode escape sequence');
    const { rows } = await pool.query(
      'select (select count(*)::int from read_models.api_keys) as keys, count(*)::int as parked from read_models.parked_events',
    );
    expect(rows).toEqual([{ keys: 1, parked: 0 }]);
  });

  test('holds back later events of its own stream, in the same batch and later ones, and no others', async () => {
    const { given, keys, parked } = await open();
    await given('apiKey-key_2', [poisonousKey('key_2'), keyRotated(1, NOW)]);
    await given('apiKey-key_2', [keyRotated(2, NOW)]);
    await given('apiKey-key_3', [keyCreated({ keyId: 'key_3' })]);
    await given('domain-dom_1', [
      { type: 'DomainRegistered', data: { domainId: 'dom_1', name: 'a.test', token: 't', dkim: [] } },
    ]);
    expect(await keys()).toMatchObject([{ key_id: 'key_3' }]);
    const behind = 'an earlier event of this stream is parked';
    expect(await parked()).toMatchObject([
      { revision: 0 },
      { revision: 1, error: behind },
      { revision: 2, error: behind },
    ]);
  });

  test('holds back later events of a stream whose first events were applied', async () => {
    const { given, keys, parked, pool } = await open();
    await given('apiKey-key_1', [keyCreated()]);
    await given('apiKey-key_1', [keyUpdated({ name: 'no\u0000good' })]);
    await given('apiKey-key_1', [{ type: 'KeyRevoked', data: { keyId: 'key_1' } }]);
    expect(await keys()).toEqual([{ key_id: 'key_1', status: 'active' }]);
    expect(await parked()).toMatchObject([{ revision: 1 }, { revision: 2 }]);
    const { rows } = await pool.query("select state->>'name' as name from read_models.api_keys");
    expect(rows).toEqual([{ name: keyCreated().data.name }]);
  });

  test('is applied by a retry once possible, and everything behind it in order', async () => {
    const { given, keys, parked, pool, store } = await open();
    await given('apiKey-key_2', [poisonousKey('key_2')]);
    await given('apiKey-key_2', [keyRotated(1, NOW), { type: 'KeyRevoked', data: { keyId: 'key_2' } }]);
    expect(await retryParked({ pool, store }, 'api-keys')).toEqual({ applied: 0, stillParked: 3 });
    expect(await retryParked({ pool, store, projections: [mended] }, 'api-keys')).toEqual({
      applied: 3,
      stillParked: 0,
    });
    expect(await keys()).toEqual([{ key_id: 'key_2', status: 'revoked' }]);
    expect(await parked()).toEqual([]);
    await given('apiKey-key_3', [keyCreated({ keyId: 'key_3' })]);
    expect(await keys()).toHaveLength(2);
  });

  test('is not retried on a connection that breaks, which is reported and does no harm', async () => {
    const { given, parked, pool, store } = await open();
    await given('apiKey-key_2', [poisonousKey('key_2')]);
    const broken = new Promise<void>((resolve) => pool.once('remove', () => resolve()));
    const breaking: Pick<typeof store, 'readStream'> = {
      readStream: async (...asked) => {
        await pool.query(KILL_OTHERS);
        await system.sleep(100); // no query is running when the connection ends
        return store.readStream(...asked);
      },
    };
    await expect(retryParked({ pool, store: breaking, projections: [mended] }, 'api-keys')).rejects.toThrow();
    await broken;
    expect(await parked()).toHaveLength(1);
  });

  test('is parked by a rebuild too, which replaces what was parked before', async () => {
    const { given, keys, parked, pool, store } = await open();
    await given('apiKey-key_2', [poisonousKey('key_2'), keyRotated(1, NOW)]);
    await given('apiKey-key_3', [keyCreated({ keyId: 'key_3' })]);
    const before = await parked();
    const options = { pool, store, logger: silentLogger };
    expect(await rebuild(options, [apiKeysProjection])).toEqual([{ name: 'api-keys', events: 3, parkedEvents: 2 }]);
    expect(await parked()).toEqual(before);
    expect(await keys()).toMatchObject([{ key_id: 'key_3' }]);
    await rebuild(options, [mended]);
    expect(await parked()).toEqual([]);
    expect(await keys()).toMatchObject([{ key_id: 'key_2' }, { key_id: 'key_3' }]);
  });

  test('is distinguished from a transient fault, after which nothing of the batch is kept', async () => {
    const { given, pool, store, keys, parked, lastBatch } = await open();
    await given('apiKey-key_1', [keyCreated()]);
    await store.append({
      stream: 'apiKey-key_1',
      expected: 0,
      context: contextAt(NOW),
      events: [{ ...keyRevoked, id: crypto.randomUUID() }],
    });
    const page = await store.readAll({ from: lastBatch().position, limit: 10 });
    const client = await pool.connect();
    const faults = [
      Object.assign(new Error('deadlock detected'), { code: '40P01' }),
      Object.assign(new Error('could not serialize'), { code: '40001' }),
      Object.assign(new Error('terminating connection due to administrator command'), { code: '57P01' }),
      Object.assign(new Error('No space left on device'), { code: '53100' }),
      new Error('Connection terminated unexpectedly'),
    ];
    try {
      for (const fault of faults) {
        const projection = tampered(() => Promise.reject(fault));
        const target = { client, projection, schema: 'read_models', logId: await store.logId() } as const;
        await expect(applyBatch(target, { after: lastBatch().position, ...page })).rejects.toBe(fault);
      }
    } finally {
      client.release(true);
    }
    expect(await parked()).toEqual([]);
    expect(await keys()).toEqual([{ key_id: 'key_1', status: 'active' }]);
  });
});

test.each([
  ['22P05', true],
  ['23505', true],
  ['54000', true],
  ['54001', false],
  ['40001', false],
  ['57014', false],
  ['53200', false],
  ['42P01', false],
])('a fault with SQLSTATE %s is caused by the event: %s', (code, expected) => {
  expect(isPoison(Object.assign(new Error('a fault'), { code }))).toBe(expected);
});

test('a fault without SQLSTATE is caused by the event if it is about a value', () => {
  const faults = [new RangeError('x'), new TypeError('x'), new SyntaxError('x'), new Error('x'), 'x'];
  expect(faults.map(isPoison)).toEqual([true, true, true, false, false]);
});

test('a retry applies a stream with more parked events than fit into one transaction', async () => {
  const { given, parked, pool, store } = await open();
  await given('apiKey-key_2', [poisonousKey('key_2')]);
  const changes = Array.from({ length: 600 }, (_, number) => keyUpdated({ name: `name ${number}` }));
  await given('apiKey-key_2', changes);
  expect(await parked()).toHaveLength(601);
  expect(await retryParked({ pool, store, projections: [mended] }, 'api-keys')).toEqual({
    applied: 601,
    stillParked: 0,
  });
  const { rows } = await pool.query("select state->>'name' as name from read_models.api_keys");
  expect(rows).toEqual([{ name: 'name 599' }]);
});

describe('a batch', () => {
  test('that was already applied is fenced off and changes nothing', async () => {
    const { given, apply, lastBatch, keys } = await open();
    await given('apiKey-key_1', [keyCreated()]);
    const first = lastBatch();
    await given('apiKey-key_1', [keyRevoked]);
    for (const batch of [lastBatch(), first]) await expect(apply(batch)).rejects.toBeInstanceOf(Fenced);
    expect(await keys()).toEqual([{ key_id: 'key_1', status: 'revoked' }]);
  });
});

test('an error whose text PostgreSQL cannot store is kept without the bytes that it refuses', async () => {
  const { pool, given, parked } = await openParking(new RangeError('no\0good'));
  await given('apiKey-key_1', [keyCreated()]);
  expect(await parked()).toEqual(['RangeError: nogood']);
  expect((await pool.query('select 1 from read_models.api_keys')).rowCount).toBe(0);
});

test('the age of a read model is that of its last event, also after positions without events', async () => {
  const { given, apply, lastBatch, pool } = await open();
  await given('apiKey-key_1', [keyCreated()], { occurredAt: NOW });
  const after = lastBatch().position;
  await apply({ after, position: `${after}1`, events: [] });
  const { rows } = await pool.query('select occurred_at, position from read_models.checkpoints');
  expect(rows).toEqual([{ occurred_at: new Date(NOW), position: `${after}1` }]);
});

test('an event that arrives during a retry is applied behind what the retry applied', async () => {
  const { given, keys, parked, pool, store } = await open();
  await given('apiKey-key_1', [poisonousKey('key_1')]);
  const [reading, read] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow: Pick<typeof store, 'readStream'> = {
    readStream: async (...asked) => {
      reading.resolve();
      await read.promise;
      return store.readStream(...asked);
    },
  };
  const retried = retryParked({ pool, store: slow, projections: [mended] }, 'api-keys');
  await reading.promise;
  let isApplied = false;
  const applied = given('apiKey-key_1', [{ type: 'KeyRevoked', data: { keyId: 'key_1' } }]).then(() => {
    isApplied = true;
  });
  const waiting = 'select 1 from pg_stat_activity where datname = current_database() and wait_event_type = $1';
  await expect.poll(async () => isApplied || (await pool.query(waiting, ['Lock'])).rowCount === 1).toBe(true);
  read.resolve();
  expect(await retried).toMatchObject({ applied: 1 });
  await applied;
  expect(await parked()).toEqual([]);
  expect(await keys()).toEqual([{ key_id: 'key_1', status: 'revoked' }]);
});
