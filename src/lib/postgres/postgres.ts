/**
 * PostgreSQL as used by this service: an external server, or the built-in one.
 *
 * - `createPool` opens connections on demand and again after the database was down. Every session runs at read
 *   committed, and a statement has a time limit.
 * - `orUnavailable` and `isUnreachable` distinguish a database that is down (retry later) from a fault in a statement.
 * - `takeSessionLock` and `keepSessionLock` hold advisory locks on sessions of their own: a lock ends with its process.
 * - `openEmbeddedPostgres` creates, starts, adopts and supervises the built-in server on the data in one directory.
 *   `claimOwnership` keeps two services from sharing that data.
 * - `checkPostgres` refuses a server that is too old, read-only or not durable before anything is written to it.
 *
 * Anything that prevents a process from starting is a `StartRefused` with one sentence for the operator. Nothing here
 * knows a table: migrations and queries belong to their owners.
 */
export { checkPostgres } from './check-postgres.ts';
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  openEmbeddedPostgres,
} from './embedded/open-embedded-postgres.ts';
export { claimOwnership } from './ownership.ts';
export { createPool, isUnreachable, KEEP_ALIVE_MS, orUnavailable, PIN_ISOLATION } from './pool.ts';
export { ADVISORY_LOCKS, keepSessionLock, type SessionLock, takeSessionLock } from './session-lock.ts';
