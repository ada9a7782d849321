import { createPostgresQueues } from '../../src/adapters/queue/bullmq-postgres.ts';
import type { Measure } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';
import { median } from '../harness/line.ts';

const JOBS = 2_000;
/** Jobs per call at a high rate. */
const CALL_JOBS = 20;
/** Same concurrency as the service. */
const CONCURRENCY = 64;
const LONE_JOBS = 50;
const SECOND_MS = 1_000;
const IDS = Array.from({ length: 20 }, (_, index) => `msg_${'a'.repeat(24)}${index}`);

interface Job {
  readonly number: number;
  readonly messageIds: readonly string[];
}

/** Adding and processing jobs of the size of deliveries, in one process on PostgreSQL. */
export const queue: Measure = {
  name: 'queue',
  run: async ({ postgres, closers, system, logger, rounds }) => {
    const url = await postgres.migratedDatabase(closers);
    const queues = await createPostgresQueues(url, { system, logger });
    closers.add('queues', queues.close);
    const jobs = queues.open<Job>('bench');
    let worked = 0;
    let onWorked = (): void => undefined;
    jobs.work(
      async () => {
        worked += 1;
        onWorked();
      },
      { concurrency: CONCURRENCY },
    );

    const allWorked = (count: number): Promise<void> => {
      worked = 0;
      return new Promise((resolve) => {
        onWorked = () => {
          if (worked === count) resolve();
        };
      });
    };
    const jobsOf = (count: number) =>
      Array.from({ length: count }, (_, number) => ({ data: { number, messageIds: IDS } }));

    const addAndWork = async (): Promise<number> => {
      const done = allWorked(JOBS);
      const beganMs = performance.now();
      await Promise.all(Array.from({ length: JOBS / CALL_JOBS }, () => jobs.add(jobsOf(CALL_JOBS))));
      await done;
      return (JOBS * SECOND_MS) / (performance.now() - beganMs);
    };
    const lone = async (): Promise<number> => {
      const times: number[] = [];
      for (let number = 0; number < LONE_JOBS; number += 1) {
        const done = allWorked(1);
        const beganMs = performance.now();
        await jobs.add(jobsOf(1));
        await done;
        times.push(performance.now() - beganMs);
      }
      return median(times);
    };

    const figures = await interleave({ rounds, warmUps: 1 }, { many: addAndWork, lone });
    return [
      { measure: 'queue on PostgreSQL, add and work', unit: 'jobs/s', rounds: figures.many },
      { measure: 'queue on PostgreSQL, a lone job, p50', unit: 'ms', rounds: figures.lone },
    ];
  },
};
