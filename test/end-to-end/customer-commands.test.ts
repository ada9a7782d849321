import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { placeForTest, programForTest } from '../support/after-test.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

test('the commands in the README work as written', async () => {
  const { dataDir, env } = await placeForTest();
  const program = await programForTest({ dataDir, env });
  const home = await mkdtemp(join(tmpdir(), 'outbox-home-'));
  onTestFinished(() => rm(home, { recursive: true }));
  await mkdir(join(home, '.local', 'bin'), { recursive: true });
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  const block = blocks.find((each) => each.includes('outbox login')) ?? '';
  expect(block.match(/^.*\boutbox /gm)?.length).toBeGreaterThan(2);
  const { stdout } = await run(
    'bash',
    ['-euo', 'pipefail', '-c', block.replaceAll('http://127.0.0.1:3000', program.baseUrl)],
    {
      cwd: ROOT,
      env: {
        PATH: `${join(home, '.local', 'bin')}:${process.env.PATH}`,
        HOME: home,
        LANG: 'C.UTF-8',
        OUTBOX_KEY: program.keys.live,
      },
    },
  );
  expect(stdout).toMatch(/permissions: admin[\s\S]*id: msg_[\s\S]*next: [\s\S]*SUBJECT\nmsg_\S+ .* Hello\n$/);
  expect(stdout).not.toContain(program.keys.live);
}, 120_000);
