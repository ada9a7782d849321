import { orUnavailable } from '../adapters/postgres/pool.ts';
import { ADVISORY_LOCKS, takeSessionLock } from '../adapters/postgres/session-lock.ts';
import { createPostgresWebhookDeliveries } from '../adapters/webhook-deliveries/postgres.ts';
import { retry, retryWhileAway } from '../async/retry.ts';
import type { Config } from '../config.ts';
import { LOG_START } from '../domain/ports/event-store.ts';
import type { Logger } from '../domain/ports/logger.ts';
import { StartRefused } from '../domain/start-refused.ts';
import { isInLog, requireReached, requireSameLog } from '../projections/checkpoints.ts';
import { requireRecordedFrom } from '../workers/webhooks/record-webhook-deliveries.ts';
import { type FirstKeys, firstStart, noteKeysShown } from './first-start.ts';
import { createClosers, type RoleEvents } from './lifecycle.ts';
import { baseUrlOf } from './listen.ts';
import { noteMailSettings } from './mail-settings.ts';
import { type Engines, openEngines, type ServiceOverrides } from './open-engines.ts';
import { type RunningApi, startApi } from './start-api.ts';
import { startMetrics } from './start-metrics.ts';
import { startProjections } from './start-projections.ts';
import { openWorkers } from './start-workers.ts';
import { watchEventLoop } from './watch-event-loop.ts';

export interface Service {
  /** Absent: this process has not the role `api`. */
  readonly baseUrl: string | undefined;
  /** To be printed; null: they have been. */
  readonly firstKeys: FirstKeys | null;
  /** Called once `firstKeys` have been printed: until then the next start prints such keys. */
  noteKeysShown(): Promise<void>;
  readonly places: readonly string[];
  /** Stops the roles, then closes everything in reverse. */
  stop(): Promise<void>;
}

type First = Pick<Service, 'firstKeys' | 'noteKeysShown'>;

const NOTHING_TO_SHOW: First = { firstKeys: null, noteKeysShown: async () => undefined };

/** Of several processes that start at once, the others wait until one has printed the keys, or has ended. */
const firstStartOnce = async (
  { databaseUrl, context, system, closers }: Engines,
  { adminKey }: Config,
): Promise<First> => {
  const lock = await takeSessionLock(databaseUrl, ADVISORY_LOCKS.firstStart, 'waited for');
  closers.add('hold on the first start', async () => lock?.release());
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
  'the log ends before what webhooks have been recorded from, so that it is an older copy: connect the log they belong to, or let them go on at its end with "npm run outbox -- projections rebuild webhook-recording"';

/** Nobody may append to a log that is being copied, and what is derived from one must not be mixed with another. */
const claimLog = async ({ databaseUrl, pool, log, system, closers }: Engines): Promise<void> => {
  const lock = await takeSessionLock(databaseUrl, ADVISORY_LOCKS.log, 'shared');
  if (lock === null) throw new StartRefused('the log is being copied: start again when that has ended');
  closers.add('hold on the log', lock.release);
  const logId = await retryWhileAway({ system }, log.logId);
  await retryWhileAway({ system }, () => orUnavailable(requireSameLog(pool, logId)));
  await retryWhileAway({ system }, () => orUnavailable(requireReached(pool, log)));
  const recorded = createPostgresWebhookDeliveries({ pool });
  const recording = await retryWhileAway({ system }, () => requireRecordedFrom(recorded, logId));
  const isReached = await retryWhileAway({ system }, () => isInLog(log, recording?.position ?? LOG_START));
  if (!isReached) throw new StartRefused(RECORDED_BEYOND);
};

/**
 * Roles open in the order of the data's way, so that they close against it: first nothing new comes in. The workers begin
 * when all are open: what waits for them must not keep the start waiting, and links in their mail name the API's port.
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
  const api = roles.has('api') ? await startApi(config, engines, { registry, eventLoop, isStarted }) : undefined;
  if (api !== undefined) {
    baseUrl = api.baseUrl;
    closers.add('API', api.stop);
  }
  workers?.begin();
  return api;
};

const noteMail = ({ context, system }: Engines, config: Config): Promise<void> =>
  retryWhileAway({ system }, () => noteMailSettings(context.secrets, config));

const submissionPlace = ({ host }: Config, api: RunningApi | undefined): readonly string[] => {
  const ports = [api?.submissionPort, api?.submissionTlsPort].filter((port) => port !== undefined);
  return ports.map((port) => `Mail is taken by SMTP at ${host}:${port}`);
};

/**
 * Opens what the configuration says and starts the roles. What was opened is closed again when a later part fails.
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
    await claimLog(engines);
    const { roles } = config;
    // A process that only follows the log need not know how mail leaves.
    if (roles.has('api') || roles.has('workers')) await noteMail(engines, config);
    // Before any role reads or writes. Keys of a start that fails later are given other values by the next.
    const first = roles.has('api') ? await firstStartOnce(engines, config) : NOTHING_TO_SHOW;
    let started = false;
    const api = await startRoles(config, engines, { ...events, overrides, isStarted: () => started });
    started = true;
    const places = [...engines.places, ...submissionPlace(config, api)];
    return { baseUrl: api?.baseUrl, ...first, places, stop: closers.closeAll };
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
};
