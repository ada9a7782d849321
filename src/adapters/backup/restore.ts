import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import { type Client, escapeIdentifier, type Pool } from 'pg';
import { from } from 'pg-copy-streams';
import type { Message } from '../../domain/message/message.ts';
import { type Logger, StartRefused, type System } from '../../lib/async/async.ts';
import { orUnavailable } from '../../lib/postgres/postgres.ts';
import { type BackedUpTable, connectForCopy, type Manifest, readManifest, tablesIn } from './backup.ts';
import { digesting } from './digest.ts';

/**
 * After a restore we do not know which mail was sent between the backup and the loss: mail that is waiting according to
 * the backup may have been delivered. Such mail is held until the operator releases it. Mail accepted after the restore
 * is sent as usual, and so is mail scheduled for after the restore, which cannot have been sent before.
 */

interface RestoreHold {
  holds(message: Message): boolean;
  close(): Promise<void>;
}

const READ = 'select restored_at as "restoredAt" from vault.restore_hold where released_at is null';
const RELEASE = 'update vault.restore_hold set released_at = now() where released_at is null returning restored_at';

/** How late a release is noticed. Each look is a query of one row, while mail is held. */
const LOOK_EVERY_MS = 2_000;

/** Time of the restore, if its mail is held. */
export const heldSince = async (pool: Pool): Promise<Date | undefined> => {
  const { rows } = await orUnavailable(pool.query<{ restoredAt: Date }>(READ));
  return rows[0]?.restoredAt;
};

/** @returns false if no mail was held. */
export const releaseRestored = async (pool: Pool): Promise<boolean> =>
  ((await orUnavailable(pool.query(RELEASE))).rowCount ?? 0) > 0;

/** Read once: a restore needs a stopped service, so a hold never begins while a service runs. */
export const openRestoreHold = async (
  pool: Pool,
  system: Pick<System, 'sleep'>,
  logger: Logger,
): Promise<RestoreHold> => {
  const restoredAt = await heldSince(pool);
  let held = restoredAt?.toISOString();
  const closing = new AbortController();

  const watch = async (): Promise<void> => {
    while (held !== undefined && !closing.signal.aborted) {
      await system.sleep(LOOK_EVERY_MS, closing.signal).catch(() => undefined);
      const since = await heldSince(pool).catch(() => restoredAt); // retried later
      if (since === undefined) held = undefined;
    }
    if (!closing.signal.aborted) logger.info({}, 'released the mail held since the restore');
  };

  if (held !== undefined) {
    const told = 'mail accepted before the restore is held: run `outbox restore --release` to send it';
    logger.warn({ restoredAt: held }, told);
  }
  const watching = held === undefined ? undefined : watch();

  return {
    holds: (message) =>
      held !== undefined &&
      message.status !== 'absent' &&
      message.environment === 'live' &&
      message.acceptedAt <= held &&
      (message.schedule?.current ?? '') <= held,
    close: async () => {
      closing.abort();
      await watching;
    },
  };
};

/**
 * Restores a backup into an empty database, all or nothing. Every file is read and compared with the manifest before
 * the first row is written, and all rows are written in one transaction. Rows are streamed.
 */

const requireIntact = async (
  folder: string,
  { file, bytes, sha256 }: Pick<BackedUpTable, 'file' | 'bytes' | 'sha256'>,
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
    throw new StartRefused(`nothing was restored: the backup is damaged (${file} does not match its checksum)`);
  }
};

/** The manifest of a backup whose files are all intact. @throws {StartRefused} */
export const readBackup = async (folder: string): Promise<Manifest> => {
  const manifest = await readManifest(folder);
  for (const file of [...manifest.tables, ...(manifest.log.files ?? [])]) await requireIntact(folder, file);
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
    throw new StartRefused(`nothing was restored: ${table.file} has ${copy.rowCount} rows instead of ${table.rows}`);
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

interface Restore {
  readonly databaseUrl: string;
  readonly folder: string;
  readonly manifest: Manifest;
  /** Mail that was accepted before this time is held (`openRestoreHold`). */
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
