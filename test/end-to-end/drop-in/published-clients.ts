import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll } from 'vitest';

/** Versions of published clients that programs run. Apart, because they cannot be installed beside each other. */
const CLIENTS = new URL('clients', import.meta.url).pathname;
const INSTALL_MS_MAX = 300_000;

const run = promisify(execFile);

/**
 * Installs the clients. @param environment variables of each program.
 * @returns runs a program and parses its output as JSON.
 */
export const usePublishedClients = (
  environment: () => Readonly<Record<string, string>>,
): ((program: string) => Promise<unknown>) => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'drop-in-clients-'));
    await cp(CLIENTS, folder, { recursive: true });
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
  }, INSTALL_MS_MAX);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  return async (program) => {
    await writeFile(join(folder, 'program.mjs'), program);
    const env = { ...process.env, ...environment() };
    return JSON.parse((await run(process.execPath, ['program.mjs'], { cwd: folder, env })).stdout);
  };
};
