import packageJson from '../../package.json' with { type: 'json' };
import { openOperator } from '../../src/composition/open-operator.ts';
import { readConfig } from '../../src/config.ts';
import type { System } from '../../src/lib/async/async.ts';
import type { ApiServer } from '../processes/api-server.ts';
import type { Bench } from './bench.ts';
import { openChild } from './child.ts';
import { provision } from './provision.ts';
import type { Recorder } from './recorder.ts';

const SECRET_KEY_BYTES = 32;
/** Generates a `SECRET_KEY`. */
export const newSecretKey = ({ randomBytes }: System): string =>
  Buffer.from(randomBytes(SECRET_KEY_BYTES)).toString('hex');

/** Node arguments of `npm start`. */
export const NODE_ARGUMENTS: readonly string[] = packageJson.scripts.start
  .split(' ')
  .filter((argument) => argument.startsWith('--'));

interface ApiProcess {
  readonly baseUrl: string;
  readonly pid: number;
  /** Number of statements sent to PostgreSQL since the start. */
  queries(): Promise<number>;
}

/** A database with an organization that may send. */
export interface Api {
  readonly key: string;
  readonly databaseUrl: string;
  readonly secretKey: string;
  /** Starts a process with the role `api` on this database. */
  start(
    storage: ApiServer['storage'],
    how?: { readonly execArgv?: readonly string[]; readonly recorder?: Recorder },
  ): Promise<ApiProcess>;
}

/** @param eventStoreUrl replaces the log in PostgreSQL. */
export const openApi = async ({ closers, postgres, system, profiling }: Bench, eventStoreUrl = ''): Promise<Api> => {
  const databaseUrl = await postgres.migratedDatabase(closers);
  const secretKey = newSecretKey(system);
  const variables = { DATABASE_URL: databaseUrl, SECRET_KEY: secretKey, EVENTSTORE_URL: eventStoreUrl };
  const operator = await openOperator(readConfig(variables), { mayBeNew: true });
  const key = await provision(operator.context, { signs: false }).finally(operator.close);
  return {
    key,
    databaseUrl,
    secretKey,
    start: async (storage, { execArgv = [], recorder } = {}) => {
      const input: ApiServer = { databaseUrl, secretKey, eventStoreUrl, storage };
      const child = await openChild<Pick<ApiProcess, 'baseUrl'>>(closers, {
        name: 'api-server',
        input,
        execArgv: [...NODE_ARGUMENTS, ...(recorder?.nodeOptions ?? []), ...profiling, ...execArgv],
        variables: recorder?.variables ?? {},
      });
      return { baseUrl: child.facts.baseUrl, pid: child.pid, queries: () => child.ask<number>('queries') };
    },
  };
};
