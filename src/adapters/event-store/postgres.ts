import { readFile } from 'node:fs/promises';
import { type ClientBase, DatabaseError, Pool, type PoolClient, type PoolConfig } from 'pg';
import type { EventCodec } from '../../domain/kernel/codec.ts';
import {
  type EventStore,
  LOG_START,
  LogReplaced,
  type Position,
  type ReadAllOptions,
} from '../../domain/kernel/event-store.ts';
import type { Logger, System } from '../../lib/async/async.ts';
import { KEEP_ALIVE_MS, PIN_ISOLATION } from '../../lib/postgres/postgres.ts';
import { type ContentsCodec, PLAIN_CONTENTS } from '../contents/contents-codec.ts';
import { APPENDS_IN_FLIGHT_MAX, createAppending, type Written } from './postgres-append.ts';
import { createStreamReading, readPage } from './postgres-read.ts';
import { asText, readFailure, toHead, toPosition } from './postgres-rows.ts';
import { createWakeUps, followLog } from './postgres-subscribe.ts';
import { createSharedReading } from './shared-reading.ts';

export interface PostgresEventStoreOptions {
  /** Database of the log. It is also the vault's: contents of an append go to `vault.contents` in the same commit. */
  readonly url: string;
  readonly codec: EventCodec;
  /** Codec for contents. Absent: no encryption. */
  readonly contentsCodec?: ContentsCodec | undefined;
  readonly system: System;
  readonly logger: Logger;
  /** How long any call may take before the server is considered down. */
  readonly patienceMs?: number;
}

/** Shorter mistakes a busy server for a dead one; longer keeps requests waiting that could be retried. */
const PATIENCE_MS = 5000;
/** Concurrent reads of streams and pages by this process; more wait. Each is a server process of some 10 MB. */
const READ_CONNECTIONS_MAX = 6;
/** How long a quiet process keeps its prepared statements. */
const IDLE_MS = 60_000;

/**
 * Statements are prepared once per connection, perhaps while the log is still empty and a sequential scan looks cheap.
 * All of them are written to use an index. Planning each call would cost an append 100 us. With a generic plan, the
 * cost of a query without an index looks so high that it would be JIT-compiled, for 100 ms in each session.
 */
const PLAN_ONCE = `
  set plan_cache_mode = force_generic_plan;
  set enable_seqscan = off;
  set enable_bitmapscan = off;
  set jit = off`;

/** SQLSTATE of a database without a log. */
const UNDEFINED_TABLE = '42P01';

/** The id of the existing log; null: no log. */
const idOn = async (db: Pick<ClientBase, 'query'> | Pick<Pool, 'query'>): Promise<string | null> => {
  try {
    const { rows } = await db.query<(string | null)[]>({ text: 'select id from event_log.log', rowMode: 'array' });
    return rows[0]?.[0] ?? null;
  } catch (error) {
    if (error instanceof DatabaseError && error.code === UNDEFINED_TABLE) return null;
    throw error;
  }
};

const createSchema = async (pool: Pool): Promise<void> => {
  await pool.query(await readFile(new URL('./postgres.sql', import.meta.url), 'utf8'));
};

/** The server process of a connection, which identifies its notifications. The client's types do not expose it. */
const processIdOf = (client: PoolClient): number => (client as { readonly processID?: number }).processID ?? 0;

const positionAt = (number: number): Position => toPosition(String(number));

/** Opens the log in PostgreSQL, and creates it if it does not exist. @throws {StoreUnavailable} */
export const createPostgresEventStore = async (options: PostgresEventStoreOptions): Promise<EventStore> => {
  const { codec, contentsCodec = PLAIN_CONTENTS, system, logger, patienceMs = PATIENCE_MS } = options;
  /** null: not known yet. */
  let logId: string | null = null;
  const config: PoolConfig = {
    connectionString: options.url,
    application_name: 'outbox event log',
    connectionTimeoutMillis: patienceMs,
    query_timeout: patienceMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: asText,
    idleTimeoutMillis: IDLE_MS,
    onConnect: async (client) => {
      await client.query(`${PIN_ISOLATION}; ${PLAN_ONCE}; set statement_timeout = ${patienceMs}`);
      // After a restart, another database may answer. Nothing must be read from it or appended to it.
      if (logId !== null && (await idOn(client)) !== logId) throw new LogReplaced('the log was replaced by another');
    },
  };

  const poolOf = (max: number): Pool => {
    const pool = new Pool({ ...config, max });
    // On a lost connection, the current call fails, the pool drops the connection, and the next call opens another one.
    const lost = (error: Error): void => logger.debug({ err: error }, 'a connection to the log was lost');
    pool.on('error', lost).on('connect', (client) => client.on('error', lost));
    return pool;
  };

  const appends = poolOf(APPENDS_IN_FLIGHT_MAX);
  const reads = poolOf(READ_CONNECTIONS_MAX);
  const closing = new AbortController();
  const appenders = new Set<number>();
  appends
    .on('connect', (client) => appenders.add(processIdOf(client)))
    .on('remove', (client) => appenders.delete(processIdOf(client)));
  const wakeUps = createWakeUps(config, (processId) => appenders.has(processId), { system, logger });
  const streams = createStreamReading(reads, codec, system, patienceMs);
  const read = (request: ReadAllOptions): ReturnType<typeof readPage> => readPage(reads, codec, request);
  const follow = createSharedReading(read);
  const onWritten = ({ stream, events, revision, position }: Written): void =>
    follow.take(positionAt(position), () =>
      events.map((event, index) => ({
        ...codec.decode(event),
        stream,
        revision: revision + index,
        position: positionAt(position + index),
      })),
    );
  const listener = { onWritten, onCommit: wakeUps.wake };
  const appending = createAppending(appends, { codec, contentsCodec }, listener, { system, patienceMs });

  const one = async (text: string): Promise<string | null> => {
    try {
      const { rows } = await reads.query<(string | null)[]>({ text, rowMode: 'array' });
      return rows[0]?.[0] ?? null;
    } catch (error) {
      throw readFailure(error);
    }
  };

  const head = async (): Promise<Position> => {
    return toHead(await one('select event_log.head()'));
  };

  const readLogId = async (): Promise<string | null> => {
    try {
      return await idOn(reads);
    } catch (error) {
      if (error instanceof LogReplaced) return null;
      throw readFailure(error);
    }
  };

  const closeAll = async (): Promise<void> => {
    closing.abort();
    await Promise.all([appending.close(), streams.close(), wakeUps.close()]);
    await Promise.all([appends.end(), reads.end()]);
  };
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= closeAll();
    return closed;
  };

  try {
    await createSchema(appends);
  } catch (error) {
    await close();
    throw readFailure(error);
  }
  const ownId = (await readLogId()) ?? '';
  logId = ownId;

  return {
    logId: async () => ownId,
    look: async () => {
      const found = await readLogId();
      return { logId: found, head: found === ownId ? await head() : LOG_START };
    },
    append: appending.append,
    appendStored: appending.appendStored,
    readStream: streams.readStream,
    readAll: read,
    head,
    subscribe: (after, filter, signal) =>
      followLog(
        { read: follow.read, wakeUps, system, logger },
        after,
        filter,
        AbortSignal.any([signal, closing.signal]),
      ),
    close,
  };
};
