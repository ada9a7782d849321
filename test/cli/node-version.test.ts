import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);
const BIN = fileURLToPath(new URL('../../cli/bin/outbox.mjs', import.meta.url));

/** Removes what Node 20.11 does not have. */
const OLDER = `data:text/javascript,
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
delete crypto.hash;
syncBuiltinESMExports();`;

test('the package for customers says which version of Node it needs, where an older one runs it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'outbox-node-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'cli/bin'), { recursive: true });
  await mkdir(join(folder, 'cli/dist/bin'), { recursive: true });
  await cp(BIN, join(folder, 'cli/bin/outbox.mjs'));
  await writeFile(join(folder, 'cli/dist/bin/outbox.mjs'), "console.log('started');\n");
  const bin = join(folder, 'cli/bin/outbox.mjs');
  expect((await run(process.execPath, [bin])).stdout).toBe('started\n');
  await expect(run(process.execPath, ['--import', OLDER, bin])).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: `outbox needs Node 20.12 or later. This is ${process.version}: update Node\n`,
  });
  const readme = await readFile(new URL('../../cli/README.md', import.meta.url), 'utf8');
  expect(readme).toContain('for Node 20.12 or later');
});
