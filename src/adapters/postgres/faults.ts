import { StoreUnavailable } from '../../domain/ports/event-store.ts';

/**
 * SQLSTATE classes in which the server says that it cannot serve just now (appendix A of its manual): connection,
 * transaction rolled back, resources, object in use, operator intervention (shutting down, starting up, cancelled, as
 * after too long), system error. And a standby, or a primary that has become one, whose class holds faults of ours too.
 */
const UNAVAILABLE_STATES = /^(?:08...|40...|53...|55...|57...|58...|25006)$/;

const SOCKET_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT', // a socket of the file system
]);

/** What the client says without a code. */
const CLIENT_MESSAGES =
  /^(?:Connection terminated|timeout e|Query read timeout|Client has encountered|Cannot use a pool after calling end)/i;

/** Whether the database was away, so that the same call may work later; else the fault is in the call or the data. */
export const isUnreachable = (error: unknown): boolean => {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  if (typeof code === 'string') return SOCKET_CODES.has(code) || UNAVAILABLE_STATES.test(code);
  return typeof message === 'string' && CLIENT_MESSAGES.test(message);
};

/** Runs a query of the vault. @throws {StoreUnavailable} the database was away. */
export const orUnavailable = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (isUnreachable(error)) throw new StoreUnavailable('the database cannot be reached', { cause: error });
    throw error;
  }
};
