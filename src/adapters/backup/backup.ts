import { createWriteStream } from 'node:fs';
import { copyFile, link, mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress } from 'node:zlib';
import { Client } from 'pg';
import { to } from 'pg-copy-streams';
import { z } from 'zod';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import { StartRefused, type System } from '../../lib/async/async.ts';
import { CANARY, createSecretBox, type SecretKeys } from '../secrets/postgres.ts';
import { digesting } from './digest.ts';
import { endOf, type LogFile, logFileSchema, writeLogFile } from './log-files.ts';

/**
 * A backup is a folder: a file for each table of the log and the vault, in `COPY` format, compressed (zstd), and
 * `manifest.json`, written last. All tables are read in one repeatable-read transaction: events and contents appended
 * together are in the backup together, even while services run. Rows are streamed; memory does not grow with the
 * database.
 *
 * A full partition of the log never changes. A backup that follows an earlier one reuses its file.
 *
 * A log in another engine is read up to a position first (`log-files.ts`), and the vault after it: contents are stored before the
 * events that name them, so a vault that is younger than the log has all contents.
 */

const MANIFEST = 'manifest.json';
const FORMAT = 1;
const CHECK_TEXT = 'the key is right';

const tableSchema = z.object({
  /** Name with its schema. For a partition, the parent's name. */
  table: z.string().regex(/^[a-z_]+\.[a-z_]+$/),
  file: z.string().regex(/^[a-z0-9_.]+$/),
  columns: z.array(z.string().regex(/^[a-z_][a-z0-9_]*$/)).min(1),
  rows: z.int(),
  /** Size of the compressed file. */
  bytes: z.int(),
  sha256: z.string(),
  /** For a full partition of the log: no other history has this event at its end. */
  lastEventId: z.uuid().optional(),
});

const manifestSchema = z.object({
  format: z.literal(FORMAT),
  /** Versions of this program and of the server, and the number of the last migration. */
  outbox: z.string(),
  postgres: z.string(),
  migration: z.int(),
  takenAt: z.iso.datetime(),
  log: z.object({
    engine: z.enum(['postgres', 'eventstoredb']),
    id: z.string(),
    /** Position of the last event that the backup covers. */
    position: z.string(),
    /** Position up to which events were recorded for webhooks. Absent: none, or the backup is older than this field. */
    recorded: z.string().optional(),
    /** Files of a log outside the database. Absent: the log is in the tables, or has a backup of its own. */
    files: z.array(logFileSchema).optional(),
  }),
  /** A sentence sealed under `SECRET_KEY`. It opens only under the same key, and reveals nothing about it. */
  secretKeyCheck: z.string(),
  tables: z.array(tableSchema),
});

export type Manifest = z.infer<typeof manifestSchema>;
export type BackedUpTable = Manifest['tables'][number];

/** @throws {StartRefused} if the folder does not contain a complete backup. */
export const readManifest = async (folder: string): Promise<Manifest> => {
  const text = await readFile(join(folder, MANIFEST), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new StartRefused(`${folder} is not a complete backup: ${MANIFEST}: ${error.code}`);
  });
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch {
    throw new StartRefused(`${join(folder, MANIFEST)} is damaged, or was written by a newer version`);
  }
};

/** @throws {WrongSecretKey} if the backup was made under another key. */
export const requireSameKey = ({ secretKeyCheck }: Manifest, keys: SecretKeys, system: System): void => {
  createSecretBox(keys, 'vault.secrets', system).open(CANARY, Buffer.from(secretKeyCheck, 'base64'));
};

/** A connection without time limits: a table may take hours. */
export const connectForCopy = async (url: string): Promise<Client> => {
  const client = new Client({ connectionString: url, application_name: 'outbox backup', keepAlive: true });
  client.on('error', () => undefined); // reported by the query that it breaks
  await client.connect();
  await client.query(`set statement_timeout = 0; set lock_timeout = '30s'; set datestyle = iso; set timezone = utc`);
  return client;
};

/** Not backed up: migrations that ran belong to the database, and a hold belongs to the restored service. */
const LEFT_OUT = ['vault.migrations', 'vault.restore_hold'];

/** Tables that have rows, partitions included. `target` is the table that a restore writes to. */
const TABLES = `
  select format('%I.%I', n.nspname, c.relname) as name,
    format('%I.%I', n.nspname, coalesce(p.relname, c.relname)) as target,
    array_agg(a.attname::text order by a.attnum) as columns
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  left join pg_inherits i on i.inhrelid = c.oid
  left join pg_class p on p.oid = i.inhparent
  where n.nspname = any($1) and c.relkind = 'r'
  group by n.nspname, c.relname, p.relname order by 1`;

interface Table {
  readonly name: string;
  readonly target: string;
  readonly columns: readonly string[];
}

export const tablesIn = async (client: Client, schemas: readonly string[]): Promise<readonly Table[]> => {
  const { rows } = await client.query<Table>(TABLES, [schemas]);
  return rows.filter(({ name }) => !LEFT_OUT.includes(name));
};

const FACTS = `
  select now() as taken_at, current_setting('server_version') as postgres,
    (select max(migration_id) from vault.migrations) as migration`;
const OWN_LOG = `
  select id::text, lpad(event_log.head()::text, 16, '0') as position
  from event_log.log`;

const writeTable = async (client: Client, { name, target, columns }: Table, folder: string): Promise<BackedUpTable> => {
  const file = `${name}.copy.zst`;
  const rows = client.query(to(`copy ${name} (${columns.join(', ')}) to stdout`));
  const digest = digesting();
  const written = createWriteStream(join(folder, file), { flags: 'wx', mode: 0o600, flush: true });
  await pipeline(rows, createZstdCompress(), digest.pass, written);
  return { table: target, file, columns: [...columns], rows: rows.rowCount, ...digest.end() };
};

const FULL_PARTITIONS = `
  select 'event_log.' || p.name as name, e.id::text as "lastEventId"
  from event_log.partitions p join event_log.events e on e.position = p.last
  where p.detached_at is null`;

/** Full partitions by name, with the id of their last event. */
const fullPartitions = async (client: Client): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await client.query<{ name: string; lastEventId: string }>(FULL_PARTITIONS);
  return new Map(rows.map(({ name, lastEventId }) => [name, lastEventId]));
};

/** Links a file into both backups, or copies it to another disk. @throws {StartRefused} if it is missing or damaged. */
const takeOver = async (
  earlier: string,
  { file, bytes }: Pick<BackedUpTable, 'file' | 'bytes'>,
  folder: string,
): Promise<void> => {
  const source = join(earlier, file);
  const found = await stat(source).catch(() => null);
  if (found?.size !== bytes) {
    throw new StartRefused(`${source} is ${found === null ? 'missing' : 'damaged'}: make a backup without --after`);
  }
  const target = join(folder, file);
  await link(source, target).catch(() => copyFile(source, target));
};

const writeManifest = async (folder: string, manifest: Manifest): Promise<void> => {
  const file = await open(join(folder, MANIFEST), 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(manifest, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
};

export interface BackUp {
  readonly databaseUrl: string;
  /** Folder to create. Must not exist. */
  readonly folder: string;
  readonly secretKeys: SecretKeys;
  readonly system: System;
  /** Version of this program. */
  readonly version: string;
  /** Folder of an earlier backup, whose files of full partitions are reused. */
  readonly after?: string | undefined;
  /** A log outside the database, up to a position. Absent: the log is in this database. */
  readonly elsewhere?: LogElsewhere | undefined;
  /** @param of number of tables. */
  onTable(table: BackedUpTable, of: number): void;
}

interface LogElsewhere {
  readonly id: string;
  readonly position: string;
  /** Absent: it has a backup of its own. */
  readonly log?: Pick<EventStore, 'readAll'> | undefined;
  onEvents(events: number): void;
}

/** The log's files, with those of an earlier backup of the same log. */
const writeLog = async ({ folder, after, elsewhere }: BackUp): Promise<readonly LogFile[] | undefined> => {
  if (elsewhere?.log === undefined) return undefined;
  const { id, position, log, onEvents } = elsewhere;
  const earlier = after === undefined ? undefined : (await readManifest(after)).log;
  const kept = earlier?.id === id ? (earlier.files ?? []) : [];
  for (const file of kept) await takeOver(after ?? '', file, folder);
  const from = endOf(kept);
  return [...kept, await writeLogFile({ log, folder, number: kept.length + 1, from, to: position, onEvents })];
};

const RECORDED = 'select position from vault.webhook_recording';

const writeTables = async (
  client: Client,
  tables: readonly Table[],
  { folder, after, elsewhere, onTable }: BackUp,
): Promise<BackedUpTable[]> => {
  const earlier = after === undefined ? [] : (await readManifest(after)).tables;
  const full = elsewhere === undefined ? await fullPartitions(client) : new Map<string, string>();
  const written: BackedUpTable[] = [];
  for (const table of tables) {
    const lastEventId = full.get(table.name);
    const kept = earlier.find((one) => lastEventId !== undefined && one.lastEventId === lastEventId);
    if (kept !== undefined) await takeOver(after ?? '', kept, folder);
    const one = kept ?? { ...(await writeTable(client, table, folder)), lastEventId };
    onTable(one, tables.length);
    written.push(one);
  }
  return written;
};

const writeAll = async (options: BackUp, client: Client): Promise<Manifest> => {
  const { folder, secretKeys, system, version, elsewhere } = options;
  const files = await writeLog(options);
  await client.query('begin transaction isolation level repeatable read, read only');
  const tables = await tablesIn(client, elsewhere === undefined ? ['event_log', 'vault'] : ['vault']);
  await client.query(`lock table ${tables.map(({ name }) => name).join(', ')} in access share mode`);
  const facts = (await client.query<{ taken_at: Date; postgres: string; migration: number }>(FACTS)).rows[0];
  const own = elsewhere ?? (await client.query<{ id: string; position: string }>(OWN_LOG)).rows[0];
  if (facts === undefined || own === undefined) throw new StartRefused('this database has no log');
  const written = await writeTables(client, tables, options);
  const recorded = (await client.query<{ position: string }>(RECORDED)).rows[0]?.position;
  await client.query('commit');
  const check = createSecretBox(secretKeys, 'vault.secrets', system).seal(CANARY, CHECK_TEXT);
  const manifest: Manifest = {
    format: FORMAT,
    outbox: version,
    postgres: facts.postgres,
    migration: facts.migration,
    takenAt: facts.taken_at.toISOString(),
    log: {
      engine: elsewhere === undefined ? 'postgres' : 'eventstoredb',
      id: own.id,
      position: own.position,
      ...(recorded === undefined ? {} : { recorded }),
      ...(files === undefined ? {} : { files: [...files] }),
    },
    secretKeyCheck: check.toString('base64'),
    tables: written,
  };
  await writeManifest(folder, manifest);
  return manifest;
};

/** Backs up the log and the vault, also while services run. A failed backup leaves no folder. @throws {StartRefused} */
export const backUp = async (options: BackUp): Promise<Manifest> => {
  const { folder, databaseUrl } = options;
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'EEXIST' ? 'it already exists: name a new folder' : error.message;
    throw new StartRefused(`cannot create ${folder}: ${why}`);
  });
  const client = await connectForCopy(databaseUrl);
  try {
    return await writeAll(options, client);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  } finally {
    await client.end();
  }
};
