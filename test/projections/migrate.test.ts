import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { StartRefused } from '../../src/lib/async/async.ts';
import { labelKey } from '../../src/projections/messages/queries.ts';
import { lastMigration, MIGRATIONS, migrate } from '../../src/projections/migrate.ts';
import { freshDatabase, migratedDatabase, type TestDatabase } from '../support/postgres.ts';

const connect = async (database: TestDatabase): Promise<Client> => {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await database.drop();
  });
  return client;
};

const tables = async (client: Client): Promise<readonly string[]> => {
  const { rows } = await client.query<{ name: string }>(
    `select schemaname || '.' || tablename as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
  );
  return rows.map(({ name }) => name);
};

/** Columns, indexes and options, on which statements may depend. */
const shape = async (client: Client): Promise<readonly string[]> => {
  const { rows } = await client.query<{ part: string }>(`
    select table_schema || '.' || table_name || '.' || column_name || ' ' || data_type as part
    from information_schema.columns where table_schema not in ('pg_catalog', 'information_schema')
    union all select indexdef from pg_indexes where schemaname not in ('pg_catalog', 'information_schema')
    union all select relname || ' ' || reloptions::text from pg_class where reloptions is not null
    order by 1`);
  return rows.map(({ part }) => part);
};

test('two processes that migrate an empty database at once both succeed', async () => {
  const database = await freshDatabase();
  const client = await connect(database);
  await Promise.all([migrate(database), migrate(database), migrate(database)]);

  expect(await tables(client)).toEqual(expect.arrayContaining(['vault.contents', 'vault.secrets', 'vault.key_usage']));
  const ran = await client.query('select count(*)::int as rows, max(migration_id) as last from vault.migrations');
  expect(ran.rows[0]?.rows).toBe(ran.rows[0]?.last);
});

test('migrating a migrated database changes nothing', async () => {
  const database = await migratedDatabase();
  const client = await connect(database);
  await client.query(`insert into vault.secrets (id, ciphertext) values ('kept', 'x')`);
  const before = await tables(client);
  await migrate(database);
  expect(await tables(client)).toEqual(before);
  expect((await client.query('select id from vault.secrets')).rows).toEqual([{ id: 'kept' }]);
});

test('everything except the vault may be dropped and is created again', async () => {
  const database = await migratedDatabase();
  const client = await connect(database);
  const before = await shape(client);
  await client.query(`insert into vault.secrets (id, ciphertext) values ('kept', 'x')`);
  await client.query('drop schema read_models, inbox, limits cascade');
  await migrate(database);
  expect(await shape(client)).toEqual(before);
  expect((await client.query('select id from vault.secrets')).rows).toEqual([{ id: 'kept' }]);
});

test('a database migrated by a newer version is left unchanged', async () => {
  const database = await migratedDatabase();
  const client = await connect(database);
  await client.query(`insert into vault.migrations (migration_id, name) values (99999, 'from the future')`);
  await migrate(database);
  expect((await client.query('select max(migration_id) as last from vault.migrations')).rows).toEqual([
    { last: 99_999 },
  ]);
});

const LAST = lastMigration();

/** The migrations plus one, as in a later version. */
const withOneMore = async (sql: string): Promise<string> => {
  const name = `${String(LAST + 1).padStart(5, '0')}_read_models_colour.sql`;
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp(MIGRATIONS, folder, { recursive: true });
  await writeFile(join(folder, name), sql);
  return folder;
};

const column = async (client: Client, name: string): Promise<number> => {
  const { rows } = await client.query('select from information_schema.columns where column_name = $1', [name]);
  return rows.length;
};

test('a later migration runs once, and again when its schema has been dropped', async () => {
  const database = await migratedDatabase();
  const client = await connect(database);
  const sql = 'alter table read_models.webhooks add column colour text';
  const folder = await withOneMore(sql);
  await migrate({ url: database.url, folder });
  await migrate({ url: database.url, folder });
  expect(await column(client, 'colour')).toBe(1);
  const ran = await client.query('select name from vault.migrations where migration_id > $1', [LAST]);
  expect(ran.rows).toEqual([{ name: 'read_models_colour.sql' }]);

  await client.query('drop schema read_models cascade');
  await migrate({ url: database.url, folder });
  expect(await column(client, 'colour')).toBe(1);
});

test('labels that were stored as text are found by their keys', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const isOlder = (source: string): boolean => !(Number.parseInt(basename(source), 10) >= 5);
  await cp(MIGRATIONS, folder, { recursive: true, filter: isOlder });
  const database = await freshDatabase();
  const client = await connect(database);
  await migrate({ url: database.url, folder });
  const owner = { organizationId: 'org_1', environment: 'live' } as const;
  const labels = ['domain:example.net', 'tag:0123', 'domain:bücher.example'];
  await client.query(
    "insert into read_models.message_labels select 'org_1', 'live', label, now(), 'msg_1' from unnest($1::text[]) l(label)",
    [labels],
  );
  await migrate(database);
  const { rows } = await client.query<{ label: string }>('select label from read_models.message_labels');
  expect(new Set(rows.map(({ label }) => label))).toEqual(new Set(labels.map((label) => labelKey(owner, label))));
});

test('a later migration that fails leaves the database unchanged', async () => {
  const database = await migratedDatabase();
  const client = await connect(database);
  const before = await shape(client);
  const sql = 'alter table read_models.webhooks add column colour text; select 1 / 0';
  const folder = await withOneMore(sql);
  await expect(migrate({ url: database.url, folder })).rejects.toThrow(/division by zero/);
  expect(await shape(client)).toEqual(before);
});

/** The first migrations of the chain that preceded the baselines, with their recorded names. */
const FORMER_CHAIN = ['vault.sql', 'inbox.sql', 'read_models.sql', 'webhook_deliveries.sql'];

test.each([1, 2, 3, 4])('a database with %i migrations of the former chain is rejected', async (count) => {
  const database = await freshDatabase();
  const client = await connect(database);
  await client.query(
    'create schema vault; create table vault.migrations (migration_id integer primary key, name text)',
  );
  const names = FORMER_CHAIN.slice(0, count);
  await client.query(
    'insert into vault.migrations select place, name from unnest($1::text[]) with ordinality as ran (name, place)',
    [names],
  );
  await expect(migrate(database)).rejects.toThrow(
    /made by an unreleased version of Outbox \(its migration 1 is vault\.sql\).* start with an empty database/,
  );
  expect(await tables(client)).toEqual(['vault.migrations']);
});

test('a database created by other migrations is rejected and left unchanged', async () => {
  const database = await migratedDatabase();
  const client = await connect(database);
  await client.query(`update vault.migrations set name = 'webhook_deliveries.sql' where migration_id = 4`);
  await client.query('drop schema limits cascade');
  const refused = migrate(database);
  await expect(refused).rejects.toThrow(StartRefused);
  await expect(refused).rejects.toThrow(/made by an unreleased version of Outbox .* start with an empty database/);
  expect(await tables(client)).not.toContain('limits.counters');
});
