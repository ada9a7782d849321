import { redisIsMissing, startRedis } from '../../test/support/redis.ts';
import type { Bench } from './bench.ts';

export const WITHOUT_REDIS = 'redis-server is not installed';

/** Starts a Redis server with an append-only file. @returns its URL; null if this machine has no Redis. */
export const openRedis = async ({ closers }: Pick<Bench, 'closers'>): Promise<string | null> => {
  if (redisIsMissing) return null;
  const redis = await startRedis();
  closers.add('Redis', redis.stop);
  return redis.url;
};
