import { parentPort } from 'node:worker_threads';

/** A thread's answer to one task. A thread answers tasks in their order. */
export interface ThreadAnswer<Result> {
  readonly result?: Result;
  readonly error?: string;
  /** The thread can do no other task. */
  readonly isSpent?: boolean;
}

/** For a thread's entry file: answers each task with its result, or with the message of what `run` threw. */
export const serveTasks = <Task>(run: (task: Task) => unknown): void => {
  const answer = (task: Task): ThreadAnswer<unknown> => {
    try {
      return { result: run(task) };
    } catch (error) {
      return { error: error instanceof Error ? error.message : 'unknown' };
    }
  };
  parentPort?.on('message', (task: Task) => parentPort?.postMessage(answer(task)));
};
