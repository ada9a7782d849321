import { readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from './cluster.ts';
import { clusterOf } from './home.ts';

/** State of a server as recorded in its `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly status: string;
}

export const postmasterFileOf = (folder: string): string => join(clusterOf(folder), 'postmaster.pid');

/** Lines: pid, data directory, start time, port, socket folder, listen address, shared memory, status. */
export const readPostmaster = async (folder: string): Promise<Postmaster | undefined> => {
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
export const isInUse = async (folder: string): Promise<boolean> => {
  if (!HAS_PROC) return false;
  const data = await realpath(clusterOf(folder));
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const using = await Promise.all(pids.map((pid) => worksIn(pid, data)));
  return using.includes(true);
};
