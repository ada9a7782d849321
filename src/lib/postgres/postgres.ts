/**
 * Connections to PostgreSQL.
 *
 * - `createPool` opens connections on demand and again after the database was down. Every session runs at read
 *   committed, and a statement has a time limit.
 * - `poolUse` counts the connections of the pools of this process.
 * - `orUnavailable` and `isUnreachable` distinguish a database that is down (retry later) from a fault in a statement.
 * - `takeSessionLock` and `keepSessionLock` hold advisory locks on sessions of their own: a lock ends with its process.
 * - `checkPostgres` refuses a server that is too old, read-only or not durable before anything is written to it.
 *
 * Anything that prevents a process from starting is a `StartRefused` with one sentence for the operator. Nothing here
 * knows a table: migrations and queries belong to their owners.
 */

export {
  ADVISORY_LOCKS,
  checkPostgres,
  createPool,
  isUnreachable,
  KEEP_ALIVE_MS,
  type KeptSessionLock,
  keepSessionLock,
  orUnavailable,
  PIN_ISOLATION,
  poolUse,
  type SessionLock,
  takeSessionLock,
} from './pool.ts';
