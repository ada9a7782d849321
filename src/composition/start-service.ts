import { createPostgresWebhookDeliveries } from '../adapters/webhook-deliveries/postgres.ts';
import type { Config } from '../config.ts';
import { LOG_START } from '../domain/kernel/event-store.ts';
import { type Logger, retry, retryWhileAway, StartRefused } from '../lib/async/async.ts';
import {
  ADVISORY_LOCKS,
  createPool,
  keepSessionLock,
  orUnavailable,
  takeSessionLock,
} from '../lib/postgres/postgres.ts';
import { isInLog, requireReached, requireSameLog } from '../projections/checkpoints.ts';
import { createProjectionRunner, RUNNER_CONNECTIONS } from '../projections/runner.ts';
import { requireRecordedFrom } from '../workers/webhooks/record-webhook-deliveries.ts';
import { type FirstKeys, firstStart, noteKeysShown } from './first-start.ts';
import { instanceMark } from './instances.ts';
import { baseUrlOf, createClosers, type RoleEvents, type RunningRole } from './lifecycle.ts';
import { type Engines, openEngines, type ServiceOverrides } from './open-engines.ts';
import { noteApiUrl, noteMailSettings } from './open-operator.ts';
import { type RunningApi, startApi } from './start-api.ts';
import { startMetrics } from './start-metrics.ts';
import { openWorkers } from './start-workers.ts';
import { version } from './version.ts';
import { watchEventLoop } from './watch-event-loop.ts';

/**
 * For one statement of a batch. Longer waits longer for a server that vanished, shorter repeats what a slow disk cannot
 * finish in time.
 */
const STATEMENT_MS = 30_000;

/** Keeps the read models up to date. @throws {StartRefused} they were made from another log. */
export const startProjections = async (engines: Engines, { onFatal }: RoleEvents): Promise<RunningRole> => {
  const { store, logFollower: log, awaited, system, logger, databaseUrl, closers, decorate } = engines;
  const options = { url: databaseUrl, logger, max: RUNNER_CONNECTIONS };
  const pool = decorate.pool(createPool({ ...options, name: 'projections', statementTimeoutMs: STATEMENT_MS }));
  closers.add('projections pool', () => pool.end());
  // A rebuild's statements have no time limit.
  const rebuildPool = createPool({ ...options, name: 'rebuilds', statementTimeoutMs: 0 });
  closers.add('rebuilds pool', () => rebuildPool.end());
  const stopping = new AbortController();
  const runner = createProjectionRunner({ pool, rebuildPool, store, log, awaited, system, logger });
  const ended = runner.run(stopping.signal).catch(onFatal);
  return {
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
};

export interface Service {
  /** Absent: this process does not have the role `api`. */
  readonly baseUrl: string | undefined;
  /** To print; null: printed before. */
  readonly firstKeys: FirstKeys | null;
  /** Call once `firstKeys` are printed: otherwise the next start prints new ones. */
  noteKeysShown(): Promise<void>;
  readonly places: readonly string[];
  /** Stops the roles, then closes everything in reverse. */
  stop(): Promise<void>;
}

type First = Pick<Service, 'firstKeys' | 'noteKeysShown'>;

const NOTHING_TO_SHOW: First = { firstKeys: null, noteKeysShown: async () => undefined };

/** If several processes start at once, one prints the keys and the others wait. */
const firstStartOnce = async (
  { databaseUrl, context, system, closers }: Engines,
  { adminKey }: Config,
): Promise<First> => {
  const lock = await takeSessionLock(databaseUrl, ADVISORY_LOCKS.firstStart, 'waited for');
  closers.add('first start lock', async () => lock?.release());
  let firstKeys: FirstKeys | null = null;
  try {
    firstKeys = await firstStart(context, adminKey);
  } finally {
    if (firstKeys === null) await lock?.release();
  }
  if (firstKeys === null) return NOTHING_TO_SHOW;
  return {
    firstKeys,
    noteKeysShown: async () => {
      await retry(system, () => noteKeysShown(context)).finally(() => lock?.release());
    },
  };
};

const RECORDED_BEYOND =
  'the log is an older copy: it ends before the last event that webhooks were recorded from. Connect the newer log, or continue at the end of this one with "npm run outbox -- projections rebuild webhook-recording"';

/** Refuses a log that is being copied, or that differs from the one read models and webhooks were derived from. */
const claimLog = async ({ databaseUrl, pool, log, system, closers }: Engines, config: Config): Promise<void> => {
  const name = instanceMark(config, await version());
  const lock = await keepSessionLock({ url: databaseUrl, lock: ADVISORY_LOCKS.log, name, system });
  if (lock === null) throw new StartRefused('the log is being copied: start again afterwards');
  closers.add('log lock', lock.release);
  const logId = await retryWhileAway({ system }, log.logId);
  await retryWhileAway({ system }, () => orUnavailable(requireSameLog(pool, logId)));
  await retryWhileAway({ system }, () => orUnavailable(requireReached(pool, log)));
  const recorded = createPostgresWebhookDeliveries({ pool });
  const recording = await retryWhileAway({ system }, () => requireRecordedFrom(recorded, logId));
  const isReached = await retryWhileAway({ system }, () => isInLog(log, recording?.position ?? LOG_START));
  if (!isReached) throw new StartRefused(RECORDED_BEYOND);
};

/**
 * Opens the roles so that they close in the reverse order: the API first, so that nothing new comes in. Workers begin last:
 * their backlog must not delay the start, and links in their mail need the API's port.
 */
const startRoles = async (
  config: Config,
  engines: Engines,
  { isStarted, overrides, ...events }: RoleEvents & { isStarted(): boolean; readonly overrides: ServiceOverrides },
): Promise<RunningApi | undefined> => {
  const { roles } = config;
  const { closers, system, logger } = engines;
  const registry = await startMetrics(config, engines);
  const eventLoop = watchEventLoop({ system, logger, registry });
  closers.add('event loop watch', async () => eventLoop.stop());
  if (roles.has('projections')) closers.add('projections', (await startProjections(engines, events)).stop);
  let baseUrl = baseUrlOf(config, config.port);
  const links = { publicUrl: () => baseUrl, registry, overrides };
  const workers = roles.has('workers') ? await openWorkers(config, engines, events, links) : undefined;
  if (workers !== undefined) closers.add('workers', workers.stop);
  const api = roles.has('api')
    ? await startApi(config, engines, { registry, eventLoop, workers, isStarted })
    : undefined;
  if (api !== undefined) {
    baseUrl = api.baseUrl;
    closers.add('API', api.stop);
  }
  workers?.begin();
  return api;
};

const noteMail = ({ context, system }: Engines, config: Config): Promise<void> =>
  retryWhileAway({ system }, () => noteMailSettings(context.secrets, config));

const noteApi = ({ context, system }: Engines, { baseUrl }: RunningApi): Promise<void> =>
  retryWhileAway({ system }, () => noteApiUrl(context.secrets, baseUrl));

const submissionPlace = ({ host }: Config, api: RunningApi | undefined): readonly string[] => {
  const ports = [api?.submissionPort, api?.submissionTlsPort].filter((port) => port !== undefined);
  return ports.map((port) => `SMTP submission at ${host}:${port}`);
};

/**
 * Opens the configured parts and starts the roles. If one fails, the others are closed again.
 * @throws {StartRefused}
 */
export const startService = async (
  config: Config,
  logger: Logger,
  events: RoleEvents,
  overrides: ServiceOverrides = {},
): Promise<Service> => {
  const closers = createClosers(logger);
  try {
    const engines = await openEngines({ config, logger, closers, owner: { onLost: events.onFatal }, overrides });
    await claimLog(engines, config);
    const { roles } = config;
    // Projections do not need the mail settings.
    if (roles.has('api') || roles.has('workers')) await noteMail(engines, config);
    // Before any role reads or writes. If this start fails later, the next one replaces the keys.
    const first = roles.has('api') ? await firstStartOnce(engines, config) : NOTHING_TO_SHOW;
    let started = false;
    const api = await startRoles(config, engines, { ...events, overrides, isStarted: () => started });
    if (api !== undefined) await noteApi(engines, api);
    started = true;
    const places = [...engines.places, ...submissionPlace(config, api)];
    return { baseUrl: api?.baseUrl, ...first, places, stop: closers.closeAll };
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
};
