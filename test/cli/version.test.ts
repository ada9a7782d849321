import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

test.each(['src/main.ts', 'src/cli/main.ts'])('%s prints its version and does nothing else', async (entry) => {
  const cwd = new URL('../../', import.meta.url);
  const { stdout } = await run(process.execPath, [entry, '--version'], { cwd, env: { DATABASE_URL: 'nonsense' } });
  expect(stdout).toBe(`${version}\n`);
});
