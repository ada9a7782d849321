import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { createSigner, parseVerifierKey } from '../../../src/lib/transparency/transparency.ts';
import { operator } from '../../support/operator.ts';
import { temporaryFolder } from '../../support/witness.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const KEY = createSigner('mail.example/v1/audit/tlog/org_mine', randomBytes(32)).verifierKey.text;

const LISTENING = /verifier_key: (?<vkey>.+)\nlogs: 1\nlistening: 127\.0\.0\.1:(?<port>\d+)\n/;

const start = async (folder: string, ...more: readonly string[]) => {
  const words = ['witness', '--listen', '127.0.0.1:0', '--state', folder, '--key', KEY, ...more];
  const child = spawn(process.execPath, ['src/cli/main.ts', ...words], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (LISTENING.test(text)) break;
  }
  const { vkey = '', port = '' } = LISTENING.exec(text)?.groups ?? {};
  const end = async () => {
    child.kill('SIGTERM');
    return (await once(child, 'exit'))[0];
  };
  return { vkey, port, end };
};

test('a witness keeps the key of its first start, allows no second one in its folder, and ends on request', async () => {
  const folder = join(await temporaryFolder(), 'state');
  const first = await start(folder, '--name', 'witness.example/w1');
  expect(parseVerifierKey(first.vkey).name).toBe('witness.example/w1');
  expect((await stat(join(folder, 'witness.key'))).mode & 0o077).toBe(0);
  expect((await fetch(`http://127.0.0.1:${first.port}/add-checkpoint`, { method: 'POST' })).status).toBe(400);
  const words = ['witness', '--listen', '127.0.0.1:0', '--state', folder];
  const nowhere = { dataDir: '/nowhere' };
  await expect(operator(nowhere, ...words, '--key', KEY)).rejects.toThrow(/is already running a witness in /);
  expect(await first.end()).toBe(0);
  const second = await start(folder);
  expect(second.vkey).toBe(first.vkey);
  expect(await second.end()).toBe(0);
  await expect(operator(nowhere, ...words, '--key', KEY, '--name', 'other')).rejects.toThrow(/omit --name/);
  await expect(operator(nowhere, ...words)).rejects.toThrow(/no logs given/);
  await expect(operator(nowhere, ...words, '--key', 'x')).rejects.toThrow(/not a valid verifier key/);
}, 240_000);
