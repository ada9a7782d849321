import type { Client, Pool } from 'pg';
import { expect, test } from 'vitest';
import { firstColumn, ID_COLUMNS, logIn, openAnalytics, ROWS_OF_VIEW, seen, VIEWS } from './support/analysts.ts';

/** The result of a query with its notices or its error, as text. */
const answerTo = async (client: Client, text: string): Promise<string> => {
  const said: string[] = [];
  const note = (notice: { readonly message?: string | undefined; readonly detail?: string | undefined }): void => {
    said.push(`${notice.message} ${notice.detail}`);
  };
  client.on('notice', note);
  try {
    const answer = await client.query(text);
    return JSON.stringify([answer, said]);
  } catch (error) {
    return JSON.stringify([String(error), Object(error), said]);
  } finally {
    client.removeListener('notice', note);
  }
};

/** Ids that only appear in this organization's rows. */
const idsOf = async (pool: Pool, organizationId: string): Promise<readonly string[]> =>
  (
    await Promise.all(
      VIEWS.filter((view) => view !== 'stats' && view !== 'tags').map((view) =>
        firstColumn(pool, ROWS_OF_VIEW[view], [organizationId]),
      ),
    )
  ).flat();

/** All tables and views of the service except those for analysts. */
const TABLES = `
  select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'v', 'm', 'p') and n.nspname !~ '^(pg_|information_schema|analytics)'`;

/** Without indexes a condition on the organization does not restrict which rows are read. */
const WITHOUT_INDEXES = 'set enable_indexscan = off; set enable_bitmapscan = off; set enable_indexonlyscan = off';

const attemptsOnView = (view: keyof typeof ROWS_OF_VIEW): readonly string[] => [
  // Functions that cost less than the view's condition. If they were evaluated first, they would see each row.
  `create or replace function pg_temp.leak(text) returns boolean language plpgsql cost 0.0000000001
     as $$ begin raise notice 'leak {%', $1; return true; end $$;
   ${WITHOUT_INDEXES}; select count(*) from analytics.${view} v where pg_temp.leak(${ID_COLUMNS[view]})`,
  `create or replace function pg_temp.same(text, text) returns boolean language plpgsql cost 0.0000000001
     as $$ begin raise notice 'leak {% %', $1, $2; return true; end $$;
   drop operator if exists pg_temp.=== (text, text);
   create operator pg_temp.=== (leftarg = text, rightarg = text, procedure = pg_temp.same);
   ${WITHOUT_INDEXES}; select count(*) from analytics.${view} v where ${ID_COLUMNS[view]} operator(pg_temp.===) 'x'`,
  `create function pg_temp.tell(text) returns boolean language sql leakproof as 'select true'`,
  `${WITHOUT_INDEXES}; select * from analytics.${view} v where (v::text)::integer = 1`,
  `select * from analytics.${view} v where 1 / (length(v::text) - length(v::text)) = 1`,
  `select * from analytics.${view} tablesample system (100)`,
  `select v.*, ctid from analytics.${view} v`,
  `select * from analytics.${view} for update`,
  `update analytics.${view} set environment = 'live'`,
  `delete from analytics.${view}`,
  `alter view analytics.${view} reset (security_barrier)`,
  `create or replace view analytics.${view} as select 1`,
  `create rule mine as on select to analytics.${view} do instead select 1`,
  `explain (analyze, verbose) select * from analytics.${view}`,
  `prepare one as select * from analytics.${view}; execute one; deallocate one`,
  `declare all_of no scroll cursor with hold for select * from analytics.${view}; fetch all all_of; close all_of`,
];

const attemptsToBe = (name: string, role: string): readonly string[] => [
  `set role ${name}; select * from analytics.events`,
  `set session authorization ${name}; select * from analytics.events`,
  `grant ${name} to ${role}`,
  `select set_config('role', '${name}', false); select * from analytics.messages`,
  `select set_config('session_authorization', '${name}', false); select * from analytics.messages`,
];

const attemptsElsewhere = (role: string): readonly string[] => [
  `set outbox.organization_id = 'x'; set vault.analysts = 'x'; select * from analytics.messages`,
  `create temp table analysts (role text, organization_id text);
   insert into analysts select session_user, organization_id from (values ('x')) as o(organization_id);
   set search_path = pg_temp, vault, read_models; select * from analytics.messages`,
  'set row_security = off; select * from analytics.messages',
  'set enable_indexscan = off; set enable_seqscan = off; select * from analytics.messages',
  'set max_parallel_workers_per_gather = 4; set debug_parallel_query = on; select * from analytics.messages',
  'select * from pg_stats',
  'select * from pg_statistic',
  'select * from pg_stats_ext',
  'select * from pg_stat_activity',
  'select * from pg_largeobject',
  `select pg_ls_dir('.')`,
  `select pg_read_file('postgresql.conf')`,
  `select lo_import('/etc/passwd')`,
  `copy (select 1) to program 'id'`,
  'copy vault.contents to stdout',
  'create extension dblink',
  'create schema mine',
  'create table public.mine (a integer)',
  'create role more',
  `alter role ${role} createrole`,
  `alter role ${role} bypassrls`,
  `alter role ${role} connection limit 1000`,
  `update vault.analysts set organization_id = 'x'`,
  'with all_of as materialized (select * from analytics.recipients) select * from all_of',
  'select * from analytics.messages a full join analytics.events b on true limit 100',
  `select query_to_xml('select * from read_models.messages', true, true, '')`,
  `select schema_to_xml('analytics', true, true, '')`,
];

test('an analyst cannot see another organization in any way', async () => {
  const { pool, history, organizations } = await openAnalytics();
  const [own = '', other = ''] = organizations;
  const stranger = await logIn(pool, other);
  const { client, role } = await logIn(pool, own);
  const secrets = [other, history.tenants[1]?.domain.name ?? '', ...(await idsOf(pool, other))];
  const tables = await firstColumn(pool, TABLES);
  expect(tables.length).toBeGreaterThan(20);

  const functionsRun: string[] = [];
  for (const text of [
    ...VIEWS.flatMap(attemptsOnView),
    ...tables.flatMap((name) => [`select * from ${name}`, `lock table ${name}`, `analyze ${name}`]),
    ...['postgres', stranger.role, 'pg_read_all_data', 'pg_monitor'].flatMap((name) => attemptsToBe(name, role)),
    ...attemptsElsewhere(role),
  ]) {
    // The role can change its own settings.
    await client.query('rollback; reset all; reset role; set default_transaction_read_only = off');
    const answer = await answerTo(client, text);
    expect(
      secrets.filter((secret) => answer.includes(secret)),
      text,
    ).toEqual([]);
    if (answer.includes('leak {')) functionsRun.push(text);
  }
  expect(functionsRun).toHaveLength(2 * VIEWS.length);

  await client.query('reset all; reset role');
  expect(await seen(client, 'messages')).toEqual(await firstColumn(pool, ROWS_OF_VIEW.messages, [own]));
  expect(await firstColumn(client, 'select session_user || current_user')).toEqual([`${role}${role}`]);
  const rights = 'select, insert, update, delete, truncate, references, trigger';
  const allowed = `select name from (${TABLES}) t(name) where has_table_privilege('${role}', name, '${rights}')`;
  expect(await firstColumn(pool, allowed)).toEqual([]);
});
