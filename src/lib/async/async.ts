/**
 * Waiting, taking turns and giving up. Every other library and the whole product use this module to wait.
 *
 * - One call: `withTimeout` gives up after a while, `retry*` repeats with doubling waits, `jitter` spreads
 *   them, `pause` sleeps until aborted.
 * - Many calls: `mapConcurrently` runs some at a time. `createSemaphore` admits some at a time and lets owners take
 *   turns. `createKeyedQueue` also limits the rate of each key. `createFairQueue` is the order that both use.
 * - Shared cost: `createBatcher` collects calls into round trips, `shareCalls` answers calls at the same time with one,
 *   `createCohort` lets requests run in step.
 * - Values: `createMemo` keeps what is expensive to compute.
 * - Shared pools: `createShares` bounds how much of a pool each owner may hold.
 * - The event loop: `inTurns`, `pacedBy`, `withTurns`, `ownTurn`, `turnFor` and `createSlices` split long work,
 *   `createWorkerThreads` moves it to threads.
 *
 * Time and randomness come in as a `System`, log lines go out through a `Logger`: tests pass a fake clock and run
 * without waiting. Every queue is bounded, or its caller must bound it. There are three kinds of fault: `TimedOut` (no
 * answer yet), `StoreUnavailable` (nothing was written, retry later) and `StartRefused` (an operator must act).
 */
export {
  atMost,
  type Batcher,
  type Cohort,
  createBatcher,
  createCohort,
  fulfilled,
  REST_MS,
  shareCalls,
} from './batcher.ts';
export { createKeyedQueue, type KeyLimits, type Ran } from './keyed-queue.ts';
export { createMemo } from './memo.ts';
export { readAtMost } from './read-at-most.ts';
export { jitter, random, retry, retryBy, retryWhileAway } from './retry.ts';
export {
  createFairQueue,
  createSemaphore,
  createShares,
  type Full,
  type Place,
  type Semaphore,
  type Shares,
} from './semaphore.ts';
export type { Logger, System } from './system.ts';
export { StartRefused, StoreUnavailable } from './system.ts';
export { ENDED, pause, startDeadline, TimedOut, untilAborted, withTimeout } from './timeouts.ts';
export {
  atOnce,
  createSlices,
  eachPausing,
  inTurns,
  mapConcurrently,
  ownTurn,
  type Pausing,
  pacedBy,
  turnFor,
  withTurns,
} from './turns.ts';
export { createWorkerThreads, TaskTooLong, ThreadUnavailable } from './worker-threads.ts';
