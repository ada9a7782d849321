import { createInProcessQueues } from '../adapters/queue/in-process.ts';
import type { Config } from '../config.ts';
import { type Queues, QueueUnavailable } from '../domain/ports/queue.ts';
import { StartRefused } from '../lib/async/async.ts';
import type { Engines } from './open-engines.ts';

/**
 * Queues on Redis if `REDIS_URL` is set, which distribute work among all processes. Otherwise each process queues its
 * share of the work for itself. Loads BullMQ only if it is used.
 * @throws {StartRefused} Redis does not answer.
 */
export const openQueues = async (
  { redisUrl }: Config,
  { system, logger }: Pick<Engines, 'system' | 'logger'>,
): Promise<Queues> => {
  if (redisUrl === undefined) return createInProcessQueues({ system, logger });
  const { createBullmqQueues } = await import('../adapters/queue/bullmq.ts');
  try {
    return await createBullmqQueues(redisUrl, { system, logger });
  } catch (error) {
    if (!(error instanceof QueueUnavailable)) throw error;
    throw new StartRefused(
      `Redis at ${new URL(redisUrl).host} does not answer: start it, or correct REDIS_URL, or unset it`,
    );
  }
};
