/**
 * PORT: a queue of small jobs. Adapters: `adapters/queue/{in-memory,bullmq-postgres,bullmq-redis}`; one contract suite
 * (`test/contracts/queue`) holds all of them to what is written here.
 *
 * A queue is never the record of what is owed: it may lose everything at any moment, and then the sweeper adds again
 * what is due. A job runs at least once, and may run twice at the same time (a lost lock, a restart).
 */

/** A name of its own per kind of job: `deliver-message`. Lower case and dashes. */
export type QueueName = string;

/** `data` is JSON; what JSON cannot say does not arrive. */
export interface NewJob<Job> {
  readonly data: Job;
  /** Not to be started earlier than this from now. Default 0. */
  readonly delayMs?: number;
}

/**
 * Works one job. The job is removed when this ends, whichever way; a failure is logged and nothing else: state changes
 * only through events. `signal` aborts when the queue is closing: finish what has been begun, begin nothing new. Whoever
 * throws after that, or is still busy when the limit for closing is over, gives the job back to other workers.
 */
export type JobHandler<Job> = (job: Job, signal: AbortSignal) => Promise<void>;

/** Jobs of a queue. */
export interface QueueCounts {
  readonly waiting: number;
  readonly active: number;
}

export interface Queue<Job> {
  /**
   * Adds jobs, each under an id of its own, so that a job that is added again is always a new one.
   * @throws {QueueUnavailable} within seconds: some or none were added.
   */
  add(jobs: readonly NewJob<Job>[]): Promise<void>;

  /**
   * Jobs waiting or running, delayed ones not counted: what a producer looks at before it adds more.
   * @throws {QueueUnavailable} within seconds.
   */
  depth(): Promise<number>;

  /** The same, apart. @throws {QueueUnavailable} within seconds. */
  counts(): Promise<QueueCounts>;

  /**
   * Starts working jobs, up to `concurrency` at a time, until the queue closes; goes on by itself after the engine was
   * away or was emptied. Once per opened queue.
   */
  work(handler: JobHandler<Job>, options: { readonly concurrency: number }): void;

  /** Stops taking jobs, and finishes or gives back the running ones within the adapter's limit. */
  close(): Promise<void>;
}

export interface Queues {
  /** Opened twice, it is the same queue with another worker. */
  open<Job>(name: QueueName): Queue<Job>;
  /** Closes every queue opened here. */
  close(): Promise<void>;
}

/** The queue's engine does not answer, or refuses. */
export class QueueUnavailable extends Error {
  override readonly name = 'QueueUnavailable';
}
