import { DatabaseError } from 'pg';
import { AppendOutcomeUnknown, StoreUnavailable } from '../../domain/ports/event-store.ts';
import { isUnreachable } from '../postgres/faults.ts';

/** Classes of SQLSTATE that may also come after the commit: connection, operator intervention, system error. */
const UNSURE = new Set(['08', '57', '58']);
/** Something in what was sent: data exception, constraint. */
const DATA = new Set(['22', '23']);

const classOf = (error: unknown): string | undefined =>
  error instanceof DatabaseError ? (error.code ?? '').slice(0, 2) : undefined;

const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What a failed read or connection attempt means to the caller; anything but an absent server is a fault, as it is. */
export const readFailure = (error: unknown): unknown =>
  isUnreachable(error)
    ? new StoreUnavailable(`the log cannot be reached: ${sentence(error)}`, { cause: error })
    : error;

/** What a failure after sending an append means: unless the server itself said that it rolled back, nobody knows. */
export const appendFailure = (error: unknown): unknown => {
  const sqlstate = classOf(error);
  if (sqlstate === undefined || UNSURE.has(sqlstate)) {
    return new AppendOutcomeUnknown(`the append was not answered: ${sentence(error)}`, { cause: error });
  }
  return readFailure(error);
};

/** Whether one member of a group is to blame, so that the others deserve another try without it. */
export const isDataFault = (error: unknown): boolean => DATA.has(classOf(error) ?? '');
