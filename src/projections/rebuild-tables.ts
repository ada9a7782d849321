import { finished } from 'node:stream/promises';
import { from } from 'pg-copy-streams';
import type { Database, ReadModelSchema } from './database.ts';
import type { Projection } from './projection.ts';

const TABLE_OPTIONS = `
  select coalesce(' with (' || array_to_string(reloptions, ', ') || ')', '') as options
  from pg_class where oid = $1::regclass`;

const CONSTRAINTS = `
  select conname as name, pg_get_constraintdef(oid) as definition
  from pg_constraint where conrelid = $1::regclass and contype in ('p', 'u')`;

/** Indexes beside those of constraints. */
const INDEXES = `
  select replace(pg_get_indexdef(i.indexrelid), ' ON read_models.', ' ON ' || $2 || '.') as definition
  from pg_index i
  where i.indrelid = $1::regclass and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`;

/**
 * Creates empty tables like the live ones, without the indexes that only queries need. Deletes the checkpoint first, so
 * that another rebuild cannot switch the tables it replaces.
 */
export const makeTables = async (
  db: Database,
  { name, tables }: Projection,
  schema: ReadModelSchema,
): Promise<void> => {
  await db.query(`delete from ${schema}.checkpoints where name = $1`, [name]);
  for (const table of tables) {
    const live = [`read_models.${table}`];
    const { rows: options } = await db.query<{ options: string }>(TABLE_OPTIONS, live);
    const { rows: constraints } = await db.query<{ name: string; definition: string }>(CONSTRAINTS, live);
    await db.query(`drop table if exists ${schema}.${table}`);
    await db.query(
      `create table ${schema}.${table} (like read_models.${table} including all excluding indexes)${options[0]?.options ?? ''}`,
    );
    for (const constraint of constraints) {
      await db.query(`alter table ${schema}.${table} add constraint "${constraint.name}" ${constraint.definition}`);
    }
  }
  await db.query(`delete from ${schema}.parked_events where projection = $1`, [name]);
};

/** Creates the indexes that queries need, which is much cheaper after the rows are in. */
export const makeIndexes = async (db: Database, { tables }: Projection, schema: ReadModelSchema): Promise<void> => {
  for (const table of tables) {
    const { rows } = await db.query<{ definition: string }>(INDEXES, [`read_models.${table}`, schema]);
    for (const { definition } of rows) await db.query(definition);
    await db.query(`analyze ${schema}.${table}`);
  }
};

/** Keeps the later time of the two if the log is the same. */
const SWITCH_CHECKPOINT = `
  with moved as (delete from read_models_building.checkpoints where name = $1 and position = $2 returning *)
  update read_models.checkpoints c set version = moved.version, log_id = moved.log_id, position = moved.position,
    occurred_at = case when c.log_id = moved.log_id then greatest(c.occurred_at, moved.occurred_at)
      else moved.occurred_at end
  from moved where c.name = moved.name`;

const SWITCH_PARKED = `
  with moved as (delete from read_models_building.parked_events where projection = $1 returning *)
  insert into read_models.parked_events select * from moved`;

/**
 * Views over a table, and the statements that lock one and point it to the table that now has the name. Views are locked
 * before tables, as their readers do. The definition names tables by the search path, which is that of the transaction.
 */
const VIEWS = `
  select distinct format('alter view %s set (security_barrier)', v.oid::regclass) as lock,
    format('create or replace view %s%s as %s', v.oid::regclass,
      ' with (' || array_to_string(v.reloptions, ', ') || ')', pg_get_viewdef(v.oid)) as definition
  from pg_depend d
  join pg_rewrite r on r.oid = d.objid
  join pg_class v on v.oid = r.ev_class
  where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = $1::regclass
    and v.relkind = 'v'`;

/** Replaces a live table, under the views over it. */
const switchTable = async (db: Database, table: string): Promise<void> => {
  const { rows: views } = await db.query<{ lock: string; definition: string }>(VIEWS, [`read_models.${table}`]);
  for (const { lock } of views) await db.query(lock);
  await db.query(`alter table read_models.${table} set schema read_models_replaced`);
  await db.query(`alter table read_models_building.${table} set schema read_models`);
  for (const { definition } of views) await db.query(definition);
  await db.query(`drop table read_models_replaced.${table}`);
};

/**
 * Replaces the live tables by the new ones, in the caller's transaction, which holds the live checkpoint.
 * @returns false: the new tables are not at this position, because another process rebuilds them.
 */
export const switchTables = async (db: Database, { name, tables }: Projection, position: string): Promise<boolean> => {
  const { rowCount } = await db.query(SWITCH_CHECKPOINT, [name, position]);
  if (rowCount === 0) return false;
  for (const table of tables) await switchTable(db, table);
  await db.query('delete from read_models.parked_events where projection = $1', [name]);
  await db.query(SWITCH_PARKED, [name]);
  return true;
};

/** Values of a row: text, numbers, ISO 8601 times, bytes, or JSON as an object. Undefined is null. */
type Row = Readonly<Record<string, unknown>>;

/** Characters with a meaning in COPY (PostgreSQL manual, COPY, "Text Format"). */
const SPECIAL = /[\\\t\n\r]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

const escaped = (text: string): string =>
  SPECIAL.test(text) ? text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? character) : text;

const cell = (value: unknown): string => {
  if (typeof value === 'string') return escaped(value);
  if (value === null || value === undefined) return '\\N';
  if (Buffer.isBuffer(value)) return `\\\\x${value.toString('hex')}`;
  return typeof value === 'object' ? escaped(JSON.stringify(value)) : String(value);
};

/**
 * Inserts rows by COPY, in half the time of an `insert` from JSON. For append-only tables: one bad row fails all.
 * @param columns property of a row, by column.
 */
export const rowsInto = <R extends object>(table: string, columns: Readonly<Record<string, keyof R & string>>) => {
  const text = `copy ${table} (${Object.keys(columns).join(', ')}) from stdin`;
  const keys = Object.values(columns);
  const lineOf = (row: Row): string => `${keys.map((key) => cell(row[key])).join('\t')}\n`;
  return async (db: Database, rows: readonly R[]): Promise<void> => {
    if (rows.length === 0) return;
    const copying = db.query(from(text));
    copying.end(rows.map((row) => lineOf(row as Row)).join(''));
    await finished(copying);
  };
};
