import { createRunningJobs } from '../../../src/adapters/queue/running-jobs.ts';
import {
  type JobHandler,
  type NewJob,
  type Queue,
  type Queues,
  QueueUnavailable,
} from '../../../src/domain/ports/queue.ts';
import type { Ground } from '../ground.ts';
import type { Process } from '../process.ts';
import type { ScheduledStep } from '../scheduler.ts';

interface Job {
  readonly text: string;
}

/** The queue engine. It outlives the processes and holds their claims. */
export interface QueueEngine {
  readonly waiting: Set<Job>;
  /** Jobs in flight and the process lives that hold them. */
  readonly running: Map<Job, string>;
  readonly pumps: Set<() => void>;
  /** Jobs that living processes work on, whether or not the engine knows. */
  readonly hands: Map<Job, Process>;
  /** Loses all data, as after FLUSHALL. */
  wipe(): void;
}

export const createQueueEngine = (): QueueEngine => {
  const waiting = new Set<Job>();
  const running = new Map<Job, string>();
  return {
    waiting,
    running,
    pumps: new Set(),
    hands: new Map(),
    wipe: () => {
      waiting.clear();
      running.clear();
    },
  };
};

/** After this long without a heartbeat the job is given to another process. */
const LOCK_MS = 10_000;
const DELAY_MS_MAX = 8000;
const CLOSE_LIMIT_MS = 8000;

const away = (): Error => new QueueUnavailable('the queue cannot be reached');

const put = (engine: QueueEngine, job: Job): void => {
  engine.waiting.add(job);
  for (const pump of engine.pumps) pump();
};

/** The queue as accessed by one process. */
export const processQueues = (ground: Ground, engine: QueueEngine, process: Process): Queues => {
  const { faults, random, scheduler, latencyMs } = ground;
  const running = createRunningJobs(process.system);
  /** Next check for a lost job, by job. */
  const looks = new Map<Job, ScheduledStep>();
  let closing = false;
  let taking = 0;

  const admit = (job: Job): void => {
    if (faults.strikes('queue loses')) return;
    if (faults.strikes('queue repeats')) put(engine, { text: job.text });
    const delayMs = faults.strikes('queue delays') ? random.between(0, DELAY_MS_MAX) : 0;
    scheduler.after(delayMs, 'the queue has a job', () => put(engine, job));
  };

  const addNow = async (jobs: readonly NewJob<unknown>[]): Promise<void> => {
    for (const { data } of jobs) admit({ text: JSON.stringify(data) });
  };

  /** Renews the lock while the holder runs. When it stops, other processes get the job. */
  const watch = (job: Job): void => {
    let renewedMs = scheduler.nowMs();
    const renew = (): void => {
      renewedMs = scheduler.nowMs();
    };
    const look = (): void => {
      if (engine.running.get(job) !== process.name) return;
      if (scheduler.nowMs() - renewedMs >= LOCK_MS) {
        engine.running.delete(job);
        put(engine, job);
        return;
      }
      process.later(LOCK_MS / 2, 'renews its locks', renew);
      looks.set(job, scheduler.appoint(LOCK_MS, 'the queue looks for lost jobs', look));
    };
    look();
  };

  const end = async (job: Job, handler: JobHandler<never>): Promise<void> => {
    const drop = (): boolean => engine.hands.delete(job);
    engine.hands.set(job, process);
    const stopMourning = process.onDeath(drop);
    const ending = await running.run(handler, JSON.parse(job.text) as never);
    stopMourning();
    drop();
    looks.get(job)?.cancel();
    scheduler.after(latencyMs(), `${process.name} ends a job`, () => {
      if (engine.running.get(job) === process.name) engine.running.delete(job);
      if (ending.kind === 'given-back') put(engine, job);
    });
  };

  const take = (handler: JobHandler<never>): void => {
    taking -= 1;
    const [job] = engine.waiting;
    if (job === undefined || closing) return;
    engine.waiting.delete(job);
    engine.running.set(job, process.name);
    watch(job);
    void end(job, handler);
  };

  const open = <T>(): Queue<T> => ({
    add: (jobs) =>
      process.call({
        what: `adds ${jobs.length} jobs`,
        work: () => addNow(jobs),
        fate: ground.fateUnless('queue refuses', away),
      }),
    depth: () =>
      process.call({
        what: 'asks for the depth of the queue',
        work: async () => engine.waiting.size + engine.running.size,
        fate: ground.fateUnless('queue refuses', away),
      }),
    counts: () =>
      process.call({
        what: 'asks for the jobs of the queue',
        work: async () => ({ waiting: engine.waiting.size, active: engine.running.size }),
        fate: ground.fateUnless('queue refuses', away),
      }),
    work: (handler, { concurrency }) => {
      const pump = (): void => {
        if (closing || engine.waiting.size <= taking || running.count() + taking >= concurrency) return;
        taking += 1;
        process.later(latencyMs(), 'takes a job', () => {
          take(handler as JobHandler<never>);
          pump();
        });
      };
      engine.pumps.add(pump);
      process.onDeath(() => engine.pumps.delete(pump));
      pump();
    },
    close: async () => {
      closing = true;
      await running.windDown(CLOSE_LIMIT_MS);
    },
  });

  const queue = open<never>();
  return { open: () => queue as Queue<unknown> as never, close: queue.close };
};
