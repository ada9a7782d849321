import { createPostgresBackend, runMigrations, withBackend } from 'bullmq';
import pg from 'pg';
import type { QueueName, Queues } from '../../domain/ports/queue.ts';
import { createBullmqQueues } from './bullmq.ts';
import { type BullmqEngine, type BullmqOptions, settingsOf } from './bullmq-engine.ts';

/** The schema is the queue's own: dropping it loses jobs, nothing else, and it is made again. */
const SCHEMA = 'queue';

/** Connections of one worker, beside the one that listens. Fewer queue up behind one another, more crowd the server. */
const WORKER_CONNECTIONS = 3;
const PRODUCER_CONNECTIONS = 2;

/** A server that takes longer is taken for gone. Shorter fails while it only restarts or is loaded. */
const CONNECT_MS = 4_000;
const QUERY_MS = 10_000;

/**
 * BullMQ writes every step of every job down for watchers that we do not have, and forgets beyond this number. 0 would
 * mean never.
 */
const EVENTS_KEPT = 100;

/** PostgreSQL's codes for a table, schema, function or type that is not there. */
const MISSING = new Set(['42P01', '3F000', '42883', '42704']);

const { Queue, Worker } = withBackend(createPostgresBackend);

/**
 * Commits do not wait for the disk: a crash of the server then loses the last jobs, which the sweeper brings back, and
 * the queue does twice the work. BullMQ adds the search path to the same options, so they must not be in the URL.
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
    // BullMQ checks clients out without a listener: one that breaks meanwhile would end the process. Its query tells.
    onConnect: (client: pg.ClientBase) => void client.on('error', () => undefined),
    options: `${given} -c synchronous_commit=off -c default_transaction_isolation=read\\ committed`.trim(),
  };
};

/** Makes the schema, under BullMQ's advisory lock: any number of processes may do so at once. */
const migrate = async (url: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
  client.on('error', () => undefined); // it is told by the query that fails
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
 * Queues on PostgreSQL, in a schema of their own, made here if it is missing.
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
