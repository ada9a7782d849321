import { createPostgresBackend, runMigrations, withBackend } from 'bullmq';
import pg from 'pg';
import type { QueueName, Queues } from '../../domain/ports/queue.ts';
import { createBullmqQueues } from './bullmq.ts';
import { type BullmqEngine, type BullmqOptions, settingsOf } from './bullmq-worker.ts';

/** The schema belongs to the queue. Dropping it only loses jobs, and it is created again. */
const SCHEMA = 'queue';

/** Connections of one worker, plus the one that listens. With fewer, statements queue up; more crowd the server. */
const WORKER_CONNECTIONS = 3;
const PRODUCER_CONNECTIONS = 2;

/** A server that takes longer is considered down. Shorter fails while it only restarts or is busy. */
const CONNECT_MS = 4_000;
const QUERY_MS = 10_000;

/**
 * BullMQ records every step of every job for watchers that we do not have, and deletes events beyond this number. 0
 * would mean never.
 */
const EVENTS_KEPT = 100;

/** PostgreSQL's codes for a missing table, schema, function or type. */
const MISSING = new Set(['42P01', '3F000', '42883', '42704']);

const { Queue, Worker } = withBackend(createPostgresBackend);

/**
 * Commits do not wait for the disk. A crash of the server then loses the last jobs, which the sweeper brings back; in
 * return, the queue's throughput doubles. BullMQ adds the search path to the same options, so they must not be in the
 * URL.
 */
const connectionOf = (url: string, max: number) => {
  const target = new URL(url);
  const given = target.searchParams.get('options') ?? '';
  target.searchParams.delete('options');
  return {
    connectionString: target.href,
    schema: SCHEMA,
    max,
    application_name: 'outbox-queue',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    // BullMQ checks clients out without an error listener, so a broken one would end the process. Its query reports the
    // error.
    onConnect: (client: pg.ClientBase) => void client.on('error', () => undefined),
    options: `${given} -c synchronous_commit=off -c default_transaction_isolation=read\\ committed`.trim(),
  };
};

/** Creates the schema under BullMQ's advisory lock, so that any number of processes may do so at once. */
const migrate = async (url: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
  client.on('error', () => undefined); // reported by the query that fails
  await client.connect();
  try {
    await runMigrations(client, SCHEMA);
  } finally {
    await client.end();
  }
};

const isMissing = (fault: unknown): boolean =>
  fault instanceof Error &&
  (fault.name === 'SchemaMigrationRequiredError' || MISSING.has((fault as Error & { code?: string }).code ?? ''));

/**
 * Queues on PostgreSQL, in a schema of their own, which is created if it is missing.
 * @param url a session of its own: `LISTEN` does not work through a pooler in transaction mode.
 */
export const createPostgresQueues = async (url: string, options: BullmqOptions): Promise<Queues> => {
  const settings = settingsOf(options);
  let migrating: Promise<void> | undefined;

  const openProducer = async (name: QueueName, onFault: (fault: unknown) => void) => {
    const queue = new Queue<unknown>(name, {
      connection: connectionOf(url, PRODUCER_CONNECTIONS),
      streams: { events: { maxLen: EVENTS_KEPT } },
    });
    queue.on('error', onFault);
    try {
      await queue.waitUntilReady();
    } catch (fault) {
      void queue.close().catch(() => undefined);
      throw fault;
    }
    return queue;
  };

  const engine: BullmqEngine = {
    openProducer,
    openWorker: (name, process, workerOptions) =>
      new Worker(name, process, { ...workerOptions, connection: connectionOf(url, WORKER_CONNECTIONS) }),
    mend: async (fault) => {
      if (!isMissing(fault)) return false;
      migrating ??= migrate(url).finally(() => {
        migrating = undefined;
      });
      await migrating;
      return true;
    },
    close: async () => undefined,
  };

  await migrate(url);
  return createBullmqQueues(engine, settings);
};
