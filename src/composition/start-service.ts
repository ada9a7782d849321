import { ADVISORY_LOCKS } from '../adapters/postgres/advisory-locks.ts';
import { takeSessionLock } from '../adapters/postgres/session-lock.ts';
import { createPostgresWebhookDeliveries } from '../adapters/webhook-deliveries/postgres.ts';
import type { Config } from '../config.ts';
import type { Logger } from '../domain/logger.ts';
import { StartRefused } from '../domain/start-refused.ts';
import { requireSameLog } from '../projections/checkpoints.ts';
import { persistently } from '../workers/persistently.ts';
import { requireRecordedFrom } from '../workers/webhooks/record-webhook-deliveries.ts';
import { baseUrlOf } from './base-url.ts';
import { createClosers } from './closers.ts';
import { type FirstKeys, firstStart, noteKeysShown } from './first-start.ts';
import { noteMailSettings } from './mail-settings.ts';
import { type Engines, openEngines } from './open-engines.ts';
import type { RoleEvents } from './role.ts';
import { type RunningApi, startApi } from './start-api.ts';
import { startMetrics } from './start-metrics.ts';
import { startProjections } from './start-projections.ts';
import { startWorkers } from './start-workers.ts';

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
      await persistently(system, () => noteKeysShown(context)).finally(() => lock?.release());
    },
  };
};

/** Nobody may append to a log that is being copied, and what is derived from one must not be mixed with another. */
const claimLog = async ({ databaseUrl, pool, store, closers }: Engines): Promise<void> => {
  const lock = await takeSessionLock(databaseUrl, ADVISORY_LOCKS.log, 'shared');
  if (lock === null) throw new StartRefused('the log is being copied: start again when that has ended');
  closers.add('hold on the log', lock.release);
  const logId = await store.logId();
  await requireSameLog(pool, logId);
  await requireRecordedFrom(createPostgresWebhookDeliveries({ pool }), logId);
};

/** Roles open in the order of the data's way, so that they close against it: first nothing new comes in. */
const startRoles = async (
  config: Config,
  engines: Engines,
  { isStarted, ...events }: RoleEvents & { isStarted(): boolean },
): Promise<RunningApi | undefined> => {
  const { roles } = config;
  const { closers } = engines;
  const registry = await startMetrics(config, engines);
  if (roles.has('projections')) closers.add('projections', (await startProjections(engines, events)).stop);
  // Mail that leaves before the API has picked a port is rare, and such a port is gone at the next start anyway.
  let baseUrl = baseUrlOf(config, config.port);
  const links = { publicUrl: () => baseUrl, registry };
  if (roles.has('workers')) closers.add('workers', (await startWorkers(config, engines, events, links)).stop);
  if (!roles.has('api')) return undefined;
  const api = await startApi(config, engines, { registry, isStarted });
  baseUrl = api.baseUrl;
  closers.add('API', api.stop);
  return api;
};

const submissionPlace = ({ host }: Config, api: RunningApi | undefined): readonly string[] => {
  const ports = [api?.submissionPort, api?.submissionTlsPort].filter((port) => port !== undefined);
  return ports.map((port) => `Mail is taken by SMTP at ${host}:${port}`);
};

/**
 * Opens what the configuration says and starts the roles. What was opened is closed again when a later part fails.
 * @throws {StartRefused}
 */
export const startService = async (config: Config, logger: Logger, events: RoleEvents): Promise<Service> => {
  const closers = createClosers(logger);
  try {
    const engines = await openEngines({ config, logger, closers, owner: { onLost: events.onFatal } });
    await claimLog(engines);
    let started = false;
    const api = await startRoles(config, engines, { ...events, isStarted: () => started });
    // A process that only follows the log need not know how mail leaves.
    if (api !== undefined || config.roles.has('workers')) await noteMailSettings(engines.context.secrets, config);
    // Last, when nothing else can fail, and by whoever prints them.
    const first = api === undefined ? NOTHING_TO_SHOW : await firstStartOnce(engines, config);
    started = true;
    const places = [...engines.places, ...submissionPlace(config, api)];
    return { baseUrl: api?.baseUrl, ...first, places, stop: closers.closeAll };
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
};
