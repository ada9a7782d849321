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

let pool: Pool | undefined;

/** Connections of this process that stay open between tests: opening one takes as long as copying a small database. */
const administrators = (): Pool => {
  pool ??= new Pool({ connectionString: urlOf('postgres'), max: 4, allowExitOnIdle: true }).on(
    'error',
    () => undefined,
  );
  return pool;
};

const connectionsTo = async (name: string): Promise<readonly string[]> => {
  const { rows } = await administrators().query<{ application_name: string }>(
    `select application_name from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
    [name],
  );
  return rows.map((row) => row.application_name || 'unnamed');
};

const drop = async (name: string): Promise<void> => {
  let open = await connectionsTo(name);
  for (let waited = 0; open.length > 0 && waited < CLOSING_MS; waited += 20) {
    await sleep(20);
    open = await connectionsTo(name);
  }
  await administrators().query(`drop database if exists ${name} with (force)`);
  if (open.length > 0) throw new Error(`the test left ${open.length} connections open: ${open.join(', ')}`);
};

/** Copying files takes half the processor time of writing them to the log of a server that survives no power cut anyway. */
const create = async (template: string): Promise<TestDatabase> => {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administrators().query(`create database ${name} template ${template} strategy file_copy`);
  return { url: urlOf(name), drop: () => drop(name) };
};

const createTemplate = async (): Promise<void> => {
  const client = new Client({ connectionString: urlOf('postgres') });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const found = await client.query('select 1 from pg_database where datname = $1', [TEMPLATE]);
    if (found.rowCount !== 0) return;
    await client.query(`drop database if exists ${TEMPLATE}_new`);
    await client.query(`create database ${TEMPLATE}_new`);
    await migrate({ url: urlOf(`${TEMPLATE}_new`) });
    await client.query(`alter database ${TEMPLATE}_new rename to ${TEMPLATE}`);
  } finally {
    await client.end();
  }
};

let template: Promise<void> | undefined;

/** Created by the first test file that needs it. The others wait for it. */
const ensureTemplate = (): Promise<void> => {
  template ??= createTemplate().catch((error: unknown) => {
    template = undefined;
    throw error;
  });
  return template;
};

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
