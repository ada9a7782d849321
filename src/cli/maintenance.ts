import { reencrypt } from '../adapters/secrets/reencrypt.ts';
import { copyLog, resetRecording } from '../composition/copy-log.ts';
import { openEventStore } from '../composition/open-engines.ts';
import type { Operator } from '../composition/open-operator.ts';
import type { Config } from '../config.ts';
import { type EventStore, LOG_START } from '../domain/kernel/event-store.ts';
import { StartRefused } from '../lib/async/async.ts';
import { ADVISORY_LOCKS, createPool, type SessionLock, takeSessionLock } from '../lib/postgres/postgres.ts';
import { PROJECTIONS } from '../projections/all.ts';
import type { Projection } from '../projections/projection.ts';
import { createReadModels } from '../projections/read-models.ts';
import { retryParked } from '../projections/retry-parked.ts';
import { RUNNER_CONNECTIONS, rebuild, requireSameLog } from '../projections/runner.ts';
import { type Invocation, type OperatorCommand, optional, required } from './command.ts';
import { CommandFailed, type Progress, UsageError } from './terminal.ts';

/** Log positions in PostgreSQL, which count the events. */
const COUNTS = /^\d{16}$/;

/**
 * Reports progress while the log is read, from the first position asked for to the end. Only PostgreSQL knows how many
 * events that is.
 */
export const countReads = async <Log extends Pick<EventStore, 'readAll' | 'head'>>(
  log: Log,
  progress: Progress,
): Promise<Log> => {
  const head = await log.head();
  let of: number | undefined;
  let read = 0;
  return {
    ...log,
    readAll: async (options) => {
      if (COUNTS.test(head)) of ??= Number(head) - Number(options.from ?? LOG_START);
      const page = await log.readAll(options);
      read += page.events.length;
      progress.at(read, of, 'events');
      return page;
    },
  };
};

const ALL = 'all';
/** Follower that records webhook deliveries from the log. It is not a read model. */
const RECORDING = 'webhook-recording';

const chosen = ({ positionals }: Invocation): readonly Projection[] => {
  const [name] = positionals;
  const found = name === ALL ? PROJECTIONS : PROJECTIONS.filter((each) => each.name === name);
  if (found.length === 0)
    throw new UsageError(`expected one of ${PROJECTIONS.map((each) => each.name).join(', ')}, or ${ALL}`);
  return found;
};

export const listProjectionsCommand: OperatorCommand = {
  name: 'projections list',
  usage: '',
  summary: 'lists the read models with their lag and parked events',
  run: async ({ pool, store, system }) =>
    (await createReadModels({ pool, store, system }).lag()).map(({ name, seconds, parkedEvents }) => ({
      name,
      lag_seconds: seconds,
      parked_events: parkedEvents,
    })),
};

/**
 * Read models may be rebuilt from another log only while no service runs.
 * @returns a lock that keeps services from starting; null if the log is the same. @throws {StartRefused}
 */
const lockOtherLog = async ({ databaseUrl, pool, store }: Operator): Promise<SessionLock | null> => {
  try {
    await requireSameLog(pool, await store.logId());
    return null;
  } catch (error) {
    const lock = error instanceof StartRefused ? await takeSessionLock(databaseUrl, ADVISORY_LOCKS.log, 'alone') : null;
    if (lock === null) throw error;
    return lock;
  }
};

export const rebuildProjectionCommand: OperatorCommand = {
  name: 'projections rebuild',
  usage: `NAME|${ALL}|${RECORDING}`,
  summary:
    'rebuilds a read model while the live one stays in use, then switches over; webhook-recording moves webhooks to the end of a changed log',
  takesOtherLog: true,
  run: async (operator, invocation, _, terminal) => {
    const { databaseUrl, log, logger } = operator;
    const [name] = invocation.positionals;
    const projections = name === RECORDING ? [] : chosen(invocation);
    const lock = await lockOtherLog(operator);
    const bar = terminal.progress('rebuild');
    // Statements of a rebuild have no time limit.
    const pool = createPool({
      url: databaseUrl,
      name: 'rebuild',
      logger,
      max: RUNNER_CONNECTIONS,
      statementTimeoutMs: 0,
    });
    try {
      const store = await countReads(log, bar);
      const rebuilt = projections.length === 0 ? [] : await rebuild({ pool, store, logger }, projections);
      const reset = name === RECORDING || name === ALL ? await resetRecording({ pool, log }) : [];
      return [
        ...rebuilt.map(({ name, events, parkedEvents }) => ({ name, events, parked_events: parkedEvents })),
        ...reset,
      ];
    } finally {
      bar.end();
      await pool.end();
      await lock?.release();
    }
  },
};

export const retryParkedCommand: OperatorCommand = {
  name: 'projections retry-parked',
  usage: `NAME|${ALL}`,
  summary: 'retries parked events in order',
  run: async ({ pool, store }, invocation) => {
    const results = [];
    for (const { name } of chosen(invocation)) {
      const { applied, stillParked } = await retryParked({ pool, store }, name);
      results.push({ name, applied, still_parked: stillParked });
    }
    return results;
  },
};

export const reencryptCommand: OperatorCommand = {
  name: 'secrets reencrypt',
  usage: '',
  summary:
    're-encrypts stored data with the current SECRET_KEY, even while the service runs; resumes after an interruption',
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
        ? 'set PREVIOUS_SECRET_KEY to the key that encrypted these rows, and run this command again'
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
  throw new UsageError(`'${place}' is not a log: expected esdb://… or \`${DATABASE}\` (the log in PostgreSQL)`);
};

export const copyLogCommand: OperatorCommand = {
  name: 'log copy',
  usage: `--to esdb://…|${DATABASE} [--from esdb://…|${DATABASE}]`,
  summary: 'copies the log to another engine; the next start rebuilds the read models from it',
  takesOtherLog: true,
  run: async ({ context, databaseUrl, codec, system, logger, pool }, invocation, config, terminal) => {
    const from = optional(invocation, 'from');
    const fromUrl = from === undefined ? config.eventStoreUrl : eventStoreUrlOf(from);
    const toUrl = eventStoreUrlOf(required(invocation, 'to'));
    if (fromUrl === toUrl) throw new UsageError('--to is the current log');
    const lock = await takeSessionLock(databaseUrl, ADVISORY_LOCKS.log, 'alone');
    if (lock === null) throw new UsageError('a service is running on this database: stop it first');
    const parts = { databaseUrl, codec, system, logger, contents: context.contents };
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
    throw new CommandFailed('the log is in EventStoreDB: only a log in PostgreSQL has partitions');
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
      throw new CommandFailed('a long query or a backup is using the log: try again later');
    throw error;
  }
};

export const detachPartitionCommand: OperatorCommand = {
  name: 'log detach',
  usage: '<partition>',
  summary: 'moves a full partition from the log to the schema event_log_archive, so that you can dump and drop it',
  run: async (operator, invocation, config) => {
    requireOwnLog(config);
    const name = partitionIn(invocation, 'detach');
    const { rows } = await operator.pool.query<{ last: string }>(
      `select lpad(least(last, event_log.head())::text, 16, '0') as last from event_log.partitions where name = $1`,
      [name],
    );
    const unread = (await operator.pool.query<{ position: string | null }>(UNREAD)).rows[0]?.position ?? '';
    if (unread < (rows[0]?.last ?? '')) {
      throw new CommandFailed(
        'read models or webhooks have not read this partition yet: check `outbox projections list`',
      );
    }
    await movePartition(operator, 'detach', name);
    return { detached: name, table: `event_log_archive.${name}`, next: 'dump this table, then drop it' };
  },
};

export const attachPartitionCommand: OperatorCommand = {
  name: 'log attach',
  usage: '<partition>',
  summary: 'moves a detached partition from the schema event_log_archive back to the log, if it is complete',
  run: async (operator, invocation, config) => {
    requireOwnLog(config);
    const name = partitionIn(invocation, 'attach');
    await movePartition(operator, 'attach', name);
    return { attached: name };
  },
};
