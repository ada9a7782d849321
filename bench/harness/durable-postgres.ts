import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { openEmbeddedPostgres } from '../../src/adapters/embedded-postgres/embedded-postgres.ts';
import type { Closers } from '../../src/composition/lifecycle.ts';
import type { Logger, System } from '../../src/lib/async/async.ts';
import { migrate } from '../../src/projections/migrate.ts';
import { guard } from './guard.ts';

export interface Statement {
  readonly text: string;
  readonly calls: number;
  /** Total of all calls in milliseconds. */
  readonly ms: number;
}

const COUNTING = { shared_preload_libraries: 'pg_stat_statements' };
const BUSIEST = `
  select regexp_replace(query, '\\s+', ' ', 'g') as text, calls::int, total_exec_time as ms
  from pg_stat_statements
  order by total_exec_time desc`;

/** A PostgreSQL server with the settings of the embedded default: its commits survive a power cut. */
export interface DurablePostgres {
  readonly version: string;
  /** Process id of the postmaster, the parent of all other server processes. */
  readonly pid: number;
  /** Statements by total time since the start, largest first. Only available if the server counts them. */
  busiestStatements(): Promise<readonly Statement[]>;
  /** Creates a database without tables, dropped by the given closers. */
  emptyDatabase(closers: Closers): Promise<string>;
  /** Creates a copy of a database that has no connections. */
  copiedDatabase(closers: Closers, url: string): Promise<string>;
  /** Creates a database in the state after a first start. */
  migratedDatabase(closers: Closers): Promise<string>;
}

const MUST_BE_ON = ['fsync', 'synchronous_commit', 'full_page_writes'] as const;

const withClient = async <T>(url: string, work: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

const settingOf = async (client: Client, name: string): Promise<string> =>
  (await client.query<{ value: string }>('select current_setting($1) as value', [name])).rows[0]?.value ?? '';

const requireDurable = async (client: Client): Promise<void> => {
  for (const name of MUST_BE_ON) {
    const value = await settingOf(client, name);
    if (value !== 'on') throw new Error(`${name} is ${value}: figures would not be of a durable log`);
  }
};

/** Writes loaded data to disk, so that this does not happen during a measurement. */
export const settle = (url: string): Promise<void> =>
  withClient(url, async (client) => {
    await client.query('vacuum analyze');
    await client.query('checkpoint');
  });

export const openDurablePostgres = async (
  closers: Closers,
  {
    folder,
    system,
    logger,
    counts = false,
  }: {
    readonly folder: string;
    readonly system: System;
    readonly logger: Logger;
    /** True to count the time of each statement. */
    readonly counts?: boolean;
  },
): Promise<DurablePostgres> => {
  const dataDir = join(folder, 'postgres');
  await mkdir(dataDir, { mode: 0o755 });
  const embedded = await openEmbeddedPostgres({ dataDir, system, logger, settings: counts ? COUNTING : {} });
  guard(closers, { pid: embedded.pid, signal: 'INT', folders: [folder, embedded.location] });
  closers.add('PostgreSQL', embedded.close);
  await withClient(embedded.url, requireDurable);
  if (counts) await withClient(embedded.url, (client) => client.query('create extension pg_stat_statements'));
  let made = 0;

  const createDatabase = async (owner: Closers, template: string): Promise<string> => {
    made += 1;
    const name = `bench_${made}`;
    await withClient(embedded.url, (client) => client.query(`create database ${name} template ${template}`));
    owner.add(name, async () => {
      await withClient(embedded.url, (client) => client.query(`drop database ${name} with (force)`));
    });
    return Object.assign(new URL(embedded.url), { pathname: name }).href;
  };

  const emptyDatabase = (owner: Closers): Promise<string> => createDatabase(owner, 'template1');

  return {
    version: await withClient(embedded.url, (client) => settingOf(client, 'server_version')),
    pid: embedded.pid,
    busiestStatements: async () =>
      counts ? (await withClient(embedded.url, (client) => client.query<Statement>(BUSIEST))).rows : [],
    emptyDatabase,
    copiedDatabase: (owner, url) => createDatabase(owner, new URL(url).pathname.slice(1)),
    migratedDatabase: async (owner) => {
      const url = await emptyDatabase(owner);
      await migrate({ url });
      return url;
    },
  };
};
