import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import { type Client, escapeIdentifier } from 'pg';
import { from } from 'pg-copy-streams';
import { StartRefused } from '../../lib/async/async.ts';
import { type BackedUpTable, connectForCopy, digesting, type Manifest, readManifest, tablesIn } from './backup.ts';

/**
 * Restores a backup into an empty database, all or nothing. Every file is read and compared with the manifest before
 * the first row is written, and all rows are written in one transaction. Rows are streamed.
 */

const requireIntact = async (
  folder: string,
  { file, bytes, sha256 }: BackedUpTable,
  streams: readonly NodeJS.ReadWriteStream[] = [],
  target: NodeJS.WritableStream = new Writable({ write: (_chunk, _encoding, done) => done() }),
): Promise<void> => {
  const digest = digesting();
  const source = createReadStream(join(folder, file));
  await pipeline([source, digest.pass, ...streams, target]).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new StartRefused(`the backup is incomplete: ${file} is missing`);
    throw error;
  });
  const found = digest.end();
  if (found.bytes !== bytes || found.sha256 !== sha256) {
    throw new StartRefused(`the backup is damaged: ${file} is not what was written. Nothing was restored`);
  }
};

/** The manifest of a backup whose files are all intact. @throws {StartRefused} */
export const readBackup = async (folder: string): Promise<Manifest> => {
  const manifest = await readManifest(folder);
  for (const table of manifest.tables) await requireIntact(folder, table);
  return manifest;
};

/** Assigns events to their partitions, so it is loaded before them. */
const PARTITIONS = 'event_log.partitions';

/**
 * Tables with rows that the schema itself creates, so that a refused start leaves them in an otherwise empty database.
 */
const MADE_WITH_THE_SCHEMA = ['event_log.log', PARTITIONS];

/** @throws {StartRefused} if the database contains data. */
export const requireEmpty = async (databaseUrl: string): Promise<void> => {
  const client = await connectForCopy(databaseUrl);
  try {
    const tables = await tablesIn(client, ['event_log', 'vault', 'read_models']);
    for (const { name } of tables.filter((one) => !MADE_WITH_THE_SCHEMA.includes(one.name))) {
      const { rowCount } = await client.query(`select from ${name} limit 1`);
      if (rowCount === 0) continue;
      throw new StartRefused(`the database is not empty (${name} has rows): restore into a new one`);
    }
  } finally {
    await client.end();
  }
};

/** Makes identity columns continue after the last number. */
const IDENTITIES = `
  select attrelid::regclass::text as table, attname::text as column from pg_attribute
  where attidentity <> '' and attrelid = any($1::regclass[])`;

const load = async (client: Client, folder: string, table: BackedUpTable): Promise<void> => {
  const columns = table.columns.map(escapeIdentifier).join(', ');
  const copy = client.query(from(`copy ${table.table} (${columns}) from stdin`));
  await requireIntact(folder, table, [createZstdDecompress()], copy);
  if (copy.rowCount !== table.rows) {
    throw new StartRefused(`${table.file} holds ${copy.rowCount} rows instead of ${table.rows}: nothing was restored`);
  }
};

const inOrder = (tables: readonly BackedUpTable[]): readonly BackedUpTable[] =>
  tables.toSorted((a, b) => Number(b.table === PARTITIONS) - Number(a.table === PARTITIONS));

const goOnNumbering = async (client: Client, tables: readonly string[]): Promise<void> => {
  const { rows } = await client.query<{ table: string; column: string }>(IDENTITIES, [tables]);
  for (const { table, column } of rows) {
    await client.query(
      `select setval(pg_get_serial_sequence($1, $2), (select coalesce(max(${escapeIdentifier(column)}), 0) + 1 from ${table}), false)`,
      [table, column],
    );
  }
};

export interface Restore {
  readonly databaseUrl: string;
  readonly folder: string;
  readonly manifest: Manifest;
  /** Mail that was accepted before this time is held (`restore-hold.ts`). */
  readonly restoredAt: Date;
  /** @param of number of tables. */
  onTable(table: BackedUpTable, of: number): void;
}

/** Writes a backup into existing empty tables. */
export const restore = async ({ databaseUrl, folder, manifest, restoredAt, onTable }: Restore): Promise<void> => {
  const client = await connectForCopy(databaseUrl);
  try {
    await client.query('begin');
    if (manifest.log.engine === 'postgres') {
      await client.query('delete from event_log.log; delete from event_log.partitions');
    }
    for (const table of inOrder(manifest.tables)) {
      await load(client, folder, table);
      if (table.table === PARTITIONS) await client.query('select event_log.remake_partitions()');
      onTable(table, manifest.tables.length);
    }
    const tables = [...new Set(manifest.tables.map((one) => one.table))];
    await goOnNumbering(client, tables);
    await client.query('insert into vault.restore_hold (restored_at, backup_taken_at) values ($1, $2)', [
      restoredAt,
      manifest.takenAt,
    ]);
    await client.query('commit');
    await client.query(`analyze ${tables.join(', ')}`);
  } finally {
    await client.end(); // rolls back uncommitted rows
  }
};
