import { onTestFinished } from 'vitest';
import { createPostgresContents } from '../../src/adapters/contents/postgres.ts';
import { createPostgresEventStore } from '../../src/adapters/event-store.ts';
import { createSystem } from '../../src/adapters/system.ts';
import { eventCodec } from '../../src/domain/kernel/codec.ts';
import type { Logger } from '../../src/lib/async/async.ts';
import { createPool } from '../../src/lib/postgres/postgres.ts';
import { createAwaitedPositions } from '../../src/lib/projections/projections.ts';
import { createReadModels } from '../../src/projections/read-models.ts';
import { RUNNER_CONNECTIONS } from '../../src/projections/runner.ts';
import { silentLogger } from './logger.ts';
import { migratedDatabase } from './postgres.ts';
import { runProjections } from './run-projections.ts';

/** Connections in addition to those of the projections. */
const CONNECTIONS = 10;

/** A log and a vault in PostgreSQL, with read models that follow the log until the test ends. */
export const openProjectedPostgres = async (logger: Logger = silentLogger) => {
  const { url, drop } = await migratedDatabase();
  onTestFinished(drop);
  const system = createSystem();
  const store = await createPostgresEventStore({ url, codec: eventCodec, system, logger });
  const pool = createPool({ url, name: 'test', logger, max: RUNNER_CONNECTIONS + CONNECTIONS });
  onTestFinished(() => pool.end());
  const awaited = createAwaitedPositions();
  const projections = runProjections({ pool, store, system, logger, awaited });
  onTestFinished(() => projections.close());
  const readModels = createReadModels({ pool, store, system, awaited });
  return { url, system, store, pool, contents: createPostgresContents({ pool }), readModels };
};
