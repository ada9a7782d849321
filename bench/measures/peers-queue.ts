import { createBullmqQueues } from '../../src/adapters/queue/bullmq.ts';
import { formatId, ID_BYTES } from '../../src/domain/kernel/ids.ts';
import type { Queues } from '../../src/domain/ports/queue.ts';
import { batched, type DeliveryJob } from '../../src/workers/delivery/due.ts';
import type { Bench } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';
import { type Line, skippedLine } from '../harness/line.ts';
import { openRedis, WITHOUT_REDIS } from '../harness/redis.ts';
import { openBullmqOnRedis } from '../peers/bullmq-on-redis.ts';

const MESSAGES = 5_000;
/** Messages in one page of the log at a high rate. */
const PAGE_MESSAGES = 100;
const CONCURRENCY = 64;
const SECOND_MS = 1_000;

/** Enqueues messages like the dispatcher and waits until their jobs are done. */
const openOurs = (queues: Queues, { system, closers }: Bench): (() => Promise<void>) => {
  closers.add('queues', queues.close);
  const queue = queues.open<DeliveryJob>('bench');
  let worked = 0;
  let onWorked = (): void => undefined;
  queue.work(
    async ({ due }) => {
      worked += due.length;
      onWorked();
    },
    { concurrency: CONCURRENCY },
  );
  const page = () =>
    Array.from({ length: PAGE_MESSAGES }, () => ({
      messageId: formatId('msg', system.randomBytes(ID_BYTES)),
      destination: null,
    }));
  return async () => {
    worked = 0;
    const done = new Promise<void>((resolve) => {
      onWorked = () => {
        if (worked >= MESSAGES) resolve();
      };
    });
    for (let added = 0; added < MESSAGES; added += PAGE_MESSAGES) await queue.add(batched(page()));
    await done;
  };
};

const perSecond = (work: () => Promise<void>) => async (): Promise<number> => {
  const beganMs = performance.now();
  await work();
  return (MESSAGES * SECOND_MS) / (performance.now() - beganMs);
};

/** Our queue with several messages per job, compared with BullMQ with a job per message. */
export const queueBesidePeers = async (bench: Bench): Promise<readonly Line[]> => {
  const { closers, system, logger, rounds } = bench;
  const measure = 'messages through the queue on Redis';
  const graphile = skippedLine(`${measure}, beside graphile-worker`, 'messages/s', 'graphile-worker is not installed');
  const redisUrl = await openRedis(bench);
  if (redisUrl === null) return [skippedLine(measure, 'messages/s', WITHOUT_REDIS), graphile];
  const ours = openOurs(await createBullmqQueues(redisUrl, { system, logger }), bench);
  const plain = await openBullmqOnRedis(closers, redisUrl);
  const figures = await interleave(
    { rounds, warmUps: 1 },
    {
      ours: perSecond(ours),
      plain: perSecond(() => plain.addAndWork(MESSAGES)),
    },
  );
  const limit = { what: 'BullMQ on Redis, a job each', rounds: figures.plain };
  return [{ measure, unit: 'messages/s', rounds: figures.ours, limit }, graphile];
};
