import { DatabaseError } from 'pg';
import { AppendOutcomeUnknown, StoreUnavailable } from '../../domain/event-store.ts';

/**
 * SQLSTATE classes in which the server says that it cannot serve just now: connection, transaction rolled back,
 * resources, object in use, operator intervention (shutting down, starting up, cancelled), system error.
 */
const UNAVAILABLE = new Set(['08', '40', '53', '55', '57', '58']);
/** Of these, the ones that may also come after the commit. */
const UNSURE = new Set(['08', '57', '58']);
/** Something in what was sent: data exception, constraint. */
const DATA = new Set(['22', '23']);
/** A standby, or a primary that has become one (SQLSTATE of its own, as its class holds faults of ours too). */
const READ_ONLY = '25006';

const classOf = (error: unknown): string | undefined =>
  error instanceof DatabaseError ? (error.code ?? '').slice(0, 2) : undefined;

const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What a failed read or connection attempt means to the caller; anything but an absent server is a fault, as it is. */
export const readFailure = (error: unknown): unknown => {
  const sqlstate = classOf(error);
  const away = sqlstate === undefined || UNAVAILABLE.has(sqlstate);
  return away ? new StoreUnavailable(`the log cannot be reached: ${sentence(error)}`, { cause: error }) : error;
};

/** What a failure after sending an append means: unless the server itself said that it rolled back, nobody knows. */
export const appendFailure = (error: unknown): unknown => {
  const sqlstate = classOf(error);
  if (sqlstate === undefined || UNSURE.has(sqlstate)) {
    return new AppendOutcomeUnknown(`the append was not answered: ${sentence(error)}`, { cause: error });
  }
  const refused = UNAVAILABLE.has(sqlstate) || (error instanceof DatabaseError && error.code === READ_ONLY);
  return refused ? new StoreUnavailable(`the log refused: ${sentence(error)}`, { cause: error }) : error;
};

/** Whether one member of a group is to blame, so that the others deserve another try without it. */
export const isDataFault = (error: unknown): boolean => DATA.has(classOf(error) ?? '');
