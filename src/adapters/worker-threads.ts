import { Worker } from 'node:worker_threads';

/** What a thread's entry file posts for every task, in order. */
export interface ThreadAnswer<Result> {
  readonly result?: Result;
  readonly error?: string;
}

export interface WorkerThreadsOptions {
  /** The thread's entry file. */
  readonly entry: URL;
  /** Started when needed, kept afterwards. */
  readonly threads: number;
  /** For one task, waiting included; then it fails. A thread that works on one for so long is ended. */
  readonly timeLimitMs: number;
  /** Tasks waiting or running; more are refused at once. */
  readonly tasksMax: number;
}

/** The task was not done: too many are waiting, its time is over, its thread died, or the pool is closed. */
export class ThreadUnavailable extends Error {
  override readonly name = 'ThreadUnavailable';
}

interface Task<Input, Result> {
  readonly input: Input;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
  timer?: NodeJS.Timeout;
  isSettled?: boolean;
}

interface Thread<Input, Result> {
  readonly worker: Worker;
  /** In hand, though it may be settled: nobody waits for it any more. */
  task: Task<Input, Result> | null;
  timer?: NodeJS.Timeout;
}

/** Runs CPU-bound work beside the event loop, under a time limit. */
export const createWorkerThreads = <Input, Result>(options: WorkerThreadsOptions) => {
  const idle: Thread<Input, Result>[] = [];
  const threads = new Set<Thread<Input, Result>>();
  const waiting: Task<Input, Result>[] = [];
  let tasks = 0;
  let closed = false;

  const late = () => new ThreadUnavailable(`not done within ${options.timeLimitMs} ms`);

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
    clearTimeout(thread.timer);
    thread.worker.unref();
    idle.push(thread);
    settle(task, answer.error === undefined ? null : new Error(answer.error), answer.result);
    runWaiting();
  };

  const start = (): Thread<Input, Result> => {
    const thread: Thread<Input, Result> = { worker: new Worker(options.entry), task: null };
    threads.add(thread);
    thread.worker.on('message', (answer: ThreadAnswer<Result>) => onAnswer(thread, answer));
    thread.worker.on('error', (error) => discard(thread, new ThreadUnavailable(`a thread died: ${error.message}`)));
    thread.worker.on('exit', () => discard(thread, new ThreadUnavailable('a thread died')));
    return thread;
  };

  const freeThread = (): Thread<Input, Result> | undefined =>
    idle.pop() ?? (threads.size < options.threads ? start() : undefined);

  const runOn = (thread: Thread<Input, Result>, task: Task<Input, Result>): void => {
    thread.task = task;
    thread.timer = setTimeout(() => discard(thread, late()), options.timeLimitMs);
    thread.worker.ref();
    thread.worker.postMessage(task.input);
  };

  const runWaiting = (): void => {
    for (let task = waiting[0]; task !== undefined; task = waiting[0]) {
      const thread = freeThread();
      if (thread === undefined) return;
      waiting.shift();
      runOn(thread, task);
    }
  };

  /** A thread that has only just begun on it is left to work: a new one would begin later, on what then expires too. */
  const expire = (task: Task<Input, Result>): void => {
    const position = waiting.indexOf(task);
    if (position >= 0) waiting.splice(position, 1);
    settle(task, late());
  };

  return {
    /** @throws {ThreadUnavailable}, or an `Error` with the message of what the work itself threw. */
    run: (input: Input): Promise<Result> =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new ThreadUnavailable('closed'));
        if (tasks >= options.tasksMax) return reject(new ThreadUnavailable(`${options.tasksMax} tasks are waiting`));
        const task: Task<Input, Result> = { input, resolve, reject };
        task.timer = setTimeout(expire, options.timeLimitMs, task);
        tasks += 1;
        waiting.push(task);
        runWaiting();
      }),
    close: async (): Promise<void> => {
      closed = true;
      for (const task of waiting.splice(0)) settle(task, new ThreadUnavailable('closed'));
      const workers = [...threads].map(({ worker }) => worker);
      for (const thread of threads) discard(thread, new ThreadUnavailable('closed'));
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
};
