import { Client, type Pool } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { type Moment, treeOf } from '../../src/domain/audit/leaf.ts';
import type { EventStore } from '../../src/domain/kernel/event-store.ts';
import { PROJECTIONS } from '../../src/projections/all.ts';
import { createAuditTrees } from '../../src/projections/audit/tree.ts';
import { destinationsProjection } from '../../src/projections/destinations.ts';
import { dropReplay, isReplaySchema, listReplays, type ReplaySchema, replay } from '../../src/projections/replay.ts';
import { rebuild } from '../../src/projections/runner.ts';
import { silentLogger } from '../support/logger.ts';
import type { History } from './support/history.ts';
import { openLiveHistory } from './support/live-history.ts';
import { openPool } from './support/open.ts';
import { rowsOf } from './support/read-model-rows.ts';

const rowsIn = async (pool: Pool, schema: string, projections = PROJECTIONS) =>
  Object.fromEntries(
    await Promise.all(projections.map(async (each) => [each.name, await rowsOf(pool, each, schema)] as const)),
  );

const nothing = () => undefined;

interface ReplayRequest {
  readonly into?: ReplaySchema;
  readonly store?: EventStore;
  readonly signal?: AbortSignal;
}

const replayOf = async (pool: Pool, history: History, moment: Moment, wanted: ReplayRequest = {}) => {
  const { into = 'replay_then', store = history.store, signal } = wanted;
  const made = await replay({
    pool,
    store,
    system: createSystem(),
    moment,
    into,
    ...(signal !== undefined && { signal }),
    onProgress: nothing,
  });
  // All databases of the server share its roles.
  onTestFinished(() => dropReplay(pool, into).catch(nothing));
  return made;
};

const schemas = async (pool: Pool): Promise<readonly string[]> =>
  (
    await pool.query<{ name: string }>(
      `select nspname as name from pg_namespace where nspname like '%replay\\_%' order by 1`,
    )
  ).rows.map(({ name }) => name);

/** Live read models of a first part, the time at its end, and a second part that they have not applied. */
const openTwoParts = async (steps = 40) => {
  const { pool, history, runner } = await openLiveHistory(steps, 5);
  await runner.stop();
  const time = history.system.now().toISOString();
  await history.system.advance(1);
  await history.go(40);
  return { pool, history, time };
};

/** A log that only contains events of one organization. */
const logOf = (store: EventStore, organizationId: string, leaves: number): EventStore => {
  let seen = 0;
  return {
    ...store,
    readAll: async (options) => {
      const page = await store.readAll(options);
      const own = page.events.filter((event) => treeOf(event) === organizationId);
      const events = own.slice(0, Math.max(0, leaves - seen));
      seen += own.length;
      return { ...page, events };
    },
  };
};

describe('read models of a past moment', () => {
  test('have the rows that the live ones had then, for all organizations', async () => {
    const { pool, history, time } = await openTwoParts(250);
    const live = await rowsIn(pool, 'read_models');
    const made = await replayOf(pool, history, { organizationId: null, time });
    expect(await rowsIn(pool, 'replay_then')).toEqual(live);
    expect(await rowsIn(pool, 'read_models')).toEqual(live);
    expect(made).toMatchObject({ schema: 'replay_then', until: time, organizationId: null, parkedEvents: 0 });
    expect((made.lastEventAt ?? '') <= time).toBe(true);
    expect(await schemas(pool)).toEqual(['replay_then']);
  });

  test('cover only one organization if it is named, also up to a leaf of its tree', async () => {
    const { pool, history, time } = await openTwoParts(250);
    const organizationId = history.tenants[0]?.organizationId ?? '';
    const size = await createAuditTrees(pool).size(organizationId);
    const own = PROJECTIONS.filter((each) => each !== destinationsProjection);
    await replayOf(pool, history, { organizationId, time });
    const byLeaf = await replayOf(pool, history, { organizationId, leaf: size - 1 }, { into: 'replay_leaf' });
    expect(byLeaf).toMatchObject({ until: `leaf:${size - 1}`, events: size });
    const rows = await rowsIn(pool, 'replay_then', own);
    expect(await rowsIn(pool, 'replay_leaf', own)).toEqual(rows);

    const alone = await openPool();
    const store = logOf(history.store, organizationId, size);
    await rebuild({ pool: alone, store, logger: silentLogger }, own);
    expect(rows).toEqual(await rowsIn(alone, 'read_models', own));
    expect(JSON.stringify(rows)).not.toContain(history.tenants[1]?.organizationId);
  });

  test('can be read by their role, which can do nothing else', async () => {
    const { pool, history, time } = await openTwoParts();
    const { role, password } = await replayOf(pool, history, { organizationId: null, time });
    const client = new Client({
      connectionString: Object.assign(new URL(pool.url), { username: role, password }).href,
    });
    client.on('error', nothing); // dropping the role ends the connection
    onTestFinished(() => client.end());
    await client.connect();
    const { rows } = await client.query('select count(*)::int as count from messages');
    expect(rows[0]?.count).toBeGreaterThan(0);
    await client.query('set default_transaction_read_only = off');
    for (const refused of [
      'select * from read_models.messages',
      'select * from vault.secrets',
      'select * from vault.contents',
      'delete from messages',
      'create table replay_then.mine (x int)',
      'drop schema replay_then cascade',
    ])
      await expect(client.query(refused), refused).rejects.toMatchObject({ code: '42501' });
    expect(await listReplays(pool)).toMatchObject([{ schema: 'replay_then', role, until: time }]);
    await dropReplay(pool, 'replay_then');
    expect(await listReplays(pool)).toEqual([]);
    expect(await schemas(pool)).toEqual([]);
    expect((await pool.query('select from pg_roles where rolname = $1', [role])).rowCount).toBe(0);
    await expect(dropReplay(pool, 'replay_then')).rejects.toThrow('there is no replay replay_then');
  });

  test('are not written to an existing schema, which stays unchanged', async () => {
    const { pool, history, time } = await openTwoParts();
    await pool.query('create schema replay_then; create table replay_then.mine as select 1 as one');
    await expect(replayOf(pool, history, { organizationId: null, time })).rejects.toThrow('replay_then exists');
    expect((await pool.query('select one from replay_then.mine')).rows).toEqual([{ one: 1 }]);
    await expect(dropReplay(pool, 'replay_then')).rejects.toThrow('there is no replay');
    expect(await schemas(pool)).toEqual(['replay_then']);
  });

  test('are built by one process at a time', async () => {
    const { pool, history, time } = await openTwoParts();
    const results = await Promise.allSettled([
      replayOf(pool, history, { organizationId: null, time }),
      replayOf(pool, history, { organizationId: null, time }),
    ]);
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
    expect(refused).toHaveLength(1);
    expect(refused[0]).toMatch(/replay_then (is being made by another process|exists)/);
    expect(await listReplays(pool)).toHaveLength(1);
  });

  test('leave nothing behind when they are interrupted, or the leaf does not exist', async () => {
    const { pool, history, time } = await openTwoParts();
    const interrupted = new AbortController();
    const store: EventStore = {
      ...history.store,
      readAll: async (options) => {
        const page = await history.store.readAll({ ...options, limit: 50 });
        interrupted.abort(new Error('interrupted'));
        return page;
      },
    };
    const moment = { organizationId: null, time };
    await expect(replayOf(pool, history, moment, { store, signal: interrupted.signal })).rejects.toThrow('interrupted');
    expect(await schemas(pool)).toEqual([]);
    const organizationId = history.tenants[0]?.organizationId ?? '';
    await expect(replayOf(pool, history, { organizationId, leaf: 100_000 })).rejects.toThrow(
      /has \d+ leaves: leaf:100000 is not there yet/,
    );
    expect(await schemas(pool)).toEqual([]);
  });

  test('replace the remains of a killed process, which no list shows', async () => {
    const { pool, history, time } = await openTwoParts();
    await pool.query('create schema unfinished_replay_then; create table unfinished_replay_then.messages (x int)');
    expect(await listReplays(pool)).toEqual([]);
    await replayOf(pool, history, { organizationId: null, time });
    expect(await schemas(pool)).toEqual(['replay_then']);
    await pool.query('create schema unfinished_replay_other');
    await dropReplay(pool, 'replay_other');
    expect(await schemas(pool)).toEqual(['replay_then']);
  });
});

test.each([
  ['replay_march', true],
  [`replay_${'a'.repeat(40)}`, true],
  ['replay_', false],
  ['read_models', false],
  ['vault', false],
  ['Replay_march', false],
  ['replay_March', false],
  ['replay_a"b', false],
  ["replay_a'b", false],
  ['replay_a; drop schema vault', false],
  ['replay_a\n', false],
  ['replay_ä', false],
  ['replay_a\0', false],
  [`replay_${'a'.repeat(41)}`, false],
])('%j is a valid schema name: %s', (name, expected) => {
  expect(isReplaySchema(name)).toBe(expected);
});
