import type { Redis } from 'ioredis';
import type { RateLimiter } from '../../domain/kernel/rate-limits.ts';
import type { Logger, System } from '../../lib/async/async.ts';
import { connectRedis } from '../redis.ts';
import { createInMemoryRateLimiter, RUNS_PER_WINDOW, resultOf, type TakeResult, WINDOW_MS } from './in-memory.ts';

/** Maximum wait of a request for its count. Shorter falls back on every hiccup, longer is noticed by all clients. */
const ANSWER_MS = 50;

/** Time-out of a command that its caller no longer waits for. Only then is the connection's silence an error. */
const COMMAND_MS = 1_000;

/** Interval of probes whether Redis answers again. Also how long the local count continues after that. */
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
 * Counts in Redis, for all processes together. While Redis does not answer within 50 ms, each process counts on its
 * own, from zero: a key then has its limit once per process, never no limit, and no request waits.
 */
export const createRedisRateLimiter = async (options: Options): Promise<RateLimiter> => {
  const { url, system, logger, windowMs = WINDOW_MS } = options;
  const redis = connectRedis(url, COMMAND_MS);
  redis.on('error', () => undefined); // reported by the command that fails
  const takeFromBucket = defineTake(redis);
  const local = createInMemoryRateLimiter({ system, windowMs });
  const closing = new AbortController();
  let isTrusted = false;
  let recovering: Promise<void> | undefined;

  /** Checks for an answer before the clock, so that one that arrived while this process was busy is used. */
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

  const takeShared = async (bucket: string, cost: number, limit: number): Promise<TakeResult> => {
    const answer = await inTime(takeFromBucket(PREFIX + bucket, cost, limit, windowMs));
    const [allowed = 0, used = 0, resetMs = 0, retryAfterMs = 0] = answer;
    return { allowed: allowed === 1, used, resetMs, retryAfterMs };
  };

  /** Takes for real: a Redis that answers but cannot write (full, a replica) is useless. */
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

  /** One late answer is not an outage. Redis is asked again at once, and only a second failure is logged. */
  const recover = async (): Promise<void> => {
    const fault = await probe();
    if (fault !== undefined && !closing.signal.aborted) {
      logger.warn({ err: fault }, 'rate limits: Redis does not answer. Each process counts separately');
      await untilItAnswers();
      if (!closing.signal.aborted) logger.info({}, 'rate limits: Redis answers again. Processes share their counts');
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

/**
 * `takeFrom` of `in-memory.ts` in Lua, with `now` in milliseconds. A test compares the two.
 * KEYS: the bucket, a flat list first, last, cost, first, last, cost, … in MessagePack. ARGV: cost, limit, window.
 * Returns allowed, used, resetMs, retryAfterMs.
 */
export const TAKE_AT_NOW = `
local cost, limit, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local stored = redis.call('GET', KEYS[1])
local old = stored and cmsgpack.unpack(stored) or {}
local runs, used = {}, 0
for i = 1, #old, 3 do
  -- The server's clock may be set back: what then lies in the future has happened just now.
  local last = math.min(old[i + 1], now)
  if last + window > now then
    runs[#runs + 1] = math.min(old[i], now)
    runs[#runs + 1] = last
    runs[#runs + 1] = old[i + 2]
    used = used + old[i + 2]
  end
end
local n = #runs
if used + cost <= limit then
  if cost > 0 then
    if n == 0 or now - runs[n - 2] >= window / ${RUNS_PER_WINDOW} then
      runs[n + 1], runs[n + 2], runs[n + 3] = now, now, cost
      n = n + 3
    else
      runs[n - 1], runs[n] = now, runs[n] + cost
    end
    redis.call('SET', KEYS[1], cmsgpack.pack(runs), 'PX', window)
  end
  local reset = 0
  if n > 0 then reset = runs[n - 1] + window - now end
  return {1, used + cost, reset, 0}
end
local free, retry = limit - used, 0
for i = 1, n, 3 do
  free = free + runs[i + 2]
  retry = runs[i + 1] + window - now
  if free >= cost then break end
end
local reset = 0
if n > 0 then reset = runs[n - 1] + window - now end
return {0, used, reset, math.max(retry, 1)}
`;

/** One round trip, atomic, by the server's clock, so that processes with different clocks count alike. */
const TAKE_SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
${TAKE_AT_NOW}`;
