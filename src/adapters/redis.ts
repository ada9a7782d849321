import { Redis, type RedisOptions } from 'ioredis';
import type { Logger } from '../lib/async/async.ts';

/** Longest pause between two attempts to connect, and the longest delay in noticing a recovered Redis. */
const RETRY_MS_MAX = 1_000;
const RETRY_STEP_MS = 50;

/** A server that takes longer to accept is considered down. */
const CONNECT_MS = 4_000;

/**
 * A connection on which a due answer does not arrive for this long is closed: a firewall may have dropped it, and the
 * operating system would wait for a quarter of an hour. Longer than a worker's wait for its next job, which BullMQ ends
 * after 10 s at most. Any longer stalls the queue.
 */
const SILENCE_MS = 15_000;

/** Reconnects forever, with short pauses. */
export const redisOptions = {
  connectTimeout: CONNECT_MS,
  keepAlive: 10_000,
  socketTimeout: SILENCE_MS,
  retryStrategy: (tries: number) => Math.min(tries * RETRY_STEP_MS, RETRY_MS_MAX),
} satisfies RedisOptions;

/**
 * A connection for callers that prefer an error to waiting: a command fails at once while Redis is down, and after
 * `commandMs` if it does not answer.
 */
export const connectRedis = (url: string, commandMs: number): Redis =>
  new Redis(url, {
    ...redisOptions,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandMs,
  });

/** Logs once when the connection is lost, and once when it is back. */
export const logOutages = (redis: Redis, logger: Logger, use: string): void => {
  let away = false;
  let reason: string | undefined;
  redis.on('error', (error) => {
    reason = error.message;
  });
  redis.on('reconnecting', () => {
    if (!away) logger.warn({ reason, use }, 'cannot reach Redis');
    away = true;
  });
  redis.on('ready', () => {
    if (away) logger.info({ use }, 'Redis is reachable again');
    away = false;
    reason = undefined;
  });
};
