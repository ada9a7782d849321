import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createRedisQueues } from '../../../src/adapters/queue/bullmq-redis.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { redisIsMissing, startRedis } from '../../support/redis.ts';
import { expectRefusedSoon, isFulfilled, openWorking, testBullmq } from './bullmq.contract.ts';
import { describeQueue } from './contract.ts';
import { LOCK_MS } from './engine.ts';
import { createRecordingLogger, until, untilHandled } from './recorder.ts';
import { startBusyWorker } from './start-busy-worker.ts';

const system = createSystem();

const command = async (url: string, ...words: [string, ...string[]]): Promise<unknown> => {
  const client = new Redis(url);
  return await client.call(...words).finally(() => client.disconnect());
};

/** Queues on a new Redis. */
const openQueues = async () => {
  const server = await startRedis();
  const logger = createRecordingLogger();
  const queues = await createRedisQueues(server.url, { system, logger, lockMs: LOCK_MS, closeLimitMs: 1_000 });
  onTestFinished(async () => {
    server.thaw();
    await queues.close();
    await server.stop();
  }, 20_000);
  return {
    server,
    url: server.url,
    logger,
    queues,
    kept: async (queue: string) => {
      const keys = (await command(server.url, 'KEYS', '*')) as string[];
      return {
        jobs: keys.filter((key) => /[0-9a-f]{8}-/.test(key)).length,
        events: Number(await command(server.url, 'XLEN', `outbox:${queue}:events`)),
      };
    },
  };
};

describe.skipIf(redisIsMissing)('with Redis', () => {
  describeQueue('BullMQ and Redis', async () => {
    const server = await startRedis();
    return {
      connect: ({ closeLimitMs }) =>
        createRedisQueues(server.url, { system, logger: createRecordingLogger(), lockMs: LOCK_MS, closeLimitMs }),
      wipe: async () => {
        await command(server.url, 'FLUSHALL');
      },
      stop: server.stop,
    };
  });

  describe('a queue on BullMQ and Redis', () => {
    testBullmq('redis', openQueues);

    test('refuses jobs promptly while Redis is away, and recovers automatically', async () => {
      const { server, logger, queues } = await openQueues();
      const { queue, handled } = await openWorking(queues, 'away', 2);
      await server.crash();
      await expectRefusedSoon(queue);
      await server.start();
      await until(() => isFulfilled(queue.add([{ data: ['after'] }])));
      await untilHandled(handled, ['after']);
      expect(logger.sentences.filter((sentence) => sentence === 'cannot reach Redis').length).toBe(1);
      expect(logger.sentences.filter((sentence) => sentence === 'Redis is reachable again').length).toBe(1);
    });

    test('refuses jobs promptly while Redis does not answer', async () => {
      const { server, queues } = await openQueues();
      const queue = queues.open<string[]>('frozen');
      await queue.add([{ data: ['before'] }]);
      server.freeze();
      await expectRefusedSoon(queue);
      server.thaw();
      await until(() => isFulfilled(queue.add([{ data: ['after'] }])));
    });

    test('closes within its limits while Redis is away', async () => {
      const { server, queues } = await openQueues();
      await openWorking(queues, 'closing');
      await server.crash();
      const closing = performance.now();
      await queues.close();
      expect(performance.now() - closing).toBeLessThan(4_000);
    });

    test('lets its process exit, with or without Redis', async () => {
      const { server, queues } = await openQueues();
      const queue = queues.open<string[]>('ending');
      for (const isAway of [false, true]) {
        const busy = await startBusyWorker('redis', server.url, 'ending');
        await queue.add([{ data: ['held'] }]);
        await busy.untilBusy();
        if (isAway) await server.crash();
        expect(await busy.terminate()).toBe(0);
      }
    });

    test('reports on start that nothing answers at the address', async () => {
      const starting = createRedisQueues('redis://127.0.0.1:1', { system, logger: createRecordingLogger() });
      await expect(starting).rejects.toThrow('Redis at 127.0.0.1:1: no answer within 5000 ms');
    });
  });
});
