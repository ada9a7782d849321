import { statfs } from 'node:fs/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Config } from '../config.ts';
import type { RecordedEvent } from '../domain/kernel/event-store.ts';
import type { HealthParts } from '../http/service-health.ts';
import { type ProjectionLag, rebuiltNow } from '../lib/projections/projections.ts';
import { BACKLOG_COUNTED_MAX, type Backlog } from '../projections/deliveries/queries.ts';
import type { ReadModels } from '../projections/read-models.ts';
import { type DeliveryQueues, openDeliveryQueues } from '../workers/delivery/due.ts';
import { type Instance, readInstances, version } from './instances.ts';
import { mailHealth } from './mail-health.ts';
import type { Engines } from './open-engines.ts';
import { readAuditCheck, readBackupNote } from './open-operator.ts';
import { openQueues } from './open-queues.ts';
import type { EventLoopWatch } from './watch-event-loop.ts';

/** Problems with read models and waiting mail for the operator, without data of an organization. */

/** A read model further behind is not just busy. */
const LAG_SECONDS_MAX = 60;
/** The threshold of the alert in `docs/operations.md`: due mail leaves within seconds unless its destination limits it. */
const DUE_SECONDS_MAX = 300;

export const readModelProblems = (models: readonly ProjectionLag[]): readonly string[] =>
  models.flatMap(({ name, seconds, parkedEvents }) => [
    ...(seconds > LAG_SECONDS_MAX ? [`read model ${name} is ${Math.round(seconds)} s behind`] : []),
    ...(parkedEvents > 0
      ? [
          `read model ${name} has ${parkedEvents} parked events: upgrade, then run \`outbox projections retry-parked ${name}\``,
        ]
      : []),
  ]);

export const waitingProblems = ({ waiting, oldestDueSeconds, suspendedDestinations }: Backlog): readonly string[] => {
  const seconds = Math.round(oldestDueSeconds);
  return [
    ...(seconds > DUE_SECONDS_MAX
      ? [`${waiting.due} messages are overdue, the oldest by ${seconds} s: see the logs of the workers`]
      : []),
    ...(suspendedDestinations > 0
      ? [`${suspendedDestinations} destinations are suspended: see \`GET /v1/destinations\``]
      : []),
    ...(waiting.held > 0 ? [`${waiting.held} messages are held: see \`GET /v1/messages/{id}/explain\``] : []),
  ];
};

/** A check each night, and two nights without. */
const CHECK_DAYS_MAX = 3;
const DAY_MS = 86_400_000;

/** More only take memory: one is enough to look into. */
const FOREIGN_MAX = 100;

/** Problems that stop the signing of audit logs. */
export const signingProblems = async (audit: ReadModels['audit']) => {
  const [disputed, foreign] = [await audit.disputed(), await audit.foreign(FOREIGN_MAX)];
  const problems = [
    ...(disputed > 0
      ? [
          `${disputed} audit logs are no longer signed, because a witness contradicts them: see docs/audit.md, After a restore`,
        ]
      : []),
    ...foreign.map(
      ({ tree, eventId }) =>
        `the audit log of ${tree} is no longer signed: this service did not write event ${eventId}, so the database was changed from outside. Run \`outbox audit check\` and see docs/audit.md, Foreign events`,
    ),
  ];
  return { disputed, foreign: foreign.length, problems };
};

/** Result of the last check of the audit trees, and problems with the trees or their signing. */
export const auditState = async (
  { context, system }: Pick<Engines, 'context' | 'system'>,
  signing: readonly string[],
) => {
  const last = await readAuditCheck(context.secrets);
  if (last === undefined) {
    const sentence =
      'the audit trees have not been checked yet: they are checked every night, or run `outbox audit check`';
    return { last, sentence, problems: signing };
  }
  const { at, verdict, faults, doubts } = last;
  const found = {
    'no fault': 'no fault',
    consistent: 'consistent in itself; it was not compared with a witness (set AUDIT_WITNESSES)',
    faults: faults === 1 ? '1 fault' : `${faults} faults`,
    undecided: `undecided: ${doubts.join('; ')}`,
  };
  const sentence = `the audit trees were checked at ${at}: ${found[verdict]}`;
  const isOld = system.now().getTime() - Date.parse(at) > CHECK_DAYS_MAX * DAY_MS;
  const isProblem = isOld || verdict === 'faults';
  return {
    last,
    sentence,
    problems: [...signing, ...(isProblem ? [`${sentence}: run \`outbox audit check\``] : [])],
  };
};

/** Health of queues, PostgreSQL, Redis and the disk. */

interface HealthOptions {
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

const jobsOf = async (queues: DeliveryQueues | null) => {
  if (queues === null) return [];
  const [transactional, bulk] = await Promise.all([queues.transactional.counts(), queues.bulk.counts()]);
  return [
    { name: 'transactional_mail' as const, ...transactional, oldest_seconds: null },
    { name: 'bulk_mail' as const, ...bulk, oldest_seconds: null },
  ];
};

const queuesPart = (options: HealthOptions): HealthParts['queues'] => {
  const { config, engines, readModels, workers } = options;
  let opening: Promise<DeliveryQueues> | undefined;
  /** A process without workers opens its own queues at the first request. */
  const open = async (): Promise<DeliveryQueues> =>
    openDeliveryQueues(engines.closers.keep('queues for the health', await openQueues(config, engines)));
  /** Without Redis the jobs are in the memory of the workers: another process does not know them. */
  const queues = async (): Promise<DeliveryQueues | null> => {
    if (workers !== undefined) return workers.queues;
    if (config.redisUrl === undefined) return null;
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return async () => {
    const [jobs, backlog, { rows }] = await Promise.all([
      queues().then(jobsOf),
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
          ...jobs,
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

const databasePart =
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
          ? [`${connections} of ${max} PostgreSQL connections are in use: raise max_connections`]
          : [],
    };
  };

const MEMORY = /^used_memory:(?<bytes>\d+)/m;
/** Shorter than the time-out of the part. */
const REDIS_MS = 1_500;

const redisPart = ({ config: { redisUrl }, engines: { system, closers } }: HealthOptions): HealthParts['redis'] => {
  if (redisUrl === undefined) return async () => ({ facts: null, problems: [] });
  const open = async (): Promise<Redis> => {
    const { connectRedis } = await import('../adapters/redis.ts');
    const opened = connectRedis(redisUrl, REDIS_MS);
    opened.on('error', () => undefined); // the part is unknown meanwhile
    closers.add('Redis for the health', async () => opened.disconnect());
    return opened;
  };
  let redis: Promise<Redis> | undefined;
  return async () => {
    redis ??= open();
    const client = await redis;
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

const diskPart =
  ({ config }: HealthOptions): HealthParts['disk'] =>
  async () => {
    if (config.databaseUrl !== undefined) return { facts: null, problems: [] };
    const { bavail, blocks, bsize } = await statfs(config.dataDir);
    const [free, size] = [bavail * bsize, blocks * bsize];
    const isFull = free < size * FREE_SHARE_MIN;
    return {
      facts: { free_bytes: free, size_bytes: size },
      problems: isFull ? [`the disk of ${config.dataDir} is nearly full: free some space, or move the folder`] : [],
    };
  };

/** Health of each part of the service, for operators. `http/service-health.ts` applies time-outs and collects it. */

const MINUTE_MS = 60_000;

const secondsSince = (nowMs: number, ms: number): number => Math.max(0, nowMs - ms) / SECOND_MS;

const processPart =
  ({ config, eventLoop, workers }: HealthOptions): HealthParts['process'] =>
  async () => ({
    facts: {
      version: await version(),
      roles: [...config.roles],
      uptime_seconds: process.uptime(),
      memory_bytes: process.memoryUsage.rss(),
      event_loop_delay_ms: eventLoop?.recent() ?? { mean: 0, max: 0 },
      is_leader: workers?.isLeader() ?? null,
    },
    problems: [],
  });

const ROLES_NEEDED = {
  workers: 'no running process has the role workers: mail and webhooks are not sent',
  projections: 'no running process has the role projections: lists, statistics and mail retries do not advance',
} as const;

const missingRoles = (instances: readonly Instance[]): readonly string[] =>
  Object.entries(ROLES_NEEDED).flatMap(([role, problem]) =>
    instances.some(({ roles }) => roles.some((one) => one === role)) ? [] : [problem],
  );

const instancesPart =
  ({ engines: { pool } }: HealthOptions): HealthParts['instances'] =>
  async () => {
    const instances = await readInstances(pool);
    const data = instances.map(({ since, roles, ...one }) => ({
      ...one,
      roles: [...roles],
      connected_since: since.toISOString(),
    }));
    const versions = new Set(instances.map((one) => one.version));
    const mixed = versions.size > 1 ? [`processes of different versions are running: ${[...versions].join(', ')}`] : [];
    return { facts: { data }, problems: [...missingRoles(instances), ...mixed] };
  };

const logPart =
  ({ config, engines: { store, logGuard, appendTimes } }: HealthOptions): HealthParts['log'] =>
  async () => {
    const position = await store.head();
    const { appends, p50, p99 } = appendTimes();
    const replaced = logGuard.replaced();
    return {
      facts: {
        engine: config.eventStoreUrl === undefined ? 'postgresql' : 'eventstoredb',
        position,
        appends_per_minute: appends,
        append_ms: p50 === null || p99 === null ? null : { p50, p99 },
      },
      problems:
        replaced === null ? [] : ['the log was replaced by another or by an older copy: see docs/operations.md'],
    };
  };

const readModelsPart =
  ({ config, engines: { pool, store }, readModels }: HealthOptions): HealthParts['read_models'] =>
  async () => {
    const [models, head] = await Promise.all([readModels.lag(), store.head()]);
    const rebuilt = await rebuiltNow(
      pool,
      models.map(({ name }) => name),
    );
    // Positions in PostgreSQL are numbers without gaps.
    const behind = (position: string): number | null =>
      config.eventStoreUrl === undefined ? Math.max(0, Number(head) - Number(position)) : null;
    const data = models.map(({ name, seconds, parkedEvents, position }) => ({
      name,
      events_behind: behind(position),
      seconds_behind: seconds,
      parked_events: parkedEvents,
      is_rebuilding: rebuilt.has(name),
    }));
    return { facts: { data }, problems: readModelProblems(models) };
  };

/** Newest events of messages that are counted. Higher reads longer; lower covers less of a minute under load. */
const COUNTED_EVENTS_MAX = 1_000;

const ratesPart =
  ({ engines: { store, system } }: HealthOptions): HealthParts['rates'] =>
  async () => {
    const page = await store.readAll({
      direction: 'backwards',
      filter: { categories: ['message'] },
      limit: COUNTED_EVENTS_MAX,
    });
    const nowMs = system.now().getTime();
    const ages = (event: RecordedEvent): number => nowMs - Date.parse(event.metadata.occurredAt);
    const recent = page.events.filter((event) => ages(event) < MINUTE_MS);
    const isCut = recent.length === COUNTED_EVENTS_MAX;
    const windowMs = isCut ? Math.max(SECOND_MS, ...recent.map(ages)) : MINUTE_MS;
    const perMinute = (type: RecordedEvent['type']): number =>
      (recent.filter((event) => event.type === type).length * MINUTE_MS) / windowMs;
    return {
      facts: {
        accepted_per_minute: perMinute('MessageAccepted'),
        delivered_per_minute: perMinute('RecipientDelivered'),
        window_seconds: windowMs / SECOND_MS,
      },
      problems: [],
    };
  };

const auditPart =
  ({ engines, readModels }: HealthOptions): HealthParts['audit'] =>
  async () => {
    const signing = await signingProblems(readModels.audit);
    const { last, problems } = await auditState(engines, signing.problems);
    return {
      facts: {
        checked_at: last?.at ?? null,
        verdict: last?.verdict ?? null,
        faults: last?.faults ?? 0,
        logs_disputed: signing.disputed,
        logs_foreign: signing.foreign,
      },
      problems,
    };
  };

const backupPart =
  ({ engines: { context, system } }: HealthOptions): HealthParts['backup'] =>
  async () => {
    const takenAt = await readBackupNote(context.secrets);
    if (takenAt === undefined) return { facts: null, problems: [] };
    const age = secondsSince(system.now().getTime(), Date.parse(takenAt));
    return { facts: { taken_at: takenAt, age_seconds: age }, problems: [] };
  };

/** All parts. Connections to queues and Redis are opened at their first use. */
export const healthParts = (options: HealthOptions): HealthParts => ({
  process: processPart(options),
  instances: instancesPart(options),
  log: logPart(options),
  read_models: readModelsPart(options),
  queues: queuesPart(options),
  rates: ratesPart(options),
  database: databasePart(options),
  redis: redisPart(options),
  mail: mailHealth(options),
  disk: diskPart(options),
  audit: auditPart(options),
  backup: backupPart(options),
});
