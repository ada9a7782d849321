/**
 * PORT: a queue of small jobs. Adapters: `adapters/queue`. One contract suite
 * (`test/contracts/queue`) verifies that all of them keep the promises below.
 *
 * A queue is never the record of pending work: it may lose everything at any moment, and the sweeper then adds due jobs
 * again. A job runs at least once, and may run twice at the same time (a lost lock, a restart).
 */

/** Unique name for each kind of job, such as `deliver-message`. Lower case and dashes. */
export type QueueName = string;

/** A job to add. `data` may be serialized as JSON, and anything JSON cannot represent is lost. */
export interface NewJob<Job> {
  readonly data: Job;
}

/**
 * Works one job. The job is removed when the handler settles, either way. A failure is only logged: state changes only
 * through events. `signal` aborts when the queue is closing: finish work in progress and start nothing new. A handler
 * that throws after that, or is still busy when the time limit for closing ends, returns its job to other workers.
 */
export type JobHandler<Job> = (job: Job, signal: AbortSignal) => Promise<void>;

/** Numbers of jobs in a queue. */
export interface QueueCounts {
  readonly waiting: number;
  readonly active: number;
}

export interface Queue<Job> {
  /**
   * Adds jobs, each under an id of its own, so that a job that is added again is always a new one.
   * @throws {QueueUnavailable} within seconds, if some or none were added.
   */
  add(jobs: readonly NewJob<Job>[]): Promise<void>;

  /**
   * Number of waiting and running jobs. Producers check it before they add more.
   * @throws {QueueUnavailable} within seconds.
   */
  depth(): Promise<number>;

  /** Waiting and running jobs separately. @throws {QueueUnavailable} within seconds. */
  counts(): Promise<QueueCounts>;

  /**
   * Starts working jobs, up to `concurrency` at a time, until the queue closes. Resumes automatically after the engine
   * was unavailable or emptied. Call once per opened queue.
   */
  work(handler: JobHandler<Job>, options: { readonly concurrency: number }): void;

  /** Stops accepting jobs, and finishes or returns the running ones within the adapter's limit. */
  close(): Promise<void>;
}

export interface Queues {
  /** Opening a name again, in this process or another, gives the queue another worker if the engine is shared. */
  open<Job>(name: QueueName): Queue<Job>;
  /** Closes every queue opened here. */
  close(): Promise<void>;
}

/** The queue's engine does not respond, or reports an error. */
export class QueueUnavailable extends Error {
  override readonly name = 'QueueUnavailable';
}
