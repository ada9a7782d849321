import { statfs } from 'node:fs/promises';
import type { Pool } from 'pg';
import { connectRedis } from '../adapters/redis/connect.ts';
import type { Config } from '../config.ts';
import type { HealthParts } from '../http/service-health.ts';
import { BACKLOG_COUNTED_MAX } from '../projections/deliveries/backlog.ts';
import type { ReadModels } from '../projections/read-models.ts';
import { type DeliveryQueues, openDeliveryQueues } from '../workers/delivery/due.ts';
import type { Engines } from './open-engines.ts';
import { waitingProblems } from './problems.ts';
import { openQueues } from './start-workers.ts';
import type { EventLoopWatch } from './watch-event-loop.ts';

/** Health of queues, PostgreSQL, Redis and the disk. */

export interface HealthOptions {
  readonly config: Config;
  readonly engines: Engines;
  readonly readModels: ReadModels;
  /** Absent: it is not watched. */
  readonly eventLoop?: EventLoopWatch | undefined;
  /** Absent: this process has no role `workers`. */
  readonly workers?: { isLeader(): boolean; readonly queues: DeliveryQueues } | undefined;
}

const SECOND_MS = 1_000;

/** Every delivery that has not ended, by its index. */
const WEBHOOKS = `
  select count(*)::int as waiting, min(due_at) as due from (
    select due_at from vault.webhook_deliveries where state = 'pending' limit ${BACKLOG_COUNTED_MAX}) d`;

export const queuesPart = (options: HealthOptions): HealthParts['queues'] => {
  const { config, engines, readModels, workers } = options;
  let opening: Promise<DeliveryQueues> | undefined;
  /** A process without workers opens its own queues at the first request. */
  const open = async (): Promise<DeliveryQueues> =>
    openDeliveryQueues(engines.closers.keep('queues for the health', await openQueues(config, engines)));
  const queues = async (): Promise<DeliveryQueues> => {
    if (workers !== undefined) return workers.queues;
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return async () => {
    const { transactional, bulk } = await queues();
    const [one, other, backlog, { rows }] = await Promise.all([
      transactional.counts(),
      bulk.counts(),
      readModels.deliveries.backlog(),
      engines.pool.query<{ waiting: number; due: Date | null }>(WEBHOOKS),
    ]);
    const [webhooks = { waiting: 0, due: null }] = rows;
    const { due, scheduled, deferred, held } = backlog.waiting;
    const webhookSeconds =
      Math.max(0, engines.system.now().getTime() - (webhooks.due?.getTime() ?? Infinity)) / SECOND_MS;
    return {
      facts: {
        data: [
          { name: 'transactional_mail', ...one, oldest_seconds: null },
          { name: 'bulk_mail', ...other, oldest_seconds: null },
          { name: 'due_mail', waiting: due, active: null, oldest_seconds: backlog.oldestDueSeconds },
          { name: 'webhook_deliveries', waiting: webhooks.waiting, active: null, oldest_seconds: webhookSeconds },
        ],
        scheduled,
        deferred,
        held,
      },
      problems: waitingProblems(backlog),
    };
  };
};

const DATABASE = `
  select current_setting('server_version') as version, pg_database_size(current_database())::float8 as size,
    (select count(*)::int from pg_stat_activity where datname = current_database()) as connections,
    current_setting('max_connections')::int as max`;
/** Share of the server's connections. Above it a starting process may be refused. */
const CONNECTIONS_SHARE_MAX = 0.9;

interface DatabaseRow {
  readonly version: string;
  readonly size: number;
  readonly connections: number;
  readonly max: number;
}

const latencyOf = async (pool: Pick<Pool, 'query'>, { monotonicMs }: Engines['system']): Promise<number> => {
  const beganMs = monotonicMs();
  await pool.query('select 1');
  return monotonicMs() - beganMs;
};

export const databasePart =
  ({ engines: { pool, system } }: HealthOptions): HealthParts['database'] =>
  async () => {
    const latency = await latencyOf(pool, system);
    const { rows } = await pool.query<DatabaseRow>(DATABASE);
    const [{ version: server, size, connections, max }] = rows as [DatabaseRow]; // without `from` it is one row
    return {
      facts: {
        version: server,
        size_bytes: size,
        connections,
        connections_max: max,
        latency_ms: latency,
      },
      problems:
        connections > max * CONNECTIONS_SHARE_MAX
          ? [`${connections} of ${max} connections of PostgreSQL are in use: raise max_connections`]
          : [],
    };
  };

const MEMORY = /^used_memory:(?<bytes>\d+)/m;
/** Shorter than the time-out of the part. */
const REDIS_MS = 1_500;

export const redisPart = ({
  config: { redisUrl },
  engines: { system, closers },
}: HealthOptions): HealthParts['redis'] => {
  if (redisUrl === undefined) return async () => ({ facts: null, problems: [] });
  let redis: ReturnType<typeof connectRedis> | undefined;
  const connected = () => {
    if (redis !== undefined) return redis;
    const opened = connectRedis(redisUrl, REDIS_MS);
    opened.on('error', () => undefined); // the part is unknown meanwhile
    closers.add('Redis for the health', async () => opened.disconnect());
    redis = opened;
    return opened;
  };
  return async () => {
    const client = connected();
    if (client.status !== 'ready') await new Promise((ready) => client.once('ready', ready));
    const beganMs = system.monotonicMs();
    await client.ping();
    const latency = system.monotonicMs() - beganMs;
    const used = MEMORY.exec(await client.info('memory'))?.groups?.bytes;
    return { facts: { latency_ms: latency, memory_bytes: used === undefined ? null : Number(used) }, problems: [] };
  };
};

/** Share of the disk. Below it a busy day can fill the disk. */
const FREE_SHARE_MIN = 0.1;

export const diskPart =
  ({ config }: HealthOptions): HealthParts['disk'] =>
  async () => {
    if (config.databaseUrl !== undefined) return { facts: null, problems: [] };
    const { bavail, blocks, bsize } = await statfs(config.dataDir);
    const [free, size] = [bavail * bsize, blocks * bsize];
    const isFull = free < size * FREE_SHARE_MIN;
    return {
      facts: { free_bytes: free, size_bytes: size },
      problems: isFull ? [`the disk of ${config.dataDir} is nearly full: free some of it, or move the folder`] : [],
    };
  };
