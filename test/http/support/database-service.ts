import { Client } from 'pg';
import { createContentsCodec } from '../../../src/adapters/contents/contents-codec.ts';
import { createPostgresContents } from '../../../src/adapters/contents/postgres.ts';
import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { createPostgresMemberViews } from '../../../src/adapters/member-views.ts';
import { createPostgresRefusedRequests } from '../../../src/adapters/refused-requests.ts';
import { createPostgresRequestOrigins } from '../../../src/adapters/request-origins.ts';
import { createPostgresRetention } from '../../../src/adapters/retention/postgres.ts';
import { createPostgresSecrets, createSecretBox } from '../../../src/adapters/secrets/postgres.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { createPostgresUsageMarks } from '../../../src/adapters/usage-marks.ts';
import { createPostgresWebhookDeliveries } from '../../../src/adapters/webhook-deliveries/postgres.ts';
import { createSendingQuotas } from '../../../src/commands/message/enforce-quota.ts';
import { countUsed } from '../../../src/composition/start-api.ts';
import { BUILT_IN_PLANS } from '../../../src/domain/billing/plan.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import { WEBHOOKS_MAX_DEFAULT } from '../../../src/domain/webhook/webhook.ts';
import { createLiveFeed } from '../../../src/http/resources/events/live-feed.ts';
import { createPool } from '../../../src/lib/postgres/postgres.ts';
import { createAwaitedPositions } from '../../../src/lib/projections/projections.ts';
import { NO_POLICY } from '../../../src/lib/transparency/transparency.ts';
import { createReadModels } from '../../../src/projections/read-models.ts';
import { RUNNER_CONNECTIONS } from '../../../src/projections/runner.ts';
import { silentLogger } from '../../support/logger.ts';
import { migratedDatabase } from '../../support/postgres.ts';
import { runProjections } from '../../support/run-projections.ts';
import { type Service, startService } from './service.ts';

export interface DatabaseService extends Service {
  /** URL of its database. */
  readonly url: string;
  /** Breaks every connection to the database, as a restart of the server does. */
  breakConnections(): Promise<void>;
}

const SECRET_KEYS = { current: 'a secret key of a test, long enough' };

/** The API on a new database, or on that of another process, with its projections running. */
export const startDatabaseService = async ({
  encrypts = false,
  system = createSystem(),
  plans = BUILT_IN_PLANS,
  witnessPolicy = NO_POLICY,
  webhooksMax = WEBHOOKS_MAX_DEFAULT,
  beside = null as Pick<DatabaseService, 'url'> | null,
} = {}): Promise<DatabaseService> => {
  const database = beside === null ? await migratedDatabase() : { url: beside.url, drop: async () => undefined };
  const { url } = database;
  const logger = silentLogger;
  const pool = createPool({ url, name: 'test', logger });
  const runnerPool = createPool({ url, name: 'test projections', logger, max: RUNNER_CONNECTIONS });
  const box = createSecretBox(SECRET_KEYS, 'vault.contents', system);
  const contentsCodec = createContentsCodec({ box, encrypts });
  const store = await createPostgresEventStore({ url, codec: eventCodec, contentsCodec, system, logger });
  const usageMarks = createPostgresUsageMarks({ pool, system, logger });
  const requestOrigins = createPostgresRequestOrigins({ pool, system, logger });
  const awaited = createAwaitedPositions();
  const projections = runProjections({ pool: runnerPool, store, system, logger, awaited });
  const readModels = createReadModels({ pool, store, system, awaited });
  const contents = createPostgresContents({ pool, codec: contentsCodec });
  const liveFeed = createLiveFeed({ pool, store, contents, readModels, system, logger });
  const service = await startService({
    usageMarks,
    requestOrigins,
    refusedRequests: createPostgresRefusedRequests({ pool }),
    memberViews: createPostgresMemberViews({ pool }),
    webhookDeliveries: createPostgresWebhookDeliveries({ pool }),
    retention: createPostgresRetention({ pool, codec: contentsCodec }),
    readModels,
    liveFeed,
    witnessPolicy,
    webhooksMax,
    context: {
      store,
      system,
      contents,
      plans,
      quotas: createSendingQuotas(countUsed(readModels, store), system),
      secrets: createPostgresSecrets({ pool, system, secretKeys: SECRET_KEYS }),
    },
  });
  return {
    ...service,
    url,
    breakConnections: async () => {
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      await client.end();
    },
    close: async () => {
      await service.close();
      await liveFeed.close();
      await projections.close();
      await usageMarks.close();
      await requestOrigins.close();
      await store.close();
      await pool.end();
      await runnerPool.end();
      await database.drop();
    },
  };
};
