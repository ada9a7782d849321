import { Pool } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { PROJECTIONS } from '../../src/projections/all.ts';
import { createAnalyst, listAnalysts, removeAnalyst } from '../../src/projections/analytics.ts';
import { migrate } from '../../src/projections/migrate.ts';
import { rebuild } from '../../src/projections/runner.ts';
import { silentLogger } from '../support/logger.ts';
import { firstColumn, logIn, openAnalytics, ROWS_OF_VIEW, seen, VIEWS } from './support/analysts.ts';

describe('an analyst', () => {
  test('sees all rows of their own organization, in every view, and no others', async () => {
    const { pool, organizations } = await openAnalytics();
    for (const organizationId of organizations) {
      const { client } = await logIn(pool, organizationId);
      for (const view of VIEWS) {
        const own = await firstColumn(pool, ROWS_OF_VIEW[view], [organizationId]);
        expect(own.length, view).toBeGreaterThan(0);
        expect(await seen(client, view), view).toEqual(own);
      }
    }
  });

  test('sees no addresses and no message contents', async () => {
    const { pool, organizations } = await openAnalytics();
    const { client } = await logIn(pool, organizations[0] ?? '');
    for (const view of VIEWS) {
      const { rows } = await client.query(`select v::text as row from analytics.${view} v`);
      const all = JSON.stringify(rows);
      for (const written of ['@example.net', '@example.org', 'Hello', 'campaign', 'to:', 'subject'])
        expect(all.includes(written), `${view} ${written}`).toBe(false);
    }
  });

  test('has a limited number of read-only sessions, each with a time limit', async () => {
    const { pool, organizations } = await openAnalytics(20);
    const analyst = await logIn(pool, organizations[0] ?? '', 2);
    const setting = (name: string) => firstColumn(analyst.client, `select current_setting('${name}')`);
    expect(await setting('statement_timeout')).toEqual(['30s']);
    expect(await setting('idle_in_transaction_session_timeout')).toEqual(['1min']);
    expect(await setting('search_path')).toEqual(['analytics']);
    await expect(analyst.client.query('create temp table t ()')).rejects.toThrow('read-only transaction');
    await analyst.connect();
    await expect(analyst.connect()).rejects.toThrow('too many connections');
  });

  test('is listed, and sees nothing once removed', async () => {
    const { pool, organizations } = await openAnalytics(20);
    const [own = '', other = ''] = organizations;
    const { client, role, connect } = await logIn(pool, own);
    expect(await listAnalysts(pool, own)).toMatchObject([{ role, organizationId: own, name: 'test', exists: true }]);
    expect(await listAnalysts(pool, other)).toEqual([]);
    expect(await removeAnalyst(pool, role)).toBe(true);
    await expect(client.query('select * from analytics.messages')).rejects.toThrow();
    await expect(connect()).rejects.toThrow('password authentication failed');
    expect(await removeAnalyst(pool, role)).toBe(false);
    expect(await listAnalysts(pool, null)).toEqual([]);
  });

  test('that is missing on this server, for example after a restore, is listed as such and can be removed', async () => {
    const { pool, organizations } = await openAnalytics(20);
    const values = ['analyst_gone', organizations[0], 'x', 'y'];
    await pool.query(
      'insert into vault.analysts (role, organization_id, name, created_by) values ($1, $2, $3, $4)',
      values,
    );
    expect(await listAnalysts(pool, null)).toMatchObject([{ role: 'analyst_gone', exists: false }]);
    expect(await removeAnalyst(pool, 'analyst_gone')).toBe(true);
  });

  test('is created only by a database user that may create roles and is not an administrator', async () => {
    const { pool, organizations } = await openAnalytics(20);
    const user = `service_${process.pid}_${Date.now()}`;
    await pool.query(`create role ${user} login createrole password 'x'`);
    await pool.query(`grant usage on schema vault to ${user}; grant all on vault.analysts to ${user}`);
    const url = Object.assign(new URL(pool.url), { username: user, password: 'x' }).href;
    const theirs = Object.assign(new Pool({ connectionString: url, max: 2 }), { url });
    onTestFinished(async () => {
      await theirs.end();
      await pool.query(`drop owned by ${user}; drop role ${user}`);
    });
    const wanted = {
      organizationId: organizations[0] ?? '',
      name: 'x',
      connections: 1,
      timeoutSeconds: 5,
      createdBy: 'x',
    };
    const { role } = await createAnalyst({ pool: theirs, system: createSystem() }, wanted);
    expect(await removeAnalyst(theirs, role)).toBe(true);
    await pool.query(`alter role ${user} nocreaterole`);
    await expect(createAnalyst({ pool: theirs, system: createSystem() }, wanted)).rejects.toMatchObject({
      code: '42501',
    });
  });
});

describe('the views', () => {
  test('show nothing to a login that is not an analyst', async () => {
    const { pool } = await openAnalytics(60);
    for (const view of VIEWS) expect(await firstColumn(pool, `select 1 from analytics.${view}`)).toEqual([]);
  });

  test.each([
    ["analytics.messages where environment = 'live' and created_at > now() - interval '1 day'", 'created_at'],
    ["analytics.recipients where environment = 'live' and created_at > now() - interval '1 day'", 'created_at'],
    ["analytics.events where environment = 'live' and (position, item) > ('', 0)", 'position'],
    ["analytics.events where environment = 'live' and type = 'message.bounced'", 'type'],
    ["analytics.events where environment = 'live' and domain_id = 'x'", 'domain_id'],
    ["analytics.stats where environment = 'live' and bucket > now() - interval '1 day'", 'bucket'],
  ])('use an index for %s', async (condition, column) => {
    const { pool, organizations } = await openAnalytics(20);
    const { client } = await logIn(pool, organizations[0] ?? '');
    await client.query('set enable_seqscan = off; set enable_bitmapscan = off');
    const plan = await firstColumn(client, `explain select * from ${condition}`);
    const used = plan.filter((line) => line.includes('Index Cond') && line.includes('environment'));
    expect(used).toEqual([expect.stringMatching(new RegExp(`\\b${column}\\b`))]);
  });

  test('read the new tables after a rebuild, which ends blocking sessions', async () => {
    const { pool, history, organizations } = await openAnalytics();
    const [own = ''] = organizations;
    const { client, connect } = await logIn(pool, own);
    const before: Record<string, readonly string[]> = {};
    for (const view of VIEWS) before[view] = await seen(client, view);
    const definitions = () =>
      firstColumn(
        pool,
        `select c.oid || c.relname || c.reloptions::text || c.relacl::text || pg_get_viewdef(c.oid) from pg_class c
         where c.relnamespace = 'analytics'::regnamespace`,
      );
    const definedBefore = await definitions();
    const holding = await connect();
    await holding.query('begin; select * from analytics.messages');

    await rebuild({ pool, store: history.store, logger: silentLogger }, PROJECTIONS);
    await expect(holding.query('select 1')).rejects.toThrow();
    const again = await connect();
    for (const view of VIEWS) expect(await seen(again, view), view).toEqual(before[view]);
    expect(await definitions()).toEqual(definedBefore);
    expect(
      await firstColumn(pool, `select tablename from pg_tables where schemaname = 'read_models_replaced'`),
    ).toEqual([]);
  });

  test('are recreated when the read models were dropped, for existing analysts too', async () => {
    const { pool, organizations } = await openAnalytics(60);
    const { client, connect } = await logIn(pool, organizations[0] ?? '');
    await pool.query('drop schema read_models cascade');
    await expect(client.query('select * from analytics.messages')).rejects.toThrow('does not exist');
    await migrate(pool);
    expect(await seen(await connect(), 'messages')).toEqual([]);
  });

  test('are replaced if they have changed, and otherwise left alone', async () => {
    const { pool } = await openAnalytics(20);
    const oid = () => firstColumn(pool, `select 'analytics.messages'::regclass::oid::text`);
    const before = await oid();
    await migrate(pool);
    expect(await oid()).toEqual(before);
    await pool.query(`comment on schema analytics is 'of an older version'`);
    await migrate(pool);
    expect(await oid()).not.toEqual(before);
  });
});
