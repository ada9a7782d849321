import { StartRefused } from '../async/async.ts';

const SHAPE = /^(?:esdb|kurrentdb)(?:\+discover)?:\/\/(?:[^@]*@)?([^/?]+)\/?(?:\?(.*))?$/;
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

/** @throws {StartRefused} with the expected form. */
export const refuseUrl = (why: string): never => {
  throw new StartRefused(`EVENTSTORE_URL ${why}; it looks like ${EXAMPLE}`);
};

const assertOptions = (query: string): void => {
  for (const option of query.split('&').filter((text) => text !== '')) {
    const [name = ''] = option.split('=');
    if (!OPTIONS.includes(name.replaceAll(/[_-]/g, '').toLowerCase())) {
      refuseUrl(`has the option "${name}", which is not known or not supported`);
    }
  }
};

/** Hosts of the URL, separated by commas, for messages. @throws {StartRefused} with the problem and the expected form. */
export const hostsOf = (url: string): string => {
  const [, hosts, query = ''] = SHAPE.exec(url.trim()) ?? refuseUrl('is not an EventStoreDB connection string');
  assertOptions(query);
  return hosts as string; // the group is not optional
};
