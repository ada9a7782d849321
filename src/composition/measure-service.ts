import { X509Certificate } from 'node:crypto';
import { readFile, statfs } from 'node:fs/promises';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Config } from '../config.ts';
import type { WebhookAnswer, WebhookTarget } from '../domain/ports/webhooks.ts';
import { countedFrom } from '../domain/reputation/reputation.ts';
import { type MeasuredValue, readGauge } from '../http/metrics.ts';
import { shareCalls } from '../lib/async/async.ts';
import { poolUse } from '../lib/postgres/postgres.ts';
import { BACKLOG_COUNTED_MAX } from '../projections/deliveries/queries.ts';
import type { ReadModels } from '../projections/read-models.ts';
import type { DeliveryQueues } from '../workers/delivery/due.ts';
import { GONE, isSuccess } from '../workers/webhooks/post-once.ts';
import { type Instance, readInstances } from './instances.ts';
import { APPEND_OUTCOMES } from './measure-appends.ts';
import type { Engines } from './open-engines.ts';
import { readAuditCheck } from './open-operator.ts';

/**
 * Metrics of the service and its engines, read at each scrape. What cannot be read is absent. No label names a tenant: each has
 * a fixed set of values.
 */

/**
 * A scrape makes some twenty queries at once. On connections of its own it delays no request. More connections: a scrape
 * competes with requests for the server. Fewer: it takes longer.
 */
export const METRICS_POOL = { name: 'metrics', max: 2, statementTimeoutMs: 2_000 };

const MS_PER_SECOND = 1_000;
/** From a commit in memory to the longest time-out of an append. */
const APPEND_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];
/** From a receiver on this machine to the time-out of a post. */
const POST_BUCKETS_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

const one = (value: number): readonly MeasuredValue[] => [{ value }];
/** For a part that is up if it can be read. */
const upIf = (read: () => Promise<unknown>) => async (): Promise<readonly MeasuredValue[]> =>
  read().then(
    () => one(1),
    () => one(0),
  );

/** Every webhook delivery that has not ended, by its index, and endpoints that have failed since their last success. */
const DATABASE = `
  select pg_database_size(current_database())::float8 as size,
    (select count(*)::int from pg_stat_activity where datname = current_database()) as connections,
    current_setting('max_connections')::int as "connectionsMax",
    extract(epoch from clock_timestamp())::float8 as clock,
    webhooks.waiting, greatest(0, extract(epoch from clock_timestamp() - webhooks.due))::float8 as "webhooksDue",
    (select count(*)::int from vault.webhook_failures where since > now() - interval '6 days') as failing
  from (
    select count(*)::int as waiting, min(due_at) as due from (
      select due_at from vault.webhook_deliveries where state = 'pending' limit ${BACKLOG_COUNTED_MAX}) d) webhooks`;

interface DatabaseFigures {
  readonly size: number;
  readonly connections: number;
  readonly connectionsMax: number;
  readonly clock: number;
  readonly waiting: number;
  readonly webhooksDue: number;
  readonly failing: number;
  /** Clock of this process minus that of the server. */
  readonly clockOffset: number;
}

const readDatabase = async ({ pool, system }: Engines): Promise<DatabaseFigures> => {
  const sentMs = system.now().getTime();
  const { rows } = await pool.query<Omit<DatabaseFigures, 'clockOffset'>>(DATABASE);
  const [figures] = rows as [Omit<DatabaseFigures, 'clockOffset'>]; // without `from` of a table it is one row
  // The server read its clock between both.
  const middleMs = (sentMs + system.now().getTime()) / 2;
  return { ...figures, clockOffset: middleMs / MS_PER_SECOND - figures.clock };
};

type Figure = Exclude<keyof DatabaseFigures, 'clock'>;
const DATABASE_GAUGES: Readonly<Record<Figure, { readonly name: string; readonly help: string }>> = {
  size: { name: 'outbox_database_size_bytes', help: 'Size of the database' },
  connections: { name: 'outbox_database_connections', help: 'Connections to the database of all processes' },
  connectionsMax: { name: 'outbox_database_connections_max', help: 'Connections that the server accepts' },
  clockOffset: { name: 'outbox_clock_offset_seconds', help: 'Clock of this process minus that of the database server' },
  waiting: {
    name: 'outbox_webhook_deliveries_waiting',
    help: 'Webhook deliveries that have not ended; 100000 means that many or more',
  },
  webhooksDue: {
    name: 'outbox_webhook_oldest_due_age_seconds',
    help: 'Time since the oldest waiting webhook delivery became due',
  },
  failing: { name: 'outbox_webhooks_failing', help: 'Webhook endpoints that have failed since their last success' },
};

const measureDatabase = (registry: Registry, engines: Engines): void => {
  const read = shareCalls(() => readDatabase(engines));
  for (const [figure, metric] of Object.entries(DATABASE_GAUGES)) {
    readGauge(registry, { ...metric, read: async () => one((await read())[figure as Figure]) });
  }
  readGauge(registry, {
    name: 'outbox_database_up',
    help: 'Whether PostgreSQL answers this process: 1 or 0',
    read: upIf(() => engines.pool.query('select 1')),
  });
};

const measureLog = (registry: Registry, { log, logGuard }: Engines): void => {
  readGauge(registry, {
    name: 'outbox_log_up',
    help: 'Whether the log answers this process: 1 or 0',
    read: upIf(log.look),
  });
  readGauge(registry, {
    name: 'outbox_log_replaced',
    help: 'Whether this process has stopped accepting because the log was replaced: 1 or 0',
    read: async () => one(logGuard.replaced() === null ? 0 : 1),
  });
};

const rolesOf = (instances: readonly Instance[]): readonly MeasuredValue[] =>
  (['api', 'projections', 'workers'] as const).map((role) => ({
    labels: { role },
    value: instances.filter(({ roles }) => roles.includes(role)).length,
  }));

/** Trees of one count: more are as alarming. */
const TREES_COUNTED_MAX = 500;

const measureAuditTrees = (registry: Registry, { context, system }: Engines, { audit }: ReadModels): void => {
  readGauge(registry, {
    name: 'outbox_audit_logs_disputed',
    help: 'Audit logs that are not signed because a witness has seen another history',
    read: async () => one(await audit.disputed()),
  });
  readGauge(registry, {
    name: 'outbox_audit_logs_foreign',
    help: 'Audit logs that are not signed because they have an event that this service did not write',
    read: async () => one((await audit.foreign(TREES_COUNTED_MAX)).length),
  });
  readGauge(registry, {
    name: 'outbox_audit_logs_unsigned',
    help: `Audit logs with events that are not signed yet; ${TREES_COUNTED_MAX} means that many or more`,
    read: async () => one((await audit.unsigned(TREES_COUNTED_MAX)).length),
  });
  readGauge(registry, {
    name: 'outbox_audit_check_age_seconds',
    help: 'Time since the last check of the audit trees ended; absent before the first',
    read: async () => {
      const last = await readAuditCheck(context.secrets);
      return last === undefined ? [] : one((system.now().getTime() - Date.parse(last.at)) / MS_PER_SECOND);
    },
  });
};

const measureSources = (registry: Registry, { system }: Engines, { reputation }: ReadModels): void => {
  readGauge(registry, {
    name: 'outbox_source_recent_recipients',
    help: 'Recipients of live mail in seven days by the address that sent it: delivered, bounced because of theirs, or complained',
    labelNames: ['source', 'outcome'],
    read: async () =>
      (await reputation.ofSources(countedFrom(system.now()))).flatMap(({ source, ...counts }) =>
        (['delivered', 'bounced', 'complained'] as const).map((outcome) => ({
          labels: { source, outcome },
          value: counts[outcome],
        })),
      ),
  });
};

interface ServiceParts {
  readonly config: Config;
  readonly engines: Engines;
  readonly readModels: ReadModels;
}

/** Registers figures of the whole service: the same in every process. */
export const measureService = (registry: Registry, { config, engines, readModels }: ServiceParts): void => {
  measureDatabase(registry, engines);
  measureLog(registry, engines);
  measureAuditTrees(registry, engines, readModels);
  measureSources(registry, engines, readModels);
  readGauge(registry, {
    name: 'outbox_processes',
    help: 'Processes that are connected to the database, by role',
    labelNames: ['role'],
    read: async () => rolesOf(await readInstances(engines.pool)),
  });
  const disk = shareCalls(() => statfs(config.dataDir));
  const isOwn = config.databaseUrl === undefined;
  readGauge(registry, {
    name: 'outbox_disk_free_bytes',
    help: 'Free space on the disk of the built-in database; absent with DATABASE_URL',
    read: async () => (isOwn ? one((await disk()).bavail * (await disk()).bsize) : []),
  });
  readGauge(registry, {
    name: 'outbox_disk_size_bytes',
    help: 'Size of that disk',
    read: async () => (isOwn ? one((await disk()).blocks * (await disk()).bsize) : []),
  });
};

const measureAppends = (registry: Registry, { onAppend }: Engines): void => {
  const registers = [registry];
  const appends = new Counter({
    name: 'outbox_appends_total',
    help: 'Appends to the log by outcome',
    labelNames: ['outcome'],
    registers,
  });
  // Alerts can refer to an outcome that has not happened yet.
  for (const outcome of APPEND_OUTCOMES) appends.inc({ outcome }, 0);
  const seconds = new Histogram({
    name: 'outbox_append_duration_seconds',
    help: 'Duration of appends to the log, including the wait for a shared commit',
    buckets: APPEND_BUCKETS_SECONDS,
    registers,
  });
  onAppend((outcome, tookMs) => {
    appends.inc({ outcome });
    seconds.observe(tookMs / MS_PER_SECOND);
  });
};

const expiryOf = async (certificate: string, file: string | undefined): Promise<readonly MeasuredValue[]> => {
  if (file === undefined) return [];
  const { validTo } = new X509Certificate(await readFile(file));
  return [{ labels: { certificate }, value: Date.parse(validTo) / MS_PER_SECOND }];
};

const POOL_GAUGES = [
  { name: 'outbox_pool_connections', help: 'Open connections of this process to PostgreSQL', figure: 'connections' },
  { name: 'outbox_pool_idle', help: 'Open connections that are idle', figure: 'idle' },
  { name: 'outbox_pool_waiting', help: 'Queries that wait for a connection', figure: 'waiting' },
] as const;

interface ProcessParts {
  readonly config: Config;
  readonly engines: Engines;
  readonly version: string;
}

/** Registers figures of this process. */
export const measureProcess = (registry: Registry, { config, engines, version }: ProcessParts): void => {
  measureAppends(registry, engines);
  new Gauge({
    name: 'outbox_build_info',
    help: 'Version of the service and of Node; always 1',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version, node: process.versions.node }, 1);
  for (const { figure, ...metric } of POOL_GAUGES) {
    readGauge(registry, {
      ...metric,
      labelNames: ['pool'],
      // The pool of scrapes is in use whenever it is read.
      read: async () =>
        poolUse()
          .filter(({ name }) => name !== METRICS_POOL.name)
          .map(({ name: pool, [figure]: value }) => ({ labels: { pool }, value })),
    });
  }
  readGauge(registry, {
    name: 'outbox_certificate_expiry_timestamp_seconds',
    help: 'Time at which a certificate of this process expires, in seconds since 1970',
    labelNames: ['certificate'],
    read: async () => [
      ...(await expiryOf('tls', config.tlsFiles?.cert)),
      ...(await expiryOf('webhook', config.webhookTlsFiles?.cert)),
    ],
  });
};

/** Jobs in the queues of mail. */
export const measureQueues = (registry: Registry | undefined, queues: DeliveryQueues): void => {
  if (registry === undefined) return;
  readGauge(registry, {
    name: 'outbox_queue_jobs',
    help: 'Jobs in the queues of mail that is about to be sent',
    labelNames: ['queue', 'state'],
    read: async () => {
      const counts = await Promise.all(
        Object.entries(queues).map(async ([queue, { counts }]) => ({ queue, ...(await counts()) })),
      );
      return counts.flatMap(({ queue, waiting, active }) => [
        { labels: { queue, state: 'waiting' }, value: waiting },
        { labels: { queue, state: 'active' }, value: active },
      ]);
    },
  });
};

/** Clients that follow the event feed. */
export const measureStreams = (registry: Registry | undefined, streams: () => number): void => {
  if (registry === undefined) return;
  readGauge(registry, {
    name: 'outbox_event_streams',
    help: 'Open streams of the event feed',
    read: async () => one(streams()),
  });
};

const POST_RESULTS = ['accepted', 'rejected', 'gone', 'unanswered'] as const;

const resultOf = (answer: WebhookAnswer): (typeof POST_RESULTS)[number] => {
  if (answer.status === null) return 'unanswered';
  if (answer.status === GONE) return 'gone';
  return isSuccess(answer) ? 'accepted' : 'rejected';
};

/** Counts what this process posts to webhooks. */
export const measureWebhookPosts = (registry: Registry | undefined, target: WebhookTarget): WebhookTarget => {
  if (registry === undefined) return target;
  const registers = [registry];
  const posts = new Counter({
    name: 'outbox_webhook_posts_total',
    help: 'Posts to webhook endpoints by result',
    labelNames: ['result'],
    registers,
  });
  for (const result of POST_RESULTS) posts.inc({ result }, 0);
  const seconds = new Histogram({
    name: 'outbox_webhook_post_duration_seconds',
    help: 'Duration of posts to webhook endpoints',
    buckets: POST_BUCKETS_SECONDS,
    registers,
  });
  return {
    ...target,
    post: async (request) => {
      const answer = await target.post(request);
      posts.inc({ result: resultOf(answer) });
      seconds.observe(answer.durationMs / MS_PER_SECOND);
      return answer;
    },
  };
};
