import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Pool } from 'pg';
import { inject } from 'vitest';
import { migrate } from '../../src/projections/migrate.ts';

export interface TestDatabase {
  readonly url: string;
  /** Removes the database. Fails if the test left a connection open. */
  drop(): Promise<void>;
}

const TEMPLATE = 'outbox_template';
const TEMPLATE_LOCK = 42;
/** Time for PostgreSQL to notice a closed connection. */
const CLOSING_MS = 3_000;

const urlOf = (database: string): string => Object.assign(new URL(inject('postgresUrl')), { pathname: database }).href;

const withAdministrator = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString: urlOf('postgres') });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

const connectionsTo = async (client: Client, name: string): Promise<readonly string[]> => {
  const { rows } = await client.query<{ application_name: string }>(
    `select application_name from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
    [name],
  );
  return rows.map((row) => row.application_name || 'unnamed');
};

const drop = (name: string): Promise<void> =>
  withAdministrator(async (client) => {
    let open = await connectionsTo(client, name);
    for (let waited = 0; open.length > 0 && waited < CLOSING_MS; waited += 20) {
      await sleep(20);
      open = await connectionsTo(client, name);
    }
    await client.query(`drop database if exists ${name} with (force)`);
    if (open.length > 0) throw new Error(`the test left ${open.length} connections open: ${open.join(', ')}`);
  });

const create = async (template: string): Promise<TestDatabase> => {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await withAdministrator((client) => client.query(`create database ${name} template ${template}`));
  return { url: urlOf(name), drop: () => drop(name) };
};

/** Created by the first test file that needs it. The others wait for it. */
const ensureTemplate = (): Promise<void> =>
  withAdministrator(async (client) => {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const found = await client.query('select 1 from pg_database where datname = $1', [TEMPLATE]);
    if (found.rowCount !== 0) return;
    await client.query(`drop database if exists ${TEMPLATE}_new`);
    await client.query(`create database ${TEMPLATE}_new`);
    await migrate({ url: urlOf(`${TEMPLATE}_new`) });
    await client.query(`alter database ${TEMPLATE}_new rename to ${TEMPLATE}`);
  });

/** A new, empty database on the run's server. */
export const freshDatabase = (): Promise<TestDatabase> => create('template1');

/** A new database with all migrations applied and no rows. */
export const migratedDatabase = async (): Promise<TestDatabase> => {
  await ensureTemplate();
  return create(TEMPLATE);
};

/** A pool on a new, migrated database. */
export const openMigratedPool = async (): Promise<{ readonly pool: Pool; close(): Promise<void> }> => {
  const database = await migratedDatabase();
  const pool = new Pool({ connectionString: database.url, max: 4 });
  return {
    pool,
    close: async () => {
      await pool.end();
      await database.drop();
    },
  };
};
