/**
 * Read models in PostgreSQL, made from an event log.
 *
 * A `Projection` applies events to its tables. `createProjectionRunner` keeps projections running: it follows the log,
 * applies batches, and moves a checkpoint in the transaction that writes the rows, so that each event counts once.
 *
 * - Processes share the work by advisory locks. A process that falls silent loses its lock, and another continues.
 * - An event that cannot be applied is parked together with the later events of its stream. All others go on.
 * - A projection with a higher version is rebuilt beside its live tables (`rebuild`), and one transaction switches to
 *   the new ones. Readers see the old rows until then, and never older ones afterwards.
 * - `createWaitFor` waits until read models contain a position: clients read their own writes.
 *
 * Live tables are in the schema `read_models`, new ones in `read_models_building`. The owner of the log chooses the
 * events. It creates the tables, and says which errors end a process and which sessions may hold up a switch.
 */

export { applyBatch, applyOrPark, isPoison, SLICE_ITEMS_MAX } from './apply-or-park.ts';
export {
  type AwaitedPositions,
  type Batch,
  createAwaitedPositions,
  createCompleteUntil,
  createLagReader,
  createRebuildReader,
  createWaitFor,
  Fenced,
  isInLog,
  OtherLog,
  type ProjectionLag,
  readCheckpoint,
  requireReached,
  requireSameLog,
  type WaitForOptions,
} from './checkpoints.ts';
export {
  asRecords,
  type Database,
  endWhenGone,
  inTransaction,
  type ListCursor,
  type ListPage,
  pageOf,
  rebuiltNow,
  rowsInto,
  rowsToAsk,
  tryLockReplaying,
  withConnection,
} from './database.ts';
export type { Projection } from './projection.ts';
export {
  allOf,
  type Build,
  catchUp,
  makeIndexes,
  makeTables,
  RebuildInProgress,
  rebuild,
  type Source,
  switchTables,
  withBuilds,
} from './rebuild.ts';
export { createProjectionRunner, type RunnerOptions, runnerConnections, runProjection } from './runner.ts';
