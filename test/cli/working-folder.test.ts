import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startDouble } from './customer/customer.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** `npm run outbox -- …` in a folder outside the checkout. */
const npmRun = (folder: string, words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  run('npm', ['--prefix', ROOT, '--silent', 'run', 'outbox', '--', ...words], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, ...env },
  });

const emptyFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'outbox-folder-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
};

describe('npm run outbox', () => {
  test('reads files relative to the folder of the user', async () => {
    const folder = await emptyFolder();
    await mkdir(join(folder, 'mail'));
    await writeFile(join(folder, 'mail', 'body.json'), '{"subject":"From the folder of the user"}');
    const bodies: string[] = [];
    const url = await startDouble((_request, response, body) => {
      bodies.push(body);
      response
        .setHeader('content-type', 'application/json')
        .end('{"id":"msg_x","status":"accepted","summary":"Sent."}');
    });
    const env = { OUTBOX_URL: url, OUTBOX_API_KEY: `ob_test_${'x'.repeat(49)}` };
    await npmRun(folder, ['send', '--body', './mail/body.json', '--json'], env);
    expect(bodies).toEqual(['{"subject":"From the folder of the user"}']);
  });

  test('finds the data in the checkout, where the service stores it', async () => {
    const folder = await emptyFolder();
    await expect(npmRun(folder, ['keys', 'list'], { DATA_DIR: 'no-such-data' })).rejects.toMatchObject({
      stderr: expect.stringContaining(`no Outbox data in ${join(ROOT, 'no-such-data')}: `),
    });
  });
});

test('a command in a script of another name runs in its own folder', async () => {
  const folder = await emptyFolder();
  const env = { PATH: process.env.PATH, HOME: folder, INIT_CWD: '/', npm_lifecycle_event: 'test', DATA_DIR: 'none' };
  const words = [join(ROOT, 'src/cli/main.ts'), 'organizations', 'list'];
  await expect(run(process.execPath, words, { cwd: folder, env })).rejects.toMatchObject({
    stderr: expect.stringContaining(`no Outbox data in ${join(folder, 'none')}: `),
  });
});
