import type { RecordedEvent } from '../domain/kernel/event-store.ts';
import type { HealthParts } from '../http/service-health.ts';
import { rebuiltNow } from '../projections/session.ts';
import { auditState } from './audit-state.ts';
import { databasePart, diskPart, type HealthOptions, queuesPart, redisPart } from './engine-health.ts';
import { type Instance, readInstances } from './instances.ts';
import { readBackupNote } from './last-backup.ts';
import { mailHealth } from './mail-health.ts';
import { readModelProblems } from './problems.ts';
import { version } from './version.ts';

/** Health of each part of the service, for operators. `http/service-health.ts` applies time-outs and collects it. */

const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;

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
  workers: 'no process has the role workers: no mail leaves and no webhook is posted',
  projections: 'no process has the role projections: lists, statistics and mail retries do not advance',
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
    const mixed = versions.size > 1 ? [`processes of different versions run: ${[...versions].join(', ')}`] : [];
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
      problems: replaced === null ? [] : ['the log was replaced by another or by an older copy: docs/operations.md'],
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
    const disputed = await readModels.audit.disputed();
    const { last, problems } = await auditState(engines, disputed);
    return {
      facts: {
        checked_at: last?.at ?? null,
        verdict: last?.verdict ?? null,
        faults: last?.faults ?? 0,
        logs_disputed: disputed,
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
