import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { openEmbeddedPostgres } from '../../src/adapters/embedded-postgres/embedded-postgres.ts';
import { createSystem } from '../../src/adapters/system.ts';
import { silentLogger } from '../../test/support/logger.ts';
import { newFolder } from './folder.ts';

/** A PostgreSQL server that outlives the programs of a world. */
export interface PostgresServer {
  /** Administrator URL. */
  readonly url: string;
  /** Process id of the postmaster. */
  readonly pid: number;
  readonly folder: string;
  close(): Promise<void>;
}

/**
 * Fits several concurrent worlds, each with up to three processes and a rebuild to judge them, at two connections per
 * projection.
 */
const SETTINGS = { max_connections: '700', fsync: 'off', full_page_writes: 'off' };

/**
 * Opens a server without fsync: killing programs loses nothing that the server has. Servers that are killed themselves
 * need other settings.
 */
const openPostgresServer = async (settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> => {
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

/** The server shared by all worlds that do not harm it. */
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
  /** Drops the database and disconnects all clients. */
  drop(): Promise<void>;
}

/** Creates an empty database on the server at the URL. */
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
