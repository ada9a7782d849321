import { StoreUnavailable } from '../../domain/event-store.ts';

/** Classes and codes by which the server says that it is not there for anybody just now (appendix A of its manual). */
const UNAVAILABLE_STATES = /^(?:08...|57P0[1-5]|53300)$/;

const SOCKET_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** What the client says without a code. */
const CLIENT_MESSAGES =
  /^(?:Connection terminated|timeout e|Query read timeout|Client has encountered a connection error)/i;

/** Whether the database was away, so that the same call may work later; else the fault is in the call or the data. */
export const isUnreachable = (error: unknown): boolean => {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
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
