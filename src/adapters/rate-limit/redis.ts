import type { Redis } from 'ioredis';
import type { Logger } from '../../domain/ports/logger.ts';
import type { System } from '../../domain/ports/system.ts';
import type { RateLimiter } from '../../domain/rate-limits.ts';
import { connectRedis } from '../redis/connect.ts';
import { createInMemoryRateLimiter } from './in-memory.ts';
import { resultOf, type Taken, WINDOW_MS } from './sliding-window.ts';
import { TAKE_SCRIPT } from './take-script.ts';

/** A request waits this long at most for its count. Shorter falls back for a hiccup, longer is felt by everybody. */
const ANSWER_MS = 50;

/** A command that nobody waits for any more is given up after this: only then is the connection's silence an error. */
const COMMAND_MS = 1_000;

/** How often Redis is asked whether it answers again: also how long the local count goes on after that. */
const PROBE_MS = 1_000;

/** At the start, how long to wait for a first connection before counting locally. */
const FIRST_CONNECTION_MS = 1_000;

const PREFIX = 'outbox:rate:';
const PROBE_BUCKET = 'probe';
const PROBE_LIMIT = 1_000_000;

interface Options {
  readonly url: string;
  readonly system: System;
  readonly logger: Logger;
  readonly windowMs?: number;
}

type TakeCommand = (key: string, cost: number, limit: number, windowMs: number) => Promise<readonly number[]>;

const defineTake = (redis: Redis): TakeCommand => {
  redis.defineCommand('takeFromBucket', { numberOfKeys: 1, lua: TAKE_SCRIPT });
  const { takeFromBucket } = redis as Redis & { takeFromBucket: TakeCommand };
  return takeFromBucket.bind(redis);
};

/**
 * Counts in Redis, for all processes together. While Redis does not answer within 50 ms each process counts by itself,
 * from nothing: a key then has its limit once per process, never no limit, and no request waits.
 */
export const createRedisRateLimiter = async (options: Options): Promise<RateLimiter> => {
  const { url, system, logger, windowMs = WINDOW_MS } = options;
  const redis = connectRedis(url, COMMAND_MS);
  redis.on('error', () => undefined); // told by the command that fails
  const takeFromBucket = defineTake(redis);
  const local = createInMemoryRateLimiter({ system, windowMs });
  const closing = new AbortController();
  let isTrusted = false;
  let recovering: Promise<void> | undefined;

  /** An answer that has come is seen before the clock is, even where this process was busy meanwhile. */
  const inTime = async <T>(answer: Promise<T>): Promise<T> => {
    const answered = new AbortController();
    const late = async (): Promise<never> => {
      await system.sleep(ANSWER_MS, answered.signal);
      await new Promise((resume) => setImmediate(resume));
      throw new Error(`no answer within ${ANSWER_MS} ms`);
    };
    try {
      return await Promise.race([answer, late()]);
    } finally {
      answered.abort();
    }
  };

  const takeShared = async (bucket: string, cost: number, limit: number): Promise<Taken> => {
    const answer = await inTime(takeFromBucket(PREFIX + bucket, cost, limit, windowMs));
    const [allowed = 0, used = 0, resetMs = 0, retryAfterMs = 0] = answer;
    return { allowed: allowed === 1, used, resetMs, retryAfterMs };
  };

  /** Takes for real: a Redis that answers but cannot write (full, a replica) is of no use. */
  const probe = (): Promise<unknown> =>
    takeShared(PROBE_BUCKET, 1, PROBE_LIMIT).then(
      () => undefined,
      (fault: unknown) => fault,
    );

  const pause = (ms: number): Promise<void> => system.sleep(ms, closing.signal).catch(() => undefined);

  const untilItAnswers = async (): Promise<void> => {
    let fault = await probe();
    while (fault !== undefined && !closing.signal.aborted) {
      await pause(PROBE_MS);
      fault = await probe();
    }
  };

  /** One late answer is no outage: Redis is asked again at once, and only then is anything said. */
  const recover = async (): Promise<void> => {
    const fault = await probe();
    if (fault !== undefined && !closing.signal.aborted) {
      logger.warn({ err: fault }, 'rate limits: Redis does not answer, each process counts by itself');
      await untilItAnswers();
      if (!closing.signal.aborted) logger.info({}, 'rate limits: Redis answers again and counts for all');
    }
  };

  const distrust = (): void => {
    isTrusted = false;
    recovering ??= recover().finally(() => {
      recovering = undefined;
      isTrusted = !closing.signal.aborted;
    });
  };

  if (redis.status !== 'ready') {
    await Promise.race([new Promise((ready) => redis.once('ready', ready)), pause(FIRST_CONNECTION_MS)]);
  }
  if ((await probe()) === undefined) isTrusted = true;
  else distrust();

  return {
    take: async (bucket, cost, limit) => {
      if (!isTrusted) return local.take(bucket, cost, limit);
      try {
        return resultOf(await takeShared(bucket, cost, limit), limit);
      } catch {
        distrust();
        return local.take(bucket, cost, limit);
      }
    },
    close: async () => {
      closing.abort();
      redis.disconnect();
      await recovering;
    },
  };
};
