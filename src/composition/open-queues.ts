import type { Config } from '../config.ts';
import { type Queues, QueueUnavailable } from '../domain/ports/queue.ts';
import { StartRefused } from '../lib/async/async.ts';
import type { Engines } from './open-engines.ts';

/**
 * Queues on Redis if `REDIS_URL` is set, otherwise on PostgreSQL. Loads BullMQ, so commands that queue nothing never do.
 * @throws {StartRefused} Redis does not answer.
 */
export const openQueues = async (
  { redisUrl }: Config,
  { databaseUrl, system, logger }: Pick<Engines, 'databaseUrl' | 'system' | 'logger'>,
): Promise<Queues> => {
  if (redisUrl === undefined) {
    const { createPostgresQueues } = await import('../adapters/queue/bullmq-postgres.ts');
    return createPostgresQueues(databaseUrl, { system, logger });
  }
  const { createRedisQueues } = await import('../adapters/queue/bullmq-redis.ts');
  try {
    return await createRedisQueues(redisUrl, { system, logger });
  } catch (error) {
    if (!(error instanceof QueueUnavailable)) throw error;
    throw new StartRefused(
      `Redis at ${new URL(redisUrl).host} does not answer: start it, or correct REDIS_URL, or unset it`,
    );
  }
};
