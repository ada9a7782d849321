import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createBullmqQueues } from '../../../src/adapters/queue/bullmq.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { type Queue, type Queues, QueueUnavailable } from '../../../src/domain/ports/queue.ts';
import { redisIsMissing, startRedis } from '../../support/redis.ts';
import { describeQueue } from './contract.ts';
import { LOCK_MS, openerOf } from './engine.ts';
import { createRecordingLogger, until, untilHandled } from './recorder.ts';
import { startBusyWorker } from './start-busy-worker.ts';

const system = createSystem();

const isFulfilled = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/** Opens a queue whose worker has already handled the job `before`. */
const openWorking = async (queues: Queues, name: string, concurrency = 1) => {
  const queue = queues.open<string[]>(name);
  const handled: string[] = [];
  queue.work(async ([text]) => void handled.push(text as string), { concurrency });
  await queue.add([{ data: ['before'] }]);
  await untilHandled(handled, ['before']);
  return { queue, handled };
};

const expectRefusedSoon = async (queue: Queue<string[]>): Promise<void> => {
  const adding = performance.now();
  await expect(queue.add([{ data: ['refused'] }])).rejects.toThrow(QueueUnavailable);
  expect(performance.now() - adding).toBeLessThan(6_000);
};

const command = async (url: string, ...words: [string, ...string[]]): Promise<unknown> => {
  const client = new Redis(url);
  return await client.call(...words).finally(() => client.disconnect());
};

/** Queues on a new Redis. */
const openQueues = async () => {
  const server = await startRedis();
  const logger = createRecordingLogger();
  const queues = await createBullmqQueues(server.url, { system, logger, lockMs: LOCK_MS, closeLimitMs: 1_000 });
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
  const startEngine = async () => {
    const server = await startRedis();
    return {
      connect: ({ closeLimitMs }: { closeLimitMs: number }) =>
        createBullmqQueues(server.url, { system, logger: createRecordingLogger(), lockMs: LOCK_MS, closeLimitMs }),
      wipe: async () => {
        await command(server.url, 'FLUSHALL');
      },
      stop: server.stop,
    };
  };
  describeQueue('BullMQ and Redis', startEngine);

  describe('a queue shared by several processes', () => {
    const { open, engine } = openerOf(startEngine);

    /** Waits until another worker of the queue has handled this job. */
    const untilTakenByAnother = async (text: string): Promise<void> => {
      const other = await open<string[]>({ again: true });
      const handled: string[] = [];
      other.work(async ([job]) => void handled.push(job as string), { concurrency: 1 });
      await untilHandled(handled, [text]);
    };

    test('shares jobs between two workers', async () => {
      const one = await open<number[]>();
      const other = await open<number[]>({ again: true });
      const byOne: number[] = [];
      const byOther: number[] = [];
      const slowly = (list: number[]) => async (job: number[]) => {
        await sleep(10);
        list.push(...job);
      };
      one.work(slowly(byOne), { concurrency: 1 });
      other.work(slowly(byOther), { concurrency: 1 });
      await one.add(Array.from({ length: 40 }, (_, n) => ({ data: [n] })));
      await until(() => byOne.length + byOther.length === 40);
      expect(byOne.length).toBeGreaterThan(5);
      expect(byOther.length).toBeGreaterThan(5);
    });

    test('continues after all its data is deleted while jobs are running', async () => {
      const queue = await open<string[]>();
      const release = Promise.withResolvers<void>();
      const handled: string[] = [];
      queue.work(
        async ([text]) => {
          handled.push(text as string);
          if (text === 'running') await release.promise;
        },
        { concurrency: 1 },
      );
      await queue.add([{ data: ['running'] }, { data: ['waiting'] }]);
      await untilHandled(handled, ['running']);
      await engine().wipe();
      release.resolve();
      await queue.add([{ data: ['added again'] }]);
      await untilHandled(handled, ['added again']);
      expect(handled).not.toContain('waiting');
      await until(async () => (await queue.depth()) === 0);
    });

    test('keeps nothing of a job that ends while its queue closes', async () => {
      const queue = await open<string[]>();
      const started = Promise.withResolvers<void>();
      queue.work(
        async () => {
          started.resolve();
          await sleep(100);
        },
        { concurrency: 1 },
      );
      await queue.add([{ data: ['slow'] }]);
      await started.promise;
      await queue.close();
      const other = await open({ again: true });
      expect(await other.depth()).toBe(0);
    });

    test('signals a running handler that it is closing; a job returned by throwing goes to another worker', async () => {
      const queue = await open<string[]>();
      let running = false;
      queue.work(
        async (_, signal) => {
          running = true;
          await sleep(10_000, undefined, { signal });
        },
        { concurrency: 1 },
      );
      await queue.add([{ data: ['handed over'] }]);
      await until(() => running);
      const closing = performance.now();
      await queue.close();
      expect(performance.now() - closing).toBeLessThan(1_500);
      await untilTakenByAnother('handed over');
    });

    test('waits no longer than the limit for a handler that does not end, and does not lose its job', async () => {
      const queue = await open<string[]>({ closeLimitMs: 300 });
      let running = false;
      const never = Promise.withResolvers<void>();
      queue.work(
        async () => {
          running = true;
          await never.promise;
        },
        { concurrency: 1 },
      );
      await queue.add([{ data: ['stuck'] }]);
      await until(() => running);
      const closing = performance.now();
      await queue.close();
      expect(performance.now() - closing).toBeLessThan(2_000);
      await untilTakenByAnother('stuck');
      never.resolve();
    });
  });

  describe('a queue on BullMQ and Redis', () => {
    test('gives the job of a killed worker to another', async () => {
      const { url, queues } = await openQueues();
      const queue = queues.open<string[]>('killed');
      const busy = await startBusyWorker(url, 'killed');
      await queue.add([{ data: ['survivor'] }]);
      await busy.untilBusy();
      await busy.kill();
      const handled: string[] = [];
      queue.work(async ([text]) => void handled.push(text as string), { concurrency: 1 });
      await untilHandled(handled, ['survivor']);
    });

    test('keeps nothing of finished jobs', async () => {
      const { queues, kept } = await openQueues();
      const queue = queues.open<number[]>('bounded');
      let ended = 0;
      queue.work(
        async () => {
          ended += 1;
          if (ended % 3 === 0) throw new Error('every third fails');
        },
        { concurrency: 8 },
      );
      await queue.add(Array.from({ length: 1_000 }, (_, n) => ({ data: [n] })));
      await until(() => ended === 1_000);
      await until(async () => (await queue.depth()) === 0);
      const { jobs, events } = await kept('bounded');
      expect(jobs).toBe(0);
      expect(events).toBeLessThan(400);
    });

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
        const busy = await startBusyWorker(server.url, 'ending');
        await queue.add([{ data: ['held'] }]);
        await busy.untilBusy();
        if (isAway) await server.crash();
        expect(await busy.terminate()).toBe(0);
      }
    });

    test('reports on start that nothing answers at the address', async () => {
      const starting = createBullmqQueues('redis://127.0.0.1:1', { system, logger: createRecordingLogger() });
      await expect(starting).rejects.toThrow('Redis at 127.0.0.1:1: no answer within 5000 ms');
    });
  });
});
