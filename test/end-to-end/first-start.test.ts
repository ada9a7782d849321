import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { apiClient } from '../support/api-client.ts';
import { newDataDir, type Program, runToEnd, startProgram } from '../support/program.ts';

let data: Awaited<ReturnType<typeof newDataDir>>;
let program: Program | undefined;

beforeEach(async () => {
  data = await newDataDir();
});
afterEach(async () => {
  await program?.end('SIGTERM');
  program = undefined;
  await data.remove();
});

const expectWorkingKeys = async ({ baseUrl, keys }: Program): Promise<void> => {
  for (const key of [keys.live, keys.test]) {
    const { body } = await apiClient(baseUrl, key).get('/v1/organization');
    expect(body).toMatchObject({ object: 'organization', name: 'default' });
  }
};

/** Occupies a port while `work` runs. */
const withTakenPort = async (work: (port: string) => Promise<void>): Promise<void> => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const address = other.address();
  try {
    await work(String(typeof address === 'object' && address !== null ? address.port : 0));
  } finally {
    other.close();
  }
};

test.each(['PORT', 'METRICS_PORT'])(
  'a first start whose %s is taken loses no keys, and prints no stack trace',
  async (name) => {
    await withTakenPort(async (port) => {
      const { code, output } = await runToEnd({ dataDir: data.path, env: { [name]: port } });
      expect(code).toBe(1);
      expect(output).toContain(`port ${port} on 127.0.0.1 is in use: stop the other program, or set ${name}`);
      expect(output).not.toMatch(/ob_(?:live|test)_/);
      expect(output).not.toMatch(/\n\s+at |\\n\s+at |connection broke/);
    });
    program = await startProgram({ dataDir: data.path });
    await expectWorkingKeys(program);
  },
);

test('a first start killed between creating its keys and printing them prints them on the next start', async () => {
  // Each of these is one append: the organization, its domain, the test key and the live key.
  const { output } = await runToEnd({ dataDir: data.path, env: { OUTBOX_FAIL_POINT: 'after-append-other#4' } });
  expect(output).not.toContain('Outbox is ready');
  program = await startProgram({ dataDir: data.path });
  await expectWorkingKeys(program);
});

test('the first keys go to a file if one is named, readable by its user alone, and never into the output', async () => {
  const file = join(data.path, 'first-keys');
  await writeFile(file, 'from before', { mode: 0o644 });
  program = await startProgram({ dataDir: data.path, env: { OUTBOX_FIRST_KEY_FILE: file } });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const written = await readFile(file, 'utf8');
  const [, live, test] =
    /^OUTBOX_KEY=(ob_live_\w+)\nOUTBOX_TEST_KEY=(ob_test_\w+)\nDASHBOARD_LINK=http\S+#\S+\n$/.exec(written) ?? [];
  await expectWorkingKeys({ ...program, keys: { live: live ?? '', test: test ?? '' } });
  expect(program.output()).not.toMatch(/ob_(?:live|test)_|sign-in#/);
  expect(program.output()).toContain(file);
  await program.end('SIGTERM');
  program = await startProgram({ dataDir: data.path, env: { OUTBOX_FIRST_KEY_FILE: file } });
  expect(await readFile(file, 'utf8')).toBe(written);
});

test('a first start that cannot write the file of its keys says so, and the next start makes new ones', async () => {
  const file = join(data.path, 'absent', 'first-keys');
  const { code, output } = await runToEnd({ dataDir: data.path, env: { OUTBOX_FIRST_KEY_FILE: file } });
  expect([code, output]).toEqual([1, expect.stringContaining(`OUTBOX_FIRST_KEY_FILE: ${file} cannot be written`)]);
  expect(output).not.toMatch(/ob_(?:live|test)_/);
  program = await startProgram({ dataDir: data.path });
  await expectWorkingKeys(program);
});

test('a service that is asked to stop logs that it has stopped', async () => {
  const own = await startProgram({ dataDir: data.path });
  expect(await own.end('SIGTERM')).toBe(0);
  const lines = own
    .output()
    .split('\n')
    .filter((line) => line.includes('"stopped"'));
  expect(lines).toHaveLength(1);
  expect(own.output()).not.toContain('connection broke');
});
