import { reencrypt } from '../adapters/secrets/reencrypt.ts';
import { copyLog } from '../composition/copy-log.ts';
import { openEventStore } from '../composition/open-engines.ts';
import type { Operator } from '../composition/open-operator.ts';
import type { Config } from '../config.ts';
import { ADVISORY_LOCKS, takeSessionLock } from '../lib/postgres/postgres.ts';
import { type Invocation, type OperatorCommand, optional, required } from './command.ts';
import { countReads } from './count-reads.ts';
import { CommandFailed, UsageError } from './failures.ts';

export const reencryptCommand: OperatorCommand = {
  name: 'secrets reencrypt',
  usage: '',
  summary:
    'encrypts stored data under the current SECRET_KEY, also while the service runs; resumes after an interruption',
  run: async ({ pool, system, secretKeys }, _, { encryptContents: encryptsContents }, terminal) => {
    const bar = terminal.progress('reencrypt');
    const { reencrypted, unreadable } = await reencrypt({
      pool,
      system,
      secretKeys,
      encryptsContents,
      onProgress: ({ table, rows, ofAbout }) => bar.at(rows, ofAbout, `rows of vault.${table}`),
    }).finally(bar.end);
    const next =
      unreadable.length > 0
        ? 'set the key that these rows were encrypted under as PREVIOUS_SECRET_KEY, and run this again'
        : 'PREVIOUS_SECRET_KEY is no longer needed';
    return { reencrypted, unreadable, next };
  },
  exitCode: (result) =>
    'unreadable' in result && Array.isArray(result.unreadable) && result.unreadable.length > 0 ? 1 : 0,
};

const DATABASE = 'database';

const eventStoreUrlOf = (place: string): string | undefined => {
  if (place === DATABASE) return undefined;
  if (/^(esdb|kurrentdb)(\+discover)?:\/\//.test(place)) return place;
  throw new UsageError(`'${place}' is not a log: give esdb://… or \`${DATABASE}\` (the log in PostgreSQL)`);
};

export const copyLogCommand: OperatorCommand = {
  name: 'log copy',
  usage: `--to esdb://…|${DATABASE} [--from esdb://…|${DATABASE}]`,
  summary: 'copies the log to another engine; the next start rebuilds the read models from it',
  takesOtherLog: true,
  run: async ({ context, databaseUrl, system, logger, pool }, invocation, config, terminal) => {
    const from = optional(invocation, 'from');
    const fromUrl = from === undefined ? config.eventStoreUrl : eventStoreUrlOf(from);
    const toUrl = eventStoreUrlOf(required(invocation, 'to'));
    if (fromUrl === toUrl) throw new UsageError('--to is the current log');
    const lock = await takeSessionLock(databaseUrl, ADVISORY_LOCKS.log, 'alone');
    if (lock === null) throw new UsageError('a service is running on this database: stop it first');
    const parts = { databaseUrl, system, logger, contents: context.contents };
    const source = await openEventStore(fromUrl, parts);
    const target = await openEventStore(toUrl, parts);
    const bar = terminal.progress('copy');
    try {
      const counted = await countReads(source, bar);
      const copied = await copyLog({ source: counted, target, targetKeepsOrder: toUrl !== undefined, pool });
      const next =
        toUrl === undefined
          ? 'start the service without EVENTSTORE_URL'
          : `start the service with EVENTSTORE_URL=${toUrl}`;
      return { events: copied.events, log_id: copied.logId, next };
    } finally {
      bar.end();
      await target.close();
      await source.close();
      await lock.release();
    }
  },
};

const PARTITIONS = `
  select name, first, last, detached_at,
    pg_total_relation_size(to_regclass(format('event_log%s.%I', case when detached_at is null then '' else '_archive' end, name))) as bytes
  from event_log.partitions order by event_log.partitions.first`;

const requireOwnLog = ({ eventStoreUrl }: Config): void => {
  if (eventStoreUrl !== undefined)
    throw new CommandFailed('the log is in EventStoreDB: partitions are of the log in PostgreSQL');
};

export const listPartitionsCommand: OperatorCommand = {
  name: 'log partitions',
  usage: '',
  summary: 'lists the partitions of the log in PostgreSQL, by position',
  run: async ({ pool }, _, config) => {
    requireOwnLog(config);
    return (await pool.query<Record<string, unknown>>(PARTITIONS)).rows;
  },
};

/** Number of positions that a follower has not read yet. */
const UNREAD = `
  select min(position) as position from (
    select position from read_models.checkpoints union all select position from vault.webhook_recording
  ) c`;

const LOCK_NOT_AVAILABLE = '55P03';
const RAISED = 'P0001';

const partitionIn = ({ positionals }: Invocation, word: string): string => {
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new UsageError(`Usage: log ${word} <partition>`);
  return name;
};

const movePartition = async ({ pool }: Operator, word: 'attach' | 'detach', name: string): Promise<void> => {
  try {
    await pool.query(`select event_log.${word}_partition($1)`, [name]);
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    if (code === RAISED) throw new CommandFailed(message);
    if (code === LOCK_NOT_AVAILABLE)
      throw new CommandFailed('the log is in use by a long query or a backup: try again');
    throw error;
  }
};

export const detachPartitionCommand: OperatorCommand = {
  name: 'log detach',
  usage: '<partition>',
  summary: 'takes a full partition out of the log, into the schema event_log_archive, to be dumped and dropped',
  run: async (operator, invocation, config) => {
    requireOwnLog(config);
    const name = partitionIn(invocation, 'detach');
    const { rows } = await operator.pool.query<{ last: string }>(
      `select lpad(least(last, event_log.head())::text, 16, '0') as last from event_log.partitions where name = $1`,
      [name],
    );
    const unread = (await operator.pool.query<{ position: string | null }>(UNREAD)).rows[0]?.position ?? '';
    if (unread < (rows[0]?.last ?? '')) {
      throw new CommandFailed('read models or webhooks still have to read it: `npm run outbox -- projections list`');
    }
    await movePartition(operator, 'detach', name);
    return { detached: name, table: `event_log_archive.${name}`, next: 'dump this table, then drop it' };
  },
};

export const attachPartitionCommand: OperatorCommand = {
  name: 'log attach',
  usage: '<partition>',
  summary: 'puts a detached partition back from the schema event_log_archive, if it is whole',
  run: async (operator, invocation, config) => {
    requireOwnLog(config);
    const name = partitionIn(invocation, 'attach');
    await movePartition(operator, 'attach', name);
    return { attached: name };
  },
};
