/**
 * Waiting, taking turns and giving up. Every other library and the whole product use this module to wait.
 *
 * - One call: `withTimeout` gives up after a while, `retry*` repeats with doubling waits, `pause` sleeps until aborted.
 * - Many calls: `mapConcurrently` runs some at a time. `createSemaphore` admits some at a time and lets owners take
 *   turns. `createKeyedQueue` also limits the rate of each key. `createFairQueue` is the order that both use.
 * - Shared cost: `createBatcher` collects calls into round trips, `createCohort` lets requests run in step.
 * - Shared pools: `createShares` bounds how much of a pool each owner may hold.
 * - The event loop: `inTurns`, `pacedBy`, `withTurns`, `ownTurn` and `createSlices` split long work,
 *   `createWorkerThreads` moves it to threads.
 *
 * Time and randomness come in as a `System`, log lines go out through a `Logger`: tests pass a fake clock and run
 * without waiting. Every queue is bounded, or its caller must bound it. There are three kinds of fault: `TimedOut` (no
 * answer yet), `StoreUnavailable` (nothing was written, retry later) and `StartRefused` (an operator must act).
 */
export { atMost, type Batcher, createBatcher, fulfilled, REST_MS } from './batcher.ts';
export { type Cohort, createCohort } from './cohort.ts';
export { startDeadline } from './deadlines.ts';
export { createFairQueue } from './fair-queue.ts';
export { createKeyedQueue, type KeyLimits, type Ran } from './keyed-queue.ts';
export type { Logger } from './logger.ts';
export { mapConcurrently } from './map-concurrently.ts';
export { readAtMost } from './read-at-most.ts';
export { retry, retryBy, retryWhileAway } from './retry.ts';
export { createSemaphore, type Semaphore } from './semaphore.ts';
export { createShares, type Full, type Place, type Shares } from './shares.ts';
export { createSlices } from './slices.ts';
export { StartRefused } from './start-refused.ts';
export { StoreUnavailable } from './store-unavailable.ts';
export type { System } from './system.ts';
export { atOnce, eachPausing, inTurns, ownTurn, type Pausing, pacedBy, withTurns } from './turns.ts';
export { ENDED, pause, TimedOut, untilAborted, withTimeout } from './with-timeout.ts';
export { createWorkerThreads, TaskTooLong, ThreadUnavailable } from './worker-threads.ts';
