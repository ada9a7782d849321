import { EventStoreDBClient } from '@eventstore/db-client';
import { hostsOf, refuseUrl } from './eventstoredb-url.ts';

/** The server's newer name, which this client does not know: it stands for the same. */
const NEWER_SCHEME = /^kurrentdb(?=[+:])/;

/** @throws {StartRefused} as `hostsOf`; the client's own words may hold the password and are not repeated. */
export const clientFor = (url: string): EventStoreDBClient => {
  hostsOf(url);
  try {
    return EventStoreDBClient.connectionString(url.trim().replace(NEWER_SCHEME, 'esdb'));
  } catch (error) {
    const isHarmless = error instanceof Error && /certificate|userCertFile|userKeyFile/.test(error.message);
    return refuseUrl(isHarmless ? `cannot be used: ${error.message}` : 'cannot be parsed');
  }
};
