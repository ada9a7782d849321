import type { Config } from '../config.ts';
import type { Logger } from '../domain/logger.ts';
import { requireSameLog } from '../projections/checkpoints.ts';
import { createClosers } from './closers.ts';
import { type FirstKeys, firstStart } from './first-start.ts';
import { type Engines, openEngines } from './open-engines.ts';
import type { RoleEvents } from './role.ts';
import { type RunningApi, startApi } from './start-api.ts';
import { startMetrics } from './start-metrics.ts';
import { startProjections } from './start-projections.ts';
import { startWorkers } from './start-workers.ts';

export interface Service {
  /** Absent: this process has not the role `api`. */
  readonly baseUrl: string | undefined;
  readonly firstKeys: FirstKeys | null;
  readonly places: readonly string[];
  /** Stops the roles, then closes everything in reverse. */
  stop(): Promise<void>;
}

/** Any number that nothing else of this service locks by. */
const FIRST_START_LOCK = 7_310_004;

const firstStartOnce = async ({ pool, context }: Engines, { adminKey }: Config): Promise<FirstKeys | null> => {
  const client = await pool.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [FIRST_START_LOCK]);
    return await firstStart(context, adminKey);
  } finally {
    // Closing the session is what gives the lock back, whatever happened.
    client.release(true);
  }
};

/** Roles open in the order of the data's way, so that they close against it: first nothing new comes in. */
const startRoles = async (config: Config, engines: Engines, events: RoleEvents): Promise<RunningApi | undefined> => {
  const { roles } = config;
  const { closers } = engines;
  const registry = await startMetrics(config, engines);
  if (roles.has('projections')) closers.add('projections', (await startProjections(engines, events)).stop);
  if (roles.has('workers')) closers.add('workers', (await startWorkers(config, engines)).stop);
  if (!roles.has('api')) return undefined;
  const api = await startApi(config, engines, registry);
  closers.add('API', api.stop);
  return api;
};

/**
 * Opens what the configuration says and starts the roles. What was opened is closed again when a later part fails.
 * @throws {StartRefused}
 */
export const startService = async (config: Config, logger: Logger, events: RoleEvents): Promise<Service> => {
  const closers = createClosers(logger);
  try {
    const engines = await openEngines({ config, logger, closers, owner: { onLost: events.onFatal } });
    // Before anything is written: what is derived from one log must not be mixed with another.
    await requireSameLog(engines.pool, await engines.store.logId());
    const firstKeys = await firstStartOnce(engines, config);
    const api = await startRoles(config, engines, events);
    return { baseUrl: api?.baseUrl, firstKeys, places: engines.places, stop: closers.closeAll };
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
};
