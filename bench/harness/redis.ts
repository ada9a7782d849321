import { redisIsMissing, startRedis } from '../../test/support/redis.ts';
import type { Bench } from './bench.ts';

export const WITHOUT_REDIS = 'redis-server is not installed';

/** Address of a Redis of the run's own with an append-only file; null: this machine has none. */
export const openRedis = async ({ closers }: Pick<Bench, 'closers'>): Promise<string | null> => {
  if (redisIsMissing) return null;
  const redis = await startRedis();
  closers.add('Redis', redis.stop);
  return redis.url;
};
