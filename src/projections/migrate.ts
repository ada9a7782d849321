import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres, { type Sql } from 'postgres';
import shift from 'postgres-shift';
import { StartRefused } from '../lib/async/async.ts';
import { END_ANALYSES, VIEWS, VIEWS_DIGEST } from './analytics.ts';

/** Session lock held while migrating: a number that no other lock of this service uses. */
const LOCK = 7_310_002;

/** For locks of tables in use. Longer holds up every statement that queues behind; the next start tries again. */
const LOCK_TIMEOUT = '30s';

/**
 * One baseline per schema, `NNNNN_<schema>_baseline.sql`; later changes are new files with the next number, named
 * `NNNNN_<schema>_<what>.sql`. A file that has been released is never changed or renamed: by its name a database says
 * which chain made it. Chains before the first release have other names.
 *
 * The views of the schema `analytics` are of no chain: they are created again when they are missing or have changed. A
 * migration that changes what is under one begins with `drop schema if exists analytics cascade`.
 */
export const MIGRATIONS = join(dirname(fileURLToPath(import.meta.url)), 'migrations');

/**
 * Schemas that may be dropped at any moment: their migrations then run again. A restored copy of the schema `vault`
 * alone is complete, since it also records which migrations ran.
 */
const DERIVED: readonly { readonly schema: string; readonly drops: readonly string[] }[] = [
  { schema: 'inbox', drops: [] },
  { schema: 'limits', drops: [] },
  { schema: 'read_models', drops: ['read_models_building', 'read_models_replaced', 'analytics'] },
];

/** A migration that ran, or a file of one. `name` is the file's name after its number, as postgres-shift records it. */
interface Migration {
  readonly number: number;
  readonly name: string;
}

const migrationOf = (file: string): Migration => ({ number: Number.parseInt(file, 10), name: file.slice(6) });

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((file) => /^\d{5}_/.test(file))
    .sort();

/** Number of the newest migration of this version. */
export const lastMigration = (): number => migrationOf(filesIn(MIGRATIONS).at(-1) ?? '0').number;

const isThere = async (sql: Sql, schema: string): Promise<boolean> => {
  const [row] = await sql<{ there: boolean }[]>`select to_regnamespace(${schema}) is not null as there`;
  return row?.there === true;
};

const migrationsRun = async (sql: Sql): Promise<readonly Migration[]> => {
  const [found] = await sql<{ there: boolean }[]>`select to_regclass('vault.migrations') is not null as there`;
  return found?.there === true ? sql<Migration[]>`select migration_id as number, name from migrations` : [];
};

/** Refuses a database that was made by other migrations than these, of which a newer version may have more. */
const requireSameChain = (ran: readonly Migration[], folder: string): void => {
  const names = new Map(filesIn(folder).map((file) => [migrationOf(file).number, migrationOf(file).name]));
  const other = ran.find(({ number, name }) => names.has(number) && names.get(number)?.replaceAll('-', ' ') !== name);
  if (other === undefined) return;
  throw new StartRefused(
    `this database was made by an unreleased version of Outbox (its migration ${other.number} is ${other.name}), ` +
      'which this version cannot read: start with an empty database',
  );
};

const runAgain = async (
  sql: Sql,
  { schema, drops }: (typeof DERIVED)[number],
  { folder, last }: { readonly folder: string; readonly last: number },
): Promise<void> => {
  const files = filesIn(folder)
    .filter((file) => migrationOf(file).name.startsWith(schema))
    .filter((file) => migrationOf(file).number <= last);
  if (files.length === 0 || (await isThere(sql, schema))) return;
  await sql.begin(async (transaction) => {
    for (const other of drops) await transaction`drop schema if exists ${transaction(other)} cascade`;
    for (const file of files) await transaction.file(join(folder, file));
  });
};

/** Creates the analysts' views again if they are missing or have changed. */
const bringUpViews = async (sql: Sql): Promise<void> => {
  const [found] = await sql<{ description: string | null }[]>`
    select obj_description(to_regnamespace('analytics'), 'pg_namespace') as description`;
  if (found?.description?.endsWith(VIEWS_DIGEST) === true) return;
  await sql.unsafe(END_ANALYSES);
  await sql.begin(async (transaction) => {
    await transaction`drop schema if exists analytics cascade`;
    await transaction.unsafe(VIEWS);
    await transaction.unsafe(`comment on schema analytics is 'Views for analysts: ${VIEWS_DIGEST}'`);
  });
};

const bringUp = async (sql: Sql, folder: string): Promise<void> => {
  await sql`select pg_advisory_lock(${LOCK})`;
  await sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, false)`;
  await sql`create schema if not exists vault`;
  const ran = await migrationsRun(sql);
  requireSameChain(ran, folder);
  const last = Math.max(0, ...ran.map(({ number }) => number));
  for (const derived of DERIVED) await runAgain(sql, derived, { folder, last });
  await shift({ sql, path: folder });
  const newest = Math.max(...filesIn(folder).map((file) => migrationOf(file).number));
  if (last <= newest) await bringUpViews(sql);
};

export interface MigrateOptions {
  readonly url: string;
  /** Folder of the migrations. */
  readonly folder?: string;
}

/**
 * Brings the database up to the newest migration. When several processes start at once, one migrates; the others wait
 * for it and find nothing left to do. A database that a newer version migrated is left as it is.
 * @throws {StartRefused} the database was made by a chain of migrations that is not this one.
 */
export const migrate = async ({ url, folder = MIGRATIONS }: MigrateOptions): Promise<void> => {
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
    await bringUp(sql, folder);
  } finally {
    await sql.end();
  }
};
