import { type BackedUpTable, backUp, type Manifest, requireSameKey } from '../adapters/backup/backup.ts';
import { readLogFiles } from '../adapters/backup/log-files.ts';
import { readBackup, releaseRestored, requireEmpty, restore } from '../adapters/backup/restore.ts';
import { createPostgresContents } from '../adapters/contents/postgres.ts';
import { createLogger, createSystem } from '../adapters/system.ts';
import { resetRecording, restoreLog, resumeRecording } from '../composition/copy-log.ts';
import { version } from '../composition/instances.ts';
import { type Closers, createClosers } from '../composition/lifecycle.ts';
import { openDatabase, openEventStore } from '../composition/open-engines.ts';
import { noteBackup, openOperator } from '../composition/open-operator.ts';
import { type Config, readConfig } from '../config.ts';
import { eventCodec } from '../domain/kernel/codec.ts';
import type { EventStore } from '../domain/kernel/event-store.ts';
import { WrongSecretKey } from '../domain/ports/secrets.ts';
import { ADVISORY_LOCKS, createPool, takeSessionLock } from '../lib/postgres/postgres.ts';
import { lastMigration, migrate } from '../projections/migrate.ts';
import { type Invocation, type OperatorCommand, optional, type PlainCommand, type Result } from './command.ts';
import { CommandFailed, type Progress, UsageError } from './terminal.ts';

/** Shows progress in table rows as they are written or read. */
const countTables = (bar: Progress) => {
  let done = 0;
  return ({ file }: BackedUpTable, of: number): void => {
    done += 1;
    bar.at(done, of, `tables, last ${file}`);
  };
};

const folderOf = ({ positionals }: Invocation, usage: string): string => {
  const [folder, ...more] = positionals;
  if (folder === undefined || more.length > 0) throw new UsageError(`Usage: ${usage}`);
  return folder;
};

const summaryOf = ({ log, takenAt, tables }: Manifest): Record<string, unknown> => ({
  taken_at: takenAt,
  log_id: log.id,
  position: log.position,
  rows: tables.reduce((sum, { rows }) => sum + rows, 0),
  bytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
});

const SEPARATE_LOG =
  'this backup contains only the vault. Keep it with an EventStoreDB backup that was made before it: together they cover the log up to this position';

export const backupCommand: OperatorCommand = {
  name: 'backup',
  usage: '<new folder> [--after FOLDER] [--without-log]',
  summary:
    'backs up the log and the vault, even while the service runs, but not SECRET_KEY; --after reuses files of an earlier backup that never change; --without-log leaves out a log in EventStoreDB',
  run: async ({ databaseUrl, secretKeys, system, log, context }, invocation, { eventStoreUrl }, terminal) => {
    const folder = folderOf(invocation, 'backup <new folder> [--after FOLDER] [--without-log]');
    const isWithout = invocation.values['without-log'] === true;
    const bar = terminal.progress('backup');
    const separate = async () => {
      const position = await log.head();
      const onEvents = (events: number): void => bar.at(events, undefined, 'events of the log');
      return { id: await log.logId(), position, log: isWithout ? undefined : log, onEvents };
    };
    const elsewhere = eventStoreUrl === undefined ? undefined : await separate();
    const after = optional(invocation, 'after');
    const parts = { databaseUrl, folder, after, secretKeys, system, version: await version(), elsewhere };
    const manifest = await backUp({ ...parts, onTable: countTables(bar) }).finally(bar.end);
    await noteBackup(context.secrets, system.now());
    const next = 'store SECRET_KEY separately (with the built-in database: the file secret-key in DATA_DIR)';
    return {
      folder,
      ...summaryOf(manifest),
      next: elsewhere !== undefined && isWithout ? `${SEPARATE_LOG}; ${next}` : next,
    };
  },
};

const requireKey = (manifest: Manifest, keys: Parameters<typeof requireSameKey>[1]): void => {
  try {
    requireSameKey(manifest, keys, createSystem());
  } catch (error) {
    if (!(error instanceof WrongSecretKey)) throw error;
    throw new CommandFailed(
      'nothing was restored: the backup was made with a different SECRET_KEY. Set that SECRET_KEY (with the built-in database: the content of the file secret-key)',
    );
  }
};

const requireSameVersion = ({ migration, outbox }: Manifest): void => {
  if (migration === lastMigration()) return;
  throw new CommandFailed(
    `nothing was restored: the backup was made by Outbox ${outbox} (migration ${migration}), but this version has migration ${lastMigration()}. Restore it with Outbox ${outbox}, then upgrade`,
  );
};

const requireSameEngine = ({ log }: Manifest, { eventStoreUrl }: Config): void => {
  if ((log.engine === 'eventstoredb') === (eventStoreUrl !== undefined)) return;
  throw new CommandFailed(
    log.engine === 'eventstoredb'
      ? 'nothing was restored: the log of this backup is in EventStoreDB. Set EVENTSTORE_URL to an empty EventStoreDB, or to one that was restored from a backup of its own'
      : 'nothing was restored: the log of this backup is in PostgreSQL. Unset EVENTSTORE_URL',
  );
};

const NEXT = [
  'start the service: it rebuilds the read models from the log',
  'mail accepted before the restore is held: read "Restoring a backup" in docs/operations.md, then run `outbox restore --release`',
];
const NEWER_LOG =
  'the log is newer than the backup of the vault: messages accepted after that backup have lost their contents and will fail';

/**
 * Restores the log from the files of the backup, before the vault: repeated after an interruption, it continues.
 * @returns null: the log is in the tables of the backup, or its engine was restored already.
 */
const restoreOwnLog = async (target: EventStore, folder: string, { log }: Manifest) => {
  const logId = await target.logId();
  if (log.engine === 'postgres' || logId === log.id) return null;
  if (log.files === undefined)
    throw new CommandFailed(`EVENTSTORE_URL points to log ${logId}, but the backup belongs to log ${log.id}`);
  const position = await restoreLog({ target, pages: readLogFiles(folder, log.files), recorded: log.recorded });
  return { logId, position };
};

const restoreInto = async (folder: string, config: Config, closers: Closers, bar: Progress): Promise<Result> => {
  const manifest = await readBackup(folder);
  requireSameVersion(manifest);
  requireSameEngine(manifest, config);
  const system = createSystem();
  const logger = createLogger({ level: 'warn' });
  const { url: databaseUrl, secretKeys } = await openDatabase({ config, system, logger, closers, owner: false });
  requireKey(manifest, secretKeys);
  const lock = await takeSessionLock(databaseUrl, ADVISORY_LOCKS.log, 'alone');
  if (lock === null)
    throw new CommandFailed('a service is running on this database: stop it, and restore into a new database');
  closers.add('log lock', lock.release);
  await requireEmpty(databaseUrl);
  await migrate({ url: databaseUrl });
  const pool = createPool({ url: databaseUrl, name: 'restore', logger });
  closers.add('database pool', () => pool.end());
  const open = () =>
    openEventStore(config.eventStoreUrl, {
      databaseUrl,
      codec: eventCodec, // only reads
      system,
      logger,
      contents: createPostgresContents({ pool }),
    });
  // Creates the log's tables, or proves that this EventStoreDB holds the log.
  const before = await open();
  const restored = await restoreOwnLog(before, folder, manifest).finally(before.close);
  await restore({ databaseUrl, folder, manifest, restoredAt: system.now(), onTable: countTables(bar) }).finally(
    bar.end,
  );
  const log = await open();
  closers.add('log', log.close);
  if (restored !== null) {
    await resumeRecording(pool, restored);
    return { ...summaryOf(manifest), log_id: restored.logId, next: NEXT };
  }
  await resetRecording({ pool, log });
  const isNewer = (await log.head()) > manifest.log.position;
  return { ...summaryOf(manifest), next: isNewer ? [NEWER_LOG, ...NEXT] : NEXT };
};

const release = async (config: Config): Promise<Result> => {
  const operator = await openOperator(config);
  try {
    const released = await releaseRestored(operator.pool);
    return { released, next: released ? 'held mail is sent within two minutes' : 'no mail was held' };
  } finally {
    await operator.close();
  }
};

export const restoreCommand: PlainCommand = {
  name: 'restore',
  usage: '<folder> | --release',
  summary: 'restores a backup into an empty database; --release sends the mail held since the restore',
  needs: 'nothing',
  run: async (invocation, terminal) => {
    const config = readConfig(process.env);
    if (invocation.values.release === true) return release(config);
    const folder = folderOf(invocation, 'restore <folder> | --release');
    const closers = createClosers(createLogger({ level: 'warn' }));
    try {
      return await restoreInto(folder, config, closers, terminal.progress('restore'));
    } finally {
      await closers.closeAll();
    }
  },
};
