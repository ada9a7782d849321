import { createInMemoryRateLimiter } from '../adapters/rate-limit/in-memory.ts';
import { createPostgresRateLimiter } from '../adapters/rate-limit/postgres.ts';
import { createRedisRateLimiter } from '../adapters/rate-limit/redis.ts';
import type { Config } from '../config.ts';
import type { RateLimiter } from '../domain/kernel/rate-limits.ts';
import { createPool } from '../lib/postgres/postgres.ts';
import type { Engines } from './open-engines.ts';

/** Time-out of a sync of rate limits. Longer: a failing sync is logged later, while each process counts on its own. */
const SYNC_TIMEOUT_MS = 1_000;

/** In Redis if configured, else in a shared database; the built-in one has one process, which counts in memory. */
const openRateLimiter = (
  config: Pick<Config, 'redisUrl' | 'databaseUrl'>,
  engines: Pick<Engines, 'system' | 'logger' | 'closers'>,
): Promise<RateLimiter> => {
  const { redisUrl, databaseUrl } = config;
  const { system, logger, closers } = engines;
  if (redisUrl !== undefined) return createRedisRateLimiter({ url: redisUrl, system, logger });
  if (databaseUrl === undefined) return Promise.resolve(createInMemoryRateLimiter({ system }));
  const options = { name: 'rate limits', max: 1, statementTimeoutMs: SYNC_TIMEOUT_MS };
  const pool = createPool({ url: databaseUrl, logger, ...options });
  closers.add('rate limits pool', () => pool.end());
  return createPostgresRateLimiter({ pool, system, logger });
};

/** Opens the rate limiter of the process when a role first needs it: the API, and the receiver of inbound mail. */
export const createRateLimiterOpener = (
  config: Pick<Config, 'redisUrl' | 'databaseUrl'>,
  engines: Pick<Engines, 'system' | 'logger' | 'closers'>,
): (() => Promise<RateLimiter>) => {
  let opened: Promise<RateLimiter> | undefined;
  return () => {
    opened ??= openRateLimiter(config, engines).then((limiter) => engines.closers.keep('rate limiter', limiter));
    return opened;
  };
};
