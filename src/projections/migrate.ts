import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres, { type Sql } from 'postgres';
import shift from 'postgres-shift';

/** Session lock of whoever migrates: a number that nothing else of this service locks by. */
const LOCK = 7_310_002;

/** For locks of tables that are in use: waiting longer holds up everybody behind; the next start tries again. */
const LOCK_TIMEOUT = '30s';

const FOLDER = join(dirname(fileURLToPath(import.meta.url)), 'migrations');

/**
 * Schemas that may be dropped at any moment, since they are made again: their migrations (`NNNNN_<schema>….sql`) then
 * run again. A restored copy of the schema `vault` alone is complete, for it also keeps which migrations ran.
 */
const DERIVED: readonly { readonly schema: string; readonly drops: readonly string[] }[] = [
  { schema: 'inbox', drops: [] },
  { schema: 'limits', drops: [] },
  { schema: 'read_models', drops: ['read_models_building'] },
];

const numberOf = (file: string): number => Number.parseInt(file, 10);

const isThere = async (sql: Sql, schema: string): Promise<boolean> => {
  const [row] = await sql<{ there: boolean }[]>`select to_regnamespace(${schema}) is not null as there`;
  return row?.there === true;
};

const lastMigration = async (sql: Sql): Promise<number> => {
  const [found] = await sql<{ there: boolean }[]>`select to_regclass('vault.migrations') is not null as there`;
  if (found?.there !== true) return 0;
  const [row] = await sql<{ last: number | null }[]>`select max(migration_id) as last from migrations`;
  return row?.last ?? 0;
};

const runAgain = async (sql: Sql, { schema, drops }: (typeof DERIVED)[number], last: number): Promise<void> => {
  const isOfSchema = (file: string): boolean => /^\d{5}_/.test(file) && file.slice(6).startsWith(schema);
  const files = readdirSync(FOLDER).filter((file) => isOfSchema(file) && numberOf(file) <= last);
  if (files.length === 0 || (await isThere(sql, schema))) return;
  await sql.begin(async (transaction) => {
    for (const other of drops) await transaction`drop schema if exists ${transaction(other)} cascade`;
    for (const file of files.sort()) await transaction.file(join(FOLDER, file));
  });
};

const bringUp = async (sql: Sql): Promise<void> => {
  await sql`select pg_advisory_lock(${LOCK})`;
  await sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, false)`;
  await sql`create schema if not exists vault`;
  const last = await lastMigration(sql);
  for (const derived of DERIVED) await runAgain(sql, derived, last);
  await shift({ sql, path: FOLDER });
};

/**
 * Brings the database up to the newest migration. Of several processes that start at once one works, and the others
 * wait for it and find nothing left to do. A database that is newer than this process is left as it is.
 */
export const migrate = async ({ url }: { readonly url: string }): Promise<void> => {
  const sql = postgres(url, {
    // The lock belongs to one session.
    max: 1,
    onnotice: () => undefined,
    connection: {
      application_name: 'outbox migrate',
      search_path: 'vault',
      default_transaction_isolation: 'read committed',
    },
  });
  try {
    await bringUp(sql);
  } finally {
    await sql.end();
  }
};
