import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createRedisRateLimiter } from '../../../src/adapters/rate-limit/redis.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { redisIsMissing, startRedis } from '../../support/redis.ts';
import { slowness } from '../../support/slowness.ts';
import { createRecordingLogger } from '../queue/recorder.ts';
import { describeRateLimiter } from './contract.ts';

const system = createSystem();
const LOST = 'rate limits: Redis does not answer. Each process counts separately';
const BACK = 'rate limits: Redis answers again. Processes share their counts';

const openLimiter = async (url: string, windowMs?: number) => {
  const logger = createRecordingLogger();
  const more = windowMs === undefined ? {} : { windowMs };
  const limiter = await createRedisRateLimiter({ url, system, logger, ...more });
  return { limiter, sentences: logger.sentences };
};

/** A server with the limiters of two processes. */
const openTwo = async () => {
  const server = await startRedis();
  const one = await openLimiter(server.url);
  const other = await openLimiter(server.url);
  onTestFinished(async () => {
    await one.limiter.close();
    await other.limiter.close();
    await server.stop();
  });
  return { server, one, other };
};

const untilSaid = (sentences: readonly string[], sentence: string) =>
  vi.waitFor(() => expect(sentences).toContain(sentence), { timeout: 5_000, interval: 10 });

describe.skipIf(redisIsMissing)('with Redis', () => {
  describeRateLimiter('in Redis', async () => {
    const server = await startRedis();
    return { open: async (windowMs) => (await openLimiter(server.url, windowMs)).limiter, stop: server.stop };
  });

  describe('a rate limiter in Redis', () => {
    test('counts for all processes together', async () => {
      const { one, other } = await openTwo();
      const limiters = [one.limiter, other.limiter];
      const results = await Promise.all(
        limiters.flatMap((l) => Array.from({ length: 60 }, () => l.take('key', 1, 50))),
      );
      expect(results.filter(({ allowed }) => allowed).length).toBe(50);
    });

    test('leaves nothing behind once a window has passed', async () => {
      const { server } = await openTwo();
      const { limiter } = await openLimiter(server.url, 300);
      const redis = new Redis(server.url);
      for (let i = 0; i < 5; i += 1) await limiter.take(`key-${i}`, 1, 10);
      expect((await redis.keys('outbox:rate:key-*')).length).toBe(5);
      await sleep(400);
      expect(await redis.keys('outbox:rate:key-*')).toEqual([]);
      redis.disconnect();
      await limiter.close();
    });

    test('limits within each process, without waiting, while Redis does not answer, and recovers when it does', async () => {
      const { server, one } = await openTwo();
      await one.limiter.take('key', 3, 3);
      server.freeze();
      const asked = performance.now();
      expect(await one.limiter.take('key', 3, 3)).toMatchObject({ allowed: true, remaining: 0 });
      expect(performance.now() - asked).toBeLessThan(150 * slowness());
      expect(await one.limiter.take('key', 1, 3)).toMatchObject({ allowed: false });
      await untilSaid(one.sentences, LOST);
      const again = performance.now();
      for (let i = 0; i < 100; i += 1) await one.limiter.take('key', 1, 3);
      expect(performance.now() - again).toBeLessThan(50 * slowness());
      server.thaw();
      await untilSaid(one.sentences, BACK);
      expect(await one.limiter.take('other', 1, 3)).toMatchObject({ allowed: true, remaining: 2 });
      expect(one.sentences).toEqual([LOST, BACK]);
    });

    test('limits within each process while Redis is gone, and recovers when it is restarted', async () => {
      const { server, one, other } = await openTwo();
      await one.limiter.take('key', 1, 3);
      await server.crash();
      const results = await Promise.all(Array.from({ length: 20 }, () => one.limiter.take('key', 1, 3)));
      expect(results.filter(({ allowed }) => allowed).length).toBe(3);
      await untilSaid(one.sentences, LOST);
      await server.start();
      await untilSaid(one.sentences, BACK);
      await other.limiter.take('wakes it up', 1, 3);
      await vi.waitFor(async () => {
        await other.limiter.take('both', 1, 1_000);
        expect((await one.limiter.take('both', 0, 1_000)).remaining).toBeLessThan(1_000);
      });
      expect(one.sentences).toEqual([LOST, BACK]);
    });

    test('continues after the server forgot its scripts', async () => {
      const { server, one } = await openTwo();
      await one.limiter.take('key', 1, 2);
      const redis = new Redis(server.url);
      await redis.call('SCRIPT', 'FLUSH');
      redis.disconnect();
      expect(await one.limiter.take('key', 1, 2)).toMatchObject({ allowed: true, remaining: 0 });
      expect(one.sentences).toEqual([]);
    });

    test('limits within each process if there is no Redis on start', async () => {
      const { limiter, sentences } = await openLimiter('redis://127.0.0.1:1');
      expect(await limiter.take('key', 1, 1)).toMatchObject({ allowed: true });
      expect(await limiter.take('key', 1, 1)).toMatchObject({ allowed: false });
      await untilSaid(sentences, LOST);
      await limiter.close();
    });
  });
});
