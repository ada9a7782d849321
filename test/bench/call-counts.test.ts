import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** In a process of its own: counting replaces functions of Node. */
const SCRIPT = `
  import { createHash, createHmac, hash } from 'node:crypto';
  import { countCalls } from '../../bench/harness/call-counts.ts';
  hash('sha256', '');
  const stop = countCalls();
  hash('sha256', '');
  createHash('sha256').update('').digest('hex');
  createHmac('sha256', 'key').update('').digest();
  await Promise.all([Promise.resolve()]);
  const { promises, digests } = stop();
  hash('sha256', '');
  console.log(JSON.stringify({ promises: promises > 0, digests }));`;

test('counting calls counts promises and every way to make a digest, until it ends', () => {
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', SCRIPT], { cwd: import.meta.dirname });
  expect(JSON.parse(String(output))).toEqual({ promises: true, digests: 3 });
});
