import { startEventStoreDbDouble } from '../../test/support/eventstoredb-double/start.ts';
import { redisIsMissing, startRedis } from '../../test/support/redis.ts';
import type { WorldOptions } from '../harness/world.ts';
import type { Undo } from './stage.ts';

/** Maps a URL to one that leads through the proxy. */
type Through = (url: string) => Promise<string>;

/** A dependency of the program, reached through a proxy. */
export interface Dependency {
  readonly name: string;
  /** True if outcomes of attempts travel this way, so that lost replies can leave an attempt in doubt. */
  readonly bearsOutcomes: boolean;
  readonly skipped?: string;
  place(through: Through, undo: Undo): Promise<WorldOptions>;
}

export const REDIS_SKIPPED = redisIsMissing ? { skipped: 'redis-server is not installed' } : {};

const postgres: Dependency = {
  name: 'PostgreSQL',
  bearsOutcomes: true,
  place: async (through) => ({
    env: async ({ databaseUrl = '' }) => ({ DATABASE_URL: await through(databaseUrl) }),
  }),
};

const redis: Dependency = {
  name: 'the queue on Redis',
  bearsOutcomes: false,
  ...REDIS_SKIPPED,
  place: async (through, undo) => {
    const server = await startRedis();
    undo(server.stop);
    return { env: async () => ({ REDIS_URL: await through(server.url) }) };
  },
};

const eventStoreDb: Dependency = {
  name: 'EventStoreDB',
  bearsOutcomes: true,
  place: async (through, undo) => {
    const double = await startEventStoreDbDouble();
    undo(double.close);
    return {
      log: { EVENTSTORE_URL: double.url },
      env: async () => ({ EVENTSTORE_URL: await through(double.url) }),
    };
  },
};

const mailServer: Dependency = {
  name: 'the mail server',
  bearsOutcomes: true,
  place: async (through) => ({ env: async ({ mailUrl }) => ({ MAIL_URL: await through(mailUrl) }) }),
};

const webhookReceiver: Dependency = {
  name: 'the webhook receiver',
  bearsOutcomes: false,
  place: async (through) => ({ webhookUrl: through }),
};

export const DEPENDENCIES: readonly Dependency[] = [postgres, redis, eventStoreDb, mailServer, webhookReceiver];
