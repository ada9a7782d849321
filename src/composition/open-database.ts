import type { SecretKeys } from '../adapters/secrets/secret-box.ts';
import { loadOrMakeSecretKey } from '../adapters/secrets/secret-key.ts';
import type { Config } from '../config.ts';
import type { Logger, StartRefused, System } from '../lib/async/async.ts';
import { checkPostgres, claimOwnership, openEmbeddedPostgres } from '../lib/postgres/postgres.ts';
import type { Closers } from './lifecycle.ts';

export interface OpenDatabase {
  readonly url: string;
  readonly secretKeys: SecretKeys;
  /** Location of the data, for the ready block. */
  readonly place: string;
}

export interface OpenDatabaseOptions {
  readonly config: Config;
  readonly system: System;
  readonly logger: Logger;
  readonly closers: Closers;
  /** The service owns the built-in database exclusively; the operator's commands share it. */
  readonly owner: false | { onLost(reason: StartRefused): void };
  /** Do not create the built-in database. */
  readonly mustExist?: boolean;
}

const openBuiltIn = async (options: OpenDatabaseOptions): Promise<OpenDatabase> => {
  const { config, system, logger, closers, owner, mustExist } = options;
  const { dataDir, previousSecretKey: previous } = config;
  const embedded = closers.keep(
    'built-in PostgreSQL',
    await openEmbeddedPostgres({ dataDir, system, logger, supervised: owner !== false, mustExist }),
  );
  const { url, location, relocated } = embedded;
  if (owner !== false) {
    const ownership = await claimOwnership({ url, system, logger, onLost: owner.onLost });
    closers.add('ownership', ownership.release);
  }
  const current = config.secretKey ?? (await loadOrMakeSecretKey(dataDir, system));
  const why = relocated ? ` (the database's user cannot reach ${dataDir})` : '';
  return { url, secretKeys: { current, previous }, place: `Data: built-in PostgreSQL in ${location}${why}` };
};

/** The database of `DATABASE_URL`, or the built-in one. @throws {StartRefused} */
export const openDatabase = async (options: OpenDatabaseOptions): Promise<OpenDatabase> => {
  const { config, system, logger } = options;
  if (config.databaseUrl === undefined) return openBuiltIn(options);
  const url = config.databaseUrl;
  await checkPostgres({ url, system, logger });
  // The configuration requires SECRET_KEY with DATABASE_URL.
  const secretKeys = { current: config.secretKey ?? '', previous: config.previousSecretKey };
  return { url, secretKeys, place: `Data: PostgreSQL at ${new URL(url).host}` };
};
