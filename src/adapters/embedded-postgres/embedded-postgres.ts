import { readFile } from 'node:fs/promises';
import { Client, escapeIdentifier } from 'pg';
import { type Logger, StartRefused, type System } from '../../lib/async/async.ts';
import { ADVISORY_LOCKS } from '../../lib/postgres/postgres.ts';
import {
  EMBEDDED_DATABASE,
  EMBEDDED_SETTINGS,
  EMBEDDED_USER,
  ensureCluster,
  findBinaries,
  passwordFileOf,
  type Settings,
} from './cluster.ts';
import { findHome } from './home.ts';
import { ensureRunning, type Running, type Server, serves, stop } from './server.ts';

/** How long the database may be gone before it is noticed. Shorter costs a look into `/proc` each time. */
const LOOK_EVERY_MS = 500;
/** Pause after a failed start. Shorter fills the log, longer keeps clients waiting once the cause is gone. */
const RESTART_PAUSE_MS = 2_000;

interface Supervision {
  end(): Promise<void>;
}

const restart = async (server: Server, port: number): Promise<number> => {
  server.logger.warn({}, 'the built-in PostgreSQL exited unexpectedly: restarting it');
  const { pid } = await ensureRunning(server, port);
  server.logger.info({ pid }, 'restarted the built-in PostgreSQL');
  return pid;
};

/** Keeps the server running, at its address, until `end` is called. */
const supervise = (server: Server, { pid: first, port }: Running): Supervision => {
  const ended = new AbortController();
  const { system, logger } = server;

  const look = async (pid: number): Promise<number> => {
    const current = (await serves({ pid }, server.folder)) ? pid : await restart(server, port);
    await system.sleep(LOOK_EVERY_MS, ended.signal);
    return current;
  };

  const recover = async (error: unknown): Promise<void> => {
    if (ended.signal.aborted) return;
    logger.error({ err: error }, 'could not restart the built-in PostgreSQL');
    await system.sleep(RESTART_PAUSE_MS, ended.signal);
  };

  const watch = async (): Promise<void> => {
    let pid = first;
    while (!ended.signal.aborted) {
      try {
        pid = await look(pid);
      } catch (error) {
        await recover(error).catch(() => undefined); // told to end while it slept
      }
    }
  };

  const watching = watch();
  return {
    end: async () => {
      ended.abort();
      await watching;
    },
  };
};

interface OwnershipOptions {
  readonly url: string;
  readonly system: System;
  readonly logger: Logger;
  /** Another service took the data while the database was down: this one must stop. */
  readonly onLost: (reason: StartRefused) => void;
}

interface Ownership {
  release(): Promise<void>;
}

/** A killed service's lock is released when the server notices its closed connection. Longer delays every rejection. */
const PATIENCE_MS = 2_000;
const RETRY_MS = 100;
/** Pause between attempts to take the lock again after the database was down. */
const RECONNECT_MS = 500;

/** A frozen server accepts connections but never answers. */
const TIMEOUT_MS = 5_000;

const NAME = 'outbox owner';

const connect = async (url: string, name: string): Promise<Client> => {
  const client = new Client({
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    keepAlive: true,
  });
  client.on('error', () => undefined); // its end is what counts
  await client.connect();
  return client;
};

const tryLock = async (client: Client): Promise<boolean> => {
  const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
    ADVISORY_LOCKS.ownership,
  ]);
  return rows[0]?.taken === true;
};

const HOLDER = `
  select a.application_name as name
  from pg_locks l join pg_stat_activity a using (pid)
  where l.locktype = 'advisory' and l.classid = 0 and l.objid = $1 and l.granted
    and l.database = (select oid from pg_database where datname = current_database())`;

const refusal = async (client: Client): Promise<StartRefused> => {
  const { rows } = await client.query<{ name: string }>(HOLDER, [ADVISORY_LOCKS.ownership]);
  const [, pid] = /^outbox owner (\d+)/.exec(rows[0]?.name ?? '') ?? [];
  const which = pid === undefined ? '' : ` (process ${pid})`;
  return new StartRefused(
    `another Outbox service${which} is already running on this data: stop it, or name another DATA_DIR`,
  );
};

const lockOrRefuse = async (client: Client, system: System): Promise<void> => {
  const deadline = system.monotonicMs() + PATIENCE_MS;
  while (!(await tryLock(client))) {
    if (system.monotonicMs() > deadline) throw await refusal(client);
    await system.sleep(RETRY_MS);
  }
};

/** A slow server may not have noticed that this process abandoned an earlier connection, which still holds the lock. */
const endEarlierConnections = async (client: Client, name: string): Promise<void> => {
  await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and pid <> pg_backend_pid()',
    [name],
  );
};

const take = async (url: string, system: System, name: string): Promise<Client> => {
  const client = await connect(url, name);
  try {
    await endEarlierConnections(client, name);
    await lockOrRefuse(client, system);
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
};

/**
 * Makes this process the only service on the database until it releases it or dies. The lock ends with the connection,
 * so it is taken again after the database was down.
 * @throws {StartRefused} if another service has it.
 */
export const claimOwnership = async ({ url, system, logger, onLost }: OwnershipOptions): Promise<Ownership> => {
  const released = new AbortController();
  // Processes in two containers may have the same pid.
  const name = `${NAME} ${process.pid} ${Buffer.from(system.randomBytes(4)).toString('hex')}`;
  let client = await take(url, system, name);

  const retake = async (): Promise<void> => {
    await system.sleep(RECONNECT_MS, released.signal);
    client = await take(url, system, name);
    if (released.signal.aborted) await client.end();
    else watch();
  };
  const retakeOrTell = (): void => {
    retake().catch((error: unknown) => {
      if (released.signal.aborted) return;
      if (error instanceof StartRefused) onLost(error);
      else retakeOrTell();
    });
  };
  const watch = (): void => {
    client.once('end', () => {
      if (released.signal.aborted) return;
      logger.warn({}, 'lost the database: taking ownership of the data again');
      retakeOrTell();
    });
  };

  watch();
  return {
    release: async () => {
      released.abort();
      await client.end();
    },
  };
};

/** True if no service owns the database right now. This may change at any time. */
const isUnowned = async (url: string): Promise<boolean> => {
  const client = await connect(url, NAME);
  try {
    return await tryLock(client);
  } finally {
    await client.end();
  }
};

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
          `the built-in PostgreSQL in ${server.folder} rejects its own service (${(error as Error).message}): see server.log there, or set DATABASE_URL`,
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
      else server.logger.info({}, 'leaving the built-in PostgreSQL running: another service uses it');
    },
  };
};
