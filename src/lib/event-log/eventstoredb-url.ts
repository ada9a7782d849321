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

export interface ConnectionSetting {
  /** `esdb://…`, in the client's format. */
  readonly connectionString: string;
  /** Name of the setting that holds it, for the operator. */
  readonly setting: string;
}

/** The server in sentences for the operator. */
export interface ServerName extends Pick<ConnectionSetting, 'setting'> {
  /** Separated by commas. */
  readonly hosts: string;
}

/** @throws {StartRefused} with the expected form. */
export const refuseUrl = (setting: string, why: string): never => {
  throw new StartRefused(`${setting} ${why}; it looks like ${EXAMPLE}`);
};

const assertOptions = (setting: string, query: string): void => {
  for (const option of query.split('&').filter((text) => text !== '')) {
    const [name = ''] = option.split('=');
    if (!OPTIONS.includes(name.replaceAll(/[_-]/g, '').toLowerCase())) {
      refuseUrl(setting, `has the option "${name}", which is not known or not supported`);
    }
  }
};

/** Hosts of the URL, for messages. @throws {StartRefused} with the problem and the expected form. */
export const hostsOf = ({ connectionString, setting }: ConnectionSetting): string => {
  const [, hosts, query = ''] =
    SHAPE.exec(connectionString.trim()) ?? refuseUrl(setting, 'is not an EventStoreDB connection string');
  assertOptions(setting, query);
  return hosts as string; // the group is not optional
};
