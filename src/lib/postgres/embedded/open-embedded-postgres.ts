import { readFile } from 'node:fs/promises';
import { Client, escapeIdentifier } from 'pg';
import { type Logger, StartRefused, type System } from '../../async/async.ts';
import { isUnowned } from '../ownership.ts';
import { findBinaries } from './binaries.ts';
import {
  EMBEDDED_DATABASE,
  EMBEDDED_SETTINGS,
  EMBEDDED_USER,
  ensureCluster,
  passwordFileOf,
  type Settings,
} from './cluster.ts';
import { findHome } from './home.ts';
import { ensureRunning, type Running, type Server, stop } from './server.ts';
import { supervise } from './supervise.ts';

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  readonly system: System;
  readonly logger: Logger;
  /** Restarts the server, at the same address, whenever it ends unexpectedly. For the service that owns the data. */
  readonly supervised?: boolean;
  /** Refuse to start if there is no data yet. */
  readonly mustExist?: boolean | undefined;
  /** Overrides for `EMBEDDED_SETTINGS`, by name. */
  readonly settings?: Settings;
  /** Folder for data and programs that the server's user could not reach otherwise. */
  readonly systemFolder?: string;
}

export interface EmbeddedPostgres {
  readonly url: string;
  /** The server was running already: it outlived a killed service, or serves another process of ours. */
  readonly adopted: boolean;
  /** Real folder of the data. */
  readonly location: string;
  /** The data is not in `DATA_DIR`, because the server's user cannot reach that. */
  readonly relocated: boolean;
  readonly pid: number;
  /** Stops the server, unless a service owns its data: release the ownership first. */
  close(): Promise<void>;
}

/** Open to every user and kept over restarts by the file system standard. */
const SYSTEM_FOLDER = '/var/lib/outbox';

const urlOf = (password: string, port: number, database: string): string =>
  `postgres://${EMBEDDED_USER}:${password}@127.0.0.1:${port}/${database}`;

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown }).code;

/** A frozen server accepts connections but never answers. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Error codes of a server that is ending: its process is gone, or it shuts down. */
const ENDING: ReadonlySet<unknown> = new Set(['ECONNRESET', 'ECONNREFUSED', '57P01', '57P03']);
/**
 * Attempts to open. An ending server takes some 100 ms to exit. Fewer reject a start needlessly, more delay a hopeless
 * one.
 */
const OPENINGS_MAX = 10;
const OPEN_AGAIN_MS = 200;

const canConnect = async (url: string): Promise<boolean> => {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch (error) {
    if (codeOf(error) === '3D000') return false; // invalid_catalog_name: there is no such database
    throw error;
  } finally {
    await client.end();
  }
};

const createDatabase = async (maintenanceUrl: string): Promise<void> => {
  const client = new Client({ connectionString: maintenanceUrl });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(`create database ${escapeIdentifier(EMBEDDED_DATABASE)}`);
  } catch (error) {
    if (codeOf(error) !== '42P04' && codeOf(error) !== '23505') throw error; // another start was first
  } finally {
    await client.end();
  }
};

const openDatabase = async (server: Server, { port }: Running): Promise<string> => {
  const password = (await readFile(passwordFileOf(server.folder), 'utf8')).trim();
  const url = urlOf(password, port, EMBEDDED_DATABASE);
  if (!(await canConnect(url))) await createDatabase(urlOf(password, port, 'postgres'));
  return url;
};

/** A running server may be about to end. A new one then takes its place. */
const openRunning = async (server: Server): Promise<{ readonly running: Running; readonly url: string }> => {
  for (let attempt = 1; ; attempt += 1) {
    const running = await ensureRunning(server);
    try {
      return { running, url: await openDatabase(server, running) };
    } catch (error) {
      if (!ENDING.has(codeOf(error)) || attempt === OPENINGS_MAX) {
        throw new StartRefused(
          `the built-in PostgreSQL in ${server.folder} refuses its own service (${(error as Error).message}): see server.log there, or set DATABASE_URL`,
        );
      }
      await server.system.sleep(OPEN_AGAIN_MS);
    }
  }
};

const prepare = async (options: EmbeddedPostgresOptions): Promise<{ server: Server; relocated: boolean }> => {
  const { dataDir, system, logger, mustExist, systemFolder = SYSTEM_FOLDER } = options;
  const home = await findHome({ dataDir, systemFolder, system, mustExist });
  const binaries = await findBinaries(home.account, systemFolder);
  const folder = await ensureCluster({ home, binaries, system });
  const settings = { ...EMBEDDED_SETTINGS, ...options.settings };
  const server = { folder, account: home.account, binaries, settings, system, logger };
  return { server, relocated: home.relocated };
};

/**
 * The PostgreSQL bundled with the service, on the data in `dataDir`: created on the first call, started if it is not
 * running, adopted if it is.
 * @throws {StartRefused} if it cannot run here.
 */
export const openEmbeddedPostgres = async (options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> => {
  const { server, relocated } = await prepare(options);
  const { running, url } = await openRunning(server);
  const { pid: postgresPid, port, adopted } = running;
  const { folder: location } = server;
  options.logger.info({ postgresPid, port, adopted, location }, 'the built-in PostgreSQL is running');
  const supervision = options.supervised === true ? supervise(server, running) : undefined;
  return {
    url,
    adopted: running.adopted,
    location: server.folder,
    relocated,
    pid: running.pid,
    close: async () => {
      await supervision?.end();
      if (await isUnowned(url).catch(() => true)) await stop(server);
      else server.logger.info({}, 'the built-in PostgreSQL stays up for the service that uses it');
    },
  };
};
