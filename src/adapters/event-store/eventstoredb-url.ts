import { EventStoreDBClient } from '@eventstore/db-client';

const SHAPE = /^esdb(\+discover)?:\/\/(?:[^@]*@)?([^/?]+)\/?(?:\?(.*))?$/;
const EXAMPLE = 'esdb://user:password@host:2113, or esdb://host:2113?tls=false';

/** The client prints the whole URL, password included, when it meets an option that is not one of these. */
const OPTIONS = [
  'tls',
  'tlsCAFile',
  'userCertFile',
  'userKeyFile',
  'connectionName',
  'maxDiscoverAttempts',
  'discoveryInterval',
  'gossipTimeout',
  'nodePreference',
  'keepAliveInterval',
  'keepAliveTimeout',
  'defaultDeadline',
].map((name) => name.toLowerCase());

const refuse = (why: string): never => {
  throw new RangeError(`EVENTSTORE_URL ${why}; it looks like ${EXAMPLE}`);
};

const assertOptions = (query: string): void => {
  for (const option of query.split('&').filter((text) => text !== '')) {
    const [name = ''] = option.split('=');
    if (!OPTIONS.includes(name.replaceAll(/[_-]/g, '').toLowerCase())) {
      refuse(`has the option "${name}", which is not known or not supported`);
    }
  }
};

/** Hosts of the URL, for messages. @throws {RangeError} that says what is wrong and how it should look. */
export const hostsOf = (url: string): string => {
  const [, , hosts, query = ''] = SHAPE.exec(url.trim()) ?? refuse('is not an EventStoreDB connection string');
  assertOptions(query);
  return hosts as string; // the group is not optional
};

/** @throws {RangeError} as `hostsOf`; the client's own words may hold the password and are not repeated. */
export const clientFor = (url: string): EventStoreDBClient => {
  hostsOf(url);
  try {
    return EventStoreDBClient.connectionString(url);
  } catch (error) {
    if (error instanceof Error && /certificate|userCertFile|userKeyFile/.test(error.message)) throw error;
    return refuse('cannot be parsed');
  }
};
