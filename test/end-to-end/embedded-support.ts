import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  openEmbeddedPostgres,
} from '../../src/adapters/embedded-postgres/embedded-postgres.ts';
import { createSystem } from '../../src/adapters/system.ts';
import { silentLogger } from '../support/logger.ts';

const SERVICE = fileURLToPath(new URL('embedded-service.ts', import.meta.url));

export const isRoot = process.getuid?.() === 0;
export const NOBODY = { uid: 65_534, gid: 65_534 };

const runsAs = (account: { readonly uid: number; readonly gid: number }): boolean => {
  try {
    execFileSync(process.execPath, ['--check', SERVICE], { cwd: '/', stdio: 'ignore', ...account });
    return true;
  } catch {
    return false;
  }
};

/** Only root can act as another user, and only if that user can read this checkout and its Node. */
export const canActAsNobody = isRoot && runsAs(NOBODY);

/** A folder that the server's user can enter. Servers that still run in it are killed with it. */
export const temporaryFolder = async (mode = 0o755): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'outbox-embedded-'));
  await chmod(folder, mode);
  onTestFinished(async () => {
    await killServer(join(folder, 'postgresql'));
    await rm(folder, { recursive: true, force: true });
  });
  return folder;
};

const pidIn = async (home: string): Promise<number> =>
  Number((await readFile(join(home, 'data', 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')[0]);

/** Simulates a power cut: kills the server and all its processes at once, without a shutdown. */
export const killServer = async (home: string): Promise<void> => {
  const pid = await pidIn(home);
  if (!(pid > 0)) return;
  const children = execFileSync('/bin/sh', ['-c', `pgrep -P ${pid} || true`], { encoding: 'utf8' }).split('\n');
  for (const each of [pid, ...children.filter(Boolean).map(Number)]) {
    try {
      process.kill(each, 'SIGKILL');
    } catch {
      // already gone
    }
  }
};

export const open = (
  options: Partial<EmbeddedPostgresOptions> & { readonly dataDir: string },
): Promise<EmbeddedPostgres> => openEmbeddedPostgres({ system: createSystem(), logger: silentLogger, ...options });

export const query = async (url: string, sql: string): Promise<readonly Record<string, unknown>[]> => {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
};

export interface ServiceReport {
  readonly url: string;
  readonly adopted: boolean;
  readonly location: string;
  readonly pid: number;
  readonly refused?: string;
}

/** Starts a service in its own process group, as a shell does. */
export const startService = async (
  dataDir: string,
  account: { readonly uid?: number; readonly gid?: number } = {},
): Promise<{ readonly service: ChildProcess; readonly report: ServiceReport }> => {
  const service = spawn(process.execPath, [SERVICE, dataDir], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    ...account,
  });
  onTestFinished(() => void service.kill('SIGKILL'));
  if (service.stdout === null) throw new Error('the service has no output');
  const [line] = (await once(createInterface(service.stdout), 'line')) as [string];
  return { service, report: JSON.parse(line) as ServiceReport };
};

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
