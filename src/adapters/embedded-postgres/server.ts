import { type ChildProcess, spawn } from 'node:child_process';
import { type FileHandle, open, readdir, readFile, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type Logger, StartRefused, type System } from '../../lib/async/async.ts';
import { asArguments, type Binaries, isAlive, type Settings } from './cluster.ts';
import { asAccount, clusterOf, type ServerAccount } from './home.ts';

/** State of a server as recorded in its `postmaster.pid`. */
interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly status: string;
}

const postmasterFileOf = (folder: string): string => join(clusterOf(folder), 'postmaster.pid');

/** Lines: pid, data directory, start time, port, socket folder, listen address, shared memory, status. */
const readPostmaster = async (folder: string): Promise<Postmaster | undefined> => {
  const text = await readFile(postmasterFileOf(folder), 'utf8').catch(() => '');
  const lines = text.split('\n').map((line) => line.trim());
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number(lines[3] ?? 0), status: lines[7] ?? '' };
};

const HAS_PROC = process.platform === 'linux';

const worksIn = async (pid: string, data: string): Promise<boolean> => {
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
  return cwd === data;
};

/** Root in a container may not inspect another user's process, but may read its command line. */
const wasStartedOn = async (pid: string, data: string): Promise<boolean> => {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return line.split('\0').includes(data);
};

/**
 * True if that process is a server on this very data. Process ids are reused, and after a reboot or in a new container
 * the file may name an unrelated process. Every process of PostgreSQL has the data directory as its working directory.
 */
export const serves = async ({ pid }: Pick<Postmaster, 'pid'>, folder: string): Promise<boolean> => {
  if (!isAlive(pid)) return false;
  if (!HAS_PROC) return true;
  const data = await realpath(clusterOf(folder));
  return (await worksIn(String(pid), data)) || (await wasStartedOn(String(pid), data));
};

/** Whether any process, such as a backend whose server was killed, still has the data open. */
const isInUse = async (folder: string): Promise<boolean> => {
  if (!HAS_PROC) return false;
  const data = await realpath(clusterOf(folder));
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const using = await Promise.all(pids.map((pid) => worksIn(pid, data)));
  return using.includes(true);
};

/** One embedded server, with everything needed to start, find and stop it. */
export interface Server {
  readonly folder: string;
  readonly account: ServerAccount;
  readonly binaries: Binaries;
  readonly settings: Settings;
  readonly system: System;
  readonly logger: Logger;
}

export interface Running {
  readonly pid: number;
  readonly port: number;
  /** The server was already running. */
  readonly adopted: boolean;
}

/** Polling interval for the pid file. Longer delays every start, shorter burns time that the server needs to start. */
const POLL_MS = 10;
/** Pause after a port was taken or another start was first. Shorter fills the log. */
const RETRY_MS = 100;
/** Recovery after a crash replays up to `max_wal_size`. A server that takes longer is stuck, or its disk is. */
const START_DEADLINE_MS = 120_000;
/** A fast shutdown ends sessions and writes a checkpoint. After this time the server is stopped without one. */
const STOP_DEADLINE_MS = 8_000;
/** Backends of a killed server notice it when they next wait. Longer gains nothing. */
const LEFTOVER_DEADLINE_MS = 10_000;
/** Limit for the server's own log: at a start, a larger one becomes `server.log.1`. */
const LOG_BYTES_MAX = 4 * 1024 * 1024;

const logFileOf = (folder: string): string => join(folder, 'server.log');

/** A port that is free now. Another process may take it first, which the start detects. */
const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });

const openLog = async (folder: string): Promise<{ readonly file: FileHandle; readonly offset: number }> => {
  const path = logFileOf(folder);
  const size = (await stat(path).catch(() => undefined))?.size ?? 0;
  if (size > LOG_BYTES_MAX) await rename(path, `${path}.1`);
  const file = await open(path, 'a', 0o600);
  return { file, offset: (await file.stat()).size };
};

/**
 * Runs in a session of its own: Ctrl-C and the end of our process group concern only us, and we stop the server when we
 * are done.
 */
const launch = async (
  server: Server,
  port: number,
): Promise<{ readonly child: ChildProcess; readonly offset: number }> => {
  const { file, offset } = await openLog(server.folder);
  const parameters = ['-D', clusterOf(server.folder), '-p', String(port), ...asArguments(server.settings)];
  const options = { ...asAccount(server.account), detached: true };
  const child = spawn(server.binaries.postgres, parameters, { ...options, stdio: ['ignore', file.fd, file.fd] });
  child.unref();
  await new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  }).finally(() => file.close());
  return { child, offset };
};

const FAILURES: readonly (readonly [RegExp, 'again' | 'busy' | string])[] = [
  [/lock file "postmaster\.pid" (already exists|is empty)/, 'again'],
  [/pre-existing shared memory block/, 'again'],
  [/could not create any TCP\/IP sockets|could not bind|Address already in use/, 'busy'],
  [/No space left on device|Disk quota exceeded/, 'its disk is full: make room'],
  [/Cannot allocate memory|could not map anonymous shared memory/, 'there is not enough memory for it: free 200 MB'],
  [/Read-only file system/, 'its file system is read-only: mount it writable'],
];

type Failure = 'again' | 'busy';

/** Explains why the server ended, from its log since the start. */
const explain = async (server: Server, offset: number): Promise<Failure> => {
  const path = logFileOf(server.folder);
  const said = (await readFile(path)).subarray(offset).toString('utf8');
  const known = FAILURES.find(([pattern]) => pattern.test(said))?.[1];
  if (known === 'again' || known === 'busy') return known;
  const last = /(?:FATAL|PANIC): +(.*)/.exec(said)?.[1] ?? 'it ended without an error message';
  throw new StartRefused(
    known === undefined
      ? `the built-in PostgreSQL did not start (${last}): see ${path}, or set DATABASE_URL`
      : `the built-in PostgreSQL in ${server.folder} did not start: ${known}, or set DATABASE_URL`,
  );
};

const pause = (server: Server): Promise<void> => server.system.sleep(POLL_MS);

/** Waits until the process is ready for connections. `gone`: it ended or another took its place. */
const becomesReady = async (server: Server, pid: number): Promise<Postmaster | 'gone'> => {
  const deadline = server.system.monotonicMs() + START_DEADLINE_MS;
  while (await serves({ pid }, server.folder)) {
    const found = await readPostmaster(server.folder);
    if (found?.pid === pid && found.status === 'ready') return found;
    if (server.system.monotonicMs() > deadline) {
      throw new StartRefused(
        `the built-in PostgreSQL is not ready after ${START_DEADLINE_MS / 1000} s: see ${logFileOf(server.folder)}`,
      );
    }
    await pause(server);
  }
  return 'gone';
};

/**
 * PostgreSQL handles a dead server's pid file itself, unless the pid now belongs to another process, which would block
 * the start.
 */
const clearStale = async (server: Server, stale: Postmaster): Promise<void> => {
  if (!isAlive(stale.pid)) return;
  const deadline = server.system.monotonicMs() + LEFTOVER_DEADLINE_MS;
  while (await isInUse(server.folder)) {
    if (server.system.monotonicMs() > deadline) {
      throw new StartRefused(
        `processes of an earlier PostgreSQL still use ${clusterOf(server.folder)}: stop them, then start again`,
      );
    }
    await pause(server);
  }
  await rm(postmasterFileOf(server.folder), { force: true });
};

const adopt = async (server: Server): Promise<Running | undefined> => {
  const found = await readPostmaster(server.folder);
  if (found === undefined) return undefined;
  if (!(await serves(found, server.folder))) {
    await clearStale(server, found);
    return undefined;
  }
  const ready = await becomesReady(server, found.pid);
  return ready === 'gone' ? undefined : { pid: ready.pid, port: ready.port, adopted: true };
};

const start = async (server: Server, port: number): Promise<Running | Failure> => {
  const { child, offset } = await launch(server, port);
  const ready = await becomesReady(server, child.pid ?? 0);
  return ready === 'gone' ? explain(server, offset) : { pid: ready.pid, port: ready.port, adopted: false };
};

const adoptOrStart = async (server: Server, port: number | undefined): Promise<Running | Failure> =>
  (await adopt(server)) ?? start(server, port ?? (await freePort()));

const keepsFailing = (server: Server, failure: Failure): StartRefused =>
  new StartRefused(
    failure === 'busy'
      ? 'the built-in PostgreSQL found no free port on 127.0.0.1: free one, or set DATABASE_URL'
      : `another PostgreSQL keeps starting on ${clusterOf(server.folder)}: stop it, then start again`,
  );

/**
 * Returns a ready server on this data: the running one (it outlived a killed service), or a new one.
 * @param port reused when a server is replaced, so that its address stays the same; absent: any free port.
 * @throws {StartRefused} if it cannot be started.
 */
export const ensureRunning = async (server: Server, port?: number): Promise<Running> => {
  const deadline = server.system.monotonicMs() + START_DEADLINE_MS;
  for (;;) {
    const outcome = await adoptOrStart(server, port);
    if (typeof outcome === 'object') return outcome;
    if (server.system.monotonicMs() > deadline) throw keepsFailing(server, outcome);
    await server.system.sleep(RETRY_MS);
  }
};

const ends = async (server: Server, pid: number): Promise<boolean> => {
  const deadline = server.system.monotonicMs() + STOP_DEADLINE_MS;
  const runs = (): Promise<boolean> => serves({ pid }, server.folder);
  while ((await runs()) && server.system.monotonicMs() < deadline) await pause(server);
  return !(await runs());
};

/** Fast shutdown, then an immediate one if that takes too long: the next start recovers, and nothing is lost. */
export const stop = async (server: Server): Promise<void> => {
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    const found = await readPostmaster(server.folder);
    if (found === undefined || !(await serves(found, server.folder))) return;
    process.kill(found.pid, signal);
    if (await ends(server, found.pid)) return;
    server.logger.warn({ pid: found.pid, signal }, 'the built-in PostgreSQL is slow to stop');
  }
};
