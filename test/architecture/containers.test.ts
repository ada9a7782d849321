import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** The checklist in `.ci/containers.mjs` must pass as the files are, and name each thing that is broken. */

const root = join(import.meta.dirname, '../..');
const script = join(root, '.ci/containers.mjs');
const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;

interface Break {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly fault: string;
}

const COMPOSE = 'docker-compose.yml';
const ONE = 'deploy/one-machine.yml';

const BREAKS: readonly Break[] = [
  { file: COMPOSE, from: 'shm_size: 256m', to: 'shm_size: 64m', fault: 'postgres: has too little shared memory' },
  {
    file: COMPOSE,
    from: 'stop_grace_period: 60s',
    to: 'init: true',
    fault: 'postgres: is killed before it has stopped',
  },
  {
    file: COMPOSE,
    from: 'pg_isready -h 127.0.0.1 ',
    to: 'pg_isready ',
    fault: 'postgres: its health check must match',
  },
  { file: COMPOSE, from: 'postgres:/var/lib/postgresql"', to: 'postgres:/data"', fault: 'postgres: loses' },
  {
    file: COMPOSE,
    from: 'CMD-SHELL", "curl',
    to: 'CMD-SHELL", "wget',
    fault: 'eventstore: its health check uses wget',
  },
  { file: COMPOSE, from: 'KURRENTDB_DISABLE_LOG_FILE', to: 'KURRENTDB_LOG', fault: 'eventstore: writes log files' },
  { file: COMPOSE, from: 'kurrentdb:26.0.3', to: 'kurrentdb:27.0.0', fault: 'eventstore: docker.kurrent.io' },
  { file: COMPOSE, from: ', "./witnesses:/witnesses:ro"', to: '', fault: 'names in AUDIT_WITNESSES' },
  { file: ONE, from: 'logging: *logging', to: 'init: true', fault: 'outbox: its output is kept without a limit' },
  { file: ONE, from: '}:}587', to: '}:}588', fault: 'port 587 is not published' },
  { file: 'deploy/many-machines.yml', from: '25:}25', to: '26:}26', fault: 'port 25 is not published' },
  { file: 'deploy/many-machines.yml', from: 'sysctls:', to: 'labels:', fault: 'cannot listen below 1024' },
];
/** The user of an image can only be checked as root. */
const AS_ROOT: readonly Break[] = [
  {
    file: COMPOSE,
    from: 'chown -R 1001:1001',
    to: 'chown -R 1000:1000',
    fault: 'eventstore: user 1001 of the image cannot',
  },
  {
    file: COMPOSE,
    from: 'chmod -R u=rX,go=rX ca',
    to: 'chmod -R u=rX,go= ca',
    fault: 'api-1: user 1000 of the image cannot',
  },
];

const check = async (folder: string): Promise<string> =>
  run(process.execPath, [script, folder]).then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );

test('the compose files pass', async () => {
  expect(await check(root)).toMatch(/the containers have what their images need\n$/);
});

test.each(isRoot ? [...BREAKS, ...AS_ROOT] : BREAKS)(
  '$file without `$from`: $fault',
  async ({ file, from, to, fault }) => {
    const folder = await mkdtemp(join(tmpdir(), 'outbox-containers-'));
    try {
      for (const path of [COMPOSE, 'deploy', '.env.example'])
        await cp(join(root, path), join(folder, path), { recursive: true });
      const source = await readFile(join(root, file), 'utf8');
      expect(source).toContain(from);
      await writeFile(join(folder, file), source.replace(from, to));
      expect(await check(folder)).toContain(fault);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);
