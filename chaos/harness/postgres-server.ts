import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { createSystem } from '../../src/adapters/system.ts';
import { openEmbeddedPostgres } from '../../src/lib/postgres/postgres.ts';
import { silentLogger } from '../../test/support/logger.ts';
import { newFolder } from './folder.ts';

/** A PostgreSQL that outlives the programs of a world. */
export interface PostgresServer {
  /** Administrator's URL. */
  readonly url: string;
  /** The postmaster. */
  readonly pid: number;
  readonly folder: string;
  close(): Promise<void>;
}

/** Several worlds at a time, each with up to three processes and a rebuild that judges them: two connections a projection. */
const SETTINGS = { max_connections: '700', fsync: 'off', full_page_writes: 'off' };

/** Kills of programs lose nothing that the server has: it need not wait for the disk, unless it is itself to be killed. */
export const openPostgresServer = async (settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> => {
  const folder = await newFolder();
  const options = { dataDir: folder.path, system: createSystem(), logger: silentLogger };
  const { url, pid, close } = await openEmbeddedPostgres({ ...options, settings: { ...SETTINGS, ...settings } });
  return {
    url,
    pid,
    folder: folder.path,
    close: async () => {
      await close();
      await folder.remove();
    },
  };
};

let shared: Promise<PostgresServer> | undefined;

/** The one that all worlds share which do not harm it. */
export const sharedPostgres = (): Promise<PostgresServer> => {
  shared ??= openPostgresServer();
  return shared;
};

export const closeSharedPostgres = async (): Promise<void> => {
  await (await shared)?.close();
};

const withAdministrator = async <T>(url: string, work: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

export interface OwnDatabase {
  readonly url: string;
  /** Whoever is still connected to it. */
  drop(): Promise<void>;
}

/** A new, empty database on the server that the URL names. */
export const newDatabase = async (serverUrl: string): Promise<OwnDatabase> => {
  const name = `chaos_${randomBytes(8).toString('hex')}`;
  await withAdministrator(serverUrl, (client) => client.query(`create database ${name}`));
  return {
    url: Object.assign(new URL(serverUrl), { pathname: name }).href,
    drop: () =>
      withAdministrator(serverUrl, async (client) => {
        await client.query(`drop database if exists ${name} with (force)`);
      }),
  };
};
