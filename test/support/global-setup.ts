import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { openEmbeddedPostgres } from '../../src/adapters/embedded-postgres/embedded-postgres.ts';
import { createSystem } from '../../src/adapters/system.ts';
import { silentLogger } from './logger.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Administrator's URL of the run's PostgreSQL. `support/postgres.ts` creates databases on it. */
    postgresUrl: string;
  }
}

/** Data of a test run need not survive a power cut. All other settings are those of production. */
const SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' };

/**
 * Stops the server and removes its folders once our end of its standard input closes: at the end of the run, or when
 * the run is killed.
 */
const CLEANER =
  'read -r _; kill -INT "$1" 2>/dev/null; while kill -0 "$1" 2>/dev/null; do sleep 0.02; done; rm -rf "$2" "$3"';

/** Hundreds of databases are created and dropped. A file system in memory halves the processor time for that. */
const MEMORY = '/dev/shm';
const MEMORY_BYTES_MIN = 2 * 1024 ** 3;

const parentFolder = async (): Promise<string> => {
  const memory = await statfs(MEMORY).catch(() => null);
  return memory !== null && memory.bavail * memory.bsize >= MEMORY_BYTES_MIN ? MEMORY : tmpdir();
};

/**
 * One PostgreSQL for the whole run: the built-in one, or the server of `TEST_POSTGRES_URL` (an administrator's URL of a
 * server dedicated to this run). `.ci/run` uses the latter to test with the oldest supported version.
 */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const given = process.env.TEST_POSTGRES_URL;
  if (given !== undefined) {
    project.provide('postgresUrl', given);
    return async () => undefined;
  }
  const folder = await mkdtemp(join(await parentFolder(), 'outbox-test-'));
  await chmod(folder, 0o755); // the server's user needs access
  const options = { dataDir: folder, system: createSystem(), logger: silentLogger, settings: SETTINGS };
  const embedded = await openEmbeddedPostgres(options).catch(async (error: unknown) => {
    await rm(folder, { recursive: true, force: true });
    throw error;
  });
  const parameters = ['-c', CLEANER, 'sh', String(embedded.pid), folder, embedded.location];
  const cleaner = spawn('/bin/sh', parameters, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  project.provide('postgresUrl', embedded.url);

  return async () => {
    await embedded.close();
    const cleaned = new Promise((resolve) => cleaner.once('exit', resolve));
    cleaner.stdin.end();
    await cleaned;
  };
};
