import { openOperator } from '../../src/composition/open-operator.ts';
import { readConfig } from '../../src/config.ts';
import type { ApiServer } from '../processes/api-server.ts';
import type { Bench } from './bench.ts';
import { openChild } from './child.ts';
import { provision } from './provision.ts';

const SECRET_KEY_BYTES = 32;

interface ApiProcess {
  readonly baseUrl: string;
  readonly pid: number;
  /** Statements sent to PostgreSQL since it started. */
  queries(): Promise<number>;
}

/** A database with an organization that may send. */
export interface Api {
  readonly key: string;
  readonly databaseUrl: string;
  readonly secretKey: string;
  /** Starts a process with the role `api` on it. */
  start(storage: ApiServer['storage'], execArgv?: readonly string[]): Promise<ApiProcess>;
}

/** @param eventStoreUrl in place of the log in PostgreSQL. */
export const openApi = async ({ closers, postgres, system, profiling }: Bench, eventStoreUrl = ''): Promise<Api> => {
  const databaseUrl = await postgres.migratedDatabase(closers);
  const secretKey = Buffer.from(system.randomBytes(SECRET_KEY_BYTES)).toString('hex');
  const variables = { DATABASE_URL: databaseUrl, SECRET_KEY: secretKey, EVENTSTORE_URL: eventStoreUrl };
  const operator = await openOperator(readConfig(variables), { mayBeNew: true });
  const key = await provision(operator.context, { signs: false }).finally(operator.close);
  return {
    key,
    databaseUrl,
    secretKey,
    start: async (storage, execArgv = []) => {
      const input: ApiServer = { databaseUrl, secretKey, eventStoreUrl, storage };
      const child = await openChild<Pick<ApiProcess, 'baseUrl'>>(closers, {
        name: 'api-server',
        input,
        execArgv: [...profiling, ...execArgv],
      });
      return { baseUrl: child.facts.baseUrl, pid: child.pid, queries: () => child.ask<number>('queries') };
    },
  };
};
