import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { createFairQueue } from './semaphore.ts';
import type { ThreadAnswer } from './serve-tasks.ts';

export interface WorkerThreadsOptions {
  /** The thread's entry file. */
  readonly entry: URL;
  /** Started when needed, kept afterwards. */
  readonly threads: number;
  /**
   * Time for one task, waiting excluded, measured as the thread's own processor time: a busy machine is not the task's
   * fault. On expiry the task fails and its thread is ended.
   */
  readonly runMsMax: number;
  /** Time that one task may wait for its turn before it fails. */
  readonly waitMsMax: number;
  /** Tasks waiting or running. Beyond that, the last task of the owner with the most waiting is dropped. */
  readonly tasksMax: number;
}

/**
 * The task was not done: too many are waiting, its turn did not come in time, its thread died, or the pool is closed.
 */
export class ThreadUnavailable extends Error {
  override readonly name = 'ThreadUnavailable';
}

/** The task exceeded the time limit. A retry would take as long. */
export class TaskTooLong extends Error {
  override readonly name = 'TaskTooLong';
}

interface Task<Input, Result> {
  readonly input: Input;
  readonly owner: string;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
  timer?: NodeJS.Timeout;
  isSettled?: boolean;
}

interface Thread<Input, Result> {
  readonly worker: Worker;
  task: Task<Input, Result> | null;
  timer?: NodeJS.Timeout;
  /** The thread has finished a task, so its code is loaded and compiled. */
  isWarm: boolean;
}

/**
 * Number of looks, each a quarter of the task's time apart. A thread that still has time after that gets no processor.
 */
const LOOKS_MAX = 80;
/** Factor for a thread's first task, which also loads and compiles its code. */
const COLD_FACTOR = 4;
/** Delay before the first look at the clock. Most tasks end sooner and cost no look; this time is not counted. */
const UNWATCHED_MS = 25;
const MICROSECONDS_PER_MS = 1000;
/** Larger: each thread permanently uses three times as much. Smaller: trees of large html are collected more often. */
const YOUNG_MB_MAX = 24;

/**
 * `npm start` gives the event loop a large young generation by flags. V8 reads these flags again for each thread,
 * whatever its limits, which would cost 60 MB more per thread. The event loop has applied them by now.
 */
const forgetFlagsOfMain = (): void => {
  for (const bound of ['min', 'max']) setFlagsFromString(`--${bound}-semi-space-size=0`);
};

/** Processor time of a thread; 0 if it is not running. */
const cpuMsOf = async (worker: Worker): Promise<number> => {
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / MICROSECONDS_PER_MS;
  } catch {
    return 0;
  }
};

/** Runs CPU-bound work outside the event loop, under a time limit. Owners take turns. */
export const createWorkerThreads = <Input, Result>(options: WorkerThreadsOptions) => {
  const { runMsMax, waitMsMax, tasksMax } = options;
  const idle: Thread<Input, Result>[] = [];
  const threads = new Set<Thread<Input, Result>>();
  const waiting = createFairQueue<Task<Input, Result>>();
  let tasks = 0;
  let closed = false;

  const settle = (task: Task<Input, Result>, error: Error | null, result?: Result): void => {
    if (task.isSettled === true) return;
    task.isSettled = true;
    clearTimeout(task.timer);
    tasks -= 1;
    if (error === null) task.resolve(result as Result);
    else task.reject(error);
  };

  const discard = (thread: Thread<Input, Result>, error: Error): void => {
    if (!threads.delete(thread)) return;
    const position = idle.indexOf(thread);
    if (position >= 0) idle.splice(position, 1);
    const { task } = thread;
    thread.task = null;
    clearTimeout(thread.timer);
    if (task !== null) settle(task, error);
    void thread.worker.terminate();
    runWaiting();
  };

  const onAnswer = (thread: Thread<Input, Result>, answer: ThreadAnswer<Result>): void => {
    const { task } = thread;
    if (task === null) return;
    thread.task = null;
    thread.isWarm = true;
    clearTimeout(thread.timer);
    if (answer.isSpent === true) discard(thread, new ThreadUnavailable('a thread is spent'));
    else {
      thread.worker.unref();
      idle.push(thread);
    }
    settle(task, answer.error === undefined ? null : new Error(answer.error), answer.result);
    runWaiting();
  };

  const start = (): Thread<Input, Result> => {
    forgetFlagsOfMain();
    const worker = new Worker(options.entry, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB_MAX } });
    const thread: Thread<Input, Result> = { worker, task: null, isWarm: false };
    threads.add(thread);
    thread.worker.on('message', (answer: ThreadAnswer<Result>) => onAnswer(thread, answer));
    thread.worker.on('error', (error) => discard(thread, new ThreadUnavailable(`a thread died: ${error.message}`)));
    thread.worker.on('exit', () => discard(thread, new ThreadUnavailable('a thread died')));
    return thread;
  };

  const freeThread = (): Thread<Input, Result> | undefined =>
    idle.pop() ?? (threads.size < options.threads ? start() : undefined);

  /**
   * Ends a task that has used up its time. A task that had to share the processor is checked again; the first look is
   * 0.
   */
  const watch = async (thread: Thread<Input, Result>, endCpuMs: number, look: number): Promise<void> => {
    const { task } = thread;
    const leftMs = endCpuMs - (await cpuMsOf(thread.worker));
    if (thread.task !== task) return;
    if (leftMs <= 0) return discard(thread, new TaskTooLong(`it takes longer than ${runMsMax} ms`));
    if (look === LOOKS_MAX) return discard(thread, new ThreadUnavailable('the processor is busy'));
    const afterMs = Math.max(leftMs, runMsMax / 4);
    thread.timer = setTimeout(() => void watch(thread, endCpuMs, look + 1), afterMs);
  };

  const watchFromNow = async (thread: Thread<Input, Result>): Promise<void> => {
    const { task } = thread;
    const mayRunMs = runMsMax * (thread.isWarm ? 1 : COLD_FACTOR);
    const endCpuMs = mayRunMs + (await cpuMsOf(thread.worker));
    if (thread.task === task) await watch(thread, endCpuMs, 0);
  };

  const runOn = (thread: Thread<Input, Result>, task: Task<Input, Result>): void => {
    clearTimeout(task.timer);
    thread.task = task;
    thread.worker.ref();
    thread.worker.postMessage(task.input);
    thread.timer = setTimeout(() => void watchFromNow(thread), UNWATCHED_MS);
  };

  const runWaiting = (): void => {
    while (waiting.size > 0) {
      const thread = freeThread();
      if (thread === undefined) return;
      const task = waiting.shift();
      if (task !== undefined) runOn(thread, task);
    }
  };

  const expire = (task: Task<Input, Result>): void => {
    waiting.remove(task.owner, task);
    settle(task, new ThreadUnavailable(`its turn did not come within ${waitMsMax} ms`));
  };

  const makeRoom = (): void => {
    const dropped = waiting.dropOfLongest();
    if (dropped !== undefined) settle(dropped, new ThreadUnavailable(`${tasksMax} tasks are waiting`));
  };

  return {
    /**
     * @param owner the organization. Owners with waiting work take turns.
     * @throws {ThreadUnavailable} {TaskTooLong} or an `Error` with the message of the error that the work threw.
     */
    run: (input: Input, owner: string): Promise<Result> =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new ThreadUnavailable('closed'));
        const task: Task<Input, Result> = { input, owner, resolve, reject };
        task.timer = setTimeout(expire, waitMsMax, task);
        tasks += 1;
        waiting.push(owner, task);
        if (tasks > tasksMax) makeRoom();
        runWaiting();
      }),
    close: async (): Promise<void> => {
      closed = true;
      for (let task = waiting.shift(); task !== undefined; task = waiting.shift())
        settle(task, new ThreadUnavailable('closed'));
      const workers = [...threads].map(({ worker }) => worker);
      for (const thread of threads) discard(thread, new ThreadUnavailable('closed'));
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
};
