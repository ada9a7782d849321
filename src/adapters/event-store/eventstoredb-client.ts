import { EventStoreDBClient } from '@eventstore/db-client';
import { hostsOf, refuseUrl } from './eventstoredb-url.ts';

/** The server's newer name, which this client does not know: it stands for the same. */
const NEWER_SCHEME = /^kurrentdb(?=[+:])/;

/** What a connection is for. */
export type Lane = 'work' | 'tail';

/** As the client has it by default. */
const KEEP_ALIVE_MS = 10_000;
const KEEP_ALIVE = /([?&]keep_?-?Alive_?-?Interval=)(\d+)/i;

/**
 * gRPC lets channels of the same options share a TCP connection, so that what is busy on one delays the other: a
 * keep-alive that is a millisecond longer makes it another's.
 */
const ownConnection = (url: string): string => {
  if (KEEP_ALIVE.test(url)) return url.replace(KEEP_ALIVE, (_, name, ms) => `${name}${Number(ms) + 1}`);
  return `${url}${url.includes('?') ? '&' : '?'}keepAliveInterval=${KEEP_ALIVE_MS + 1}`;
};

/** @throws {StartRefused} as `hostsOf`; the client's own words may hold the password and are not repeated. */
export const clientFor = (url: string, lane: Lane): EventStoreDBClient => {
  hostsOf(url);
  try {
    const known = url.trim().replace(NEWER_SCHEME, 'esdb');
    return EventStoreDBClient.connectionString(lane === 'tail' ? ownConnection(known) : known);
  } catch (error) {
    const isHarmless = error instanceof Error && /certificate|userCertFile|userKeyFile/.test(error.message);
    return refuseUrl(isHarmless ? `cannot be used: ${error.message}` : 'cannot be parsed');
  }
};
