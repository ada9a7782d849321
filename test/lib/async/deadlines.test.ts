import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startDeadline, TICK_MS } from '../../../src/lib/async/timeouts.ts';

const MODULE = new URL('../../../src/lib/async/timeouts.ts', import.meta.url).href;
const run = promisify(execFile);

test('a deadline calls back once it has passed, and never if it was stopped', async () => {
  const beganMs = performance.now();
  const stopped: string[] = [];
  const stop = startDeadline(TICK_MS, () => stopped.push('late'));
  const passed = new Promise<number>((resolve) => {
    startDeadline(3 * TICK_MS, () => resolve(performance.now() - beganMs));
  });
  stop();
  stop();
  expect(await passed).toBeGreaterThanOrEqual(3 * TICK_MS - 5);
  expect(stopped).toEqual([]);
});

test('a stall of this process adds one tick', async () => {
  const late: string[] = [];
  const stop = startDeadline(4 * TICK_MS, () => late.push('late'));
  const untilMs = performance.now() + 10 * TICK_MS;
  while (performance.now() < untilMs);
  await sleep(TICK_MS);
  expect(late).toEqual([]);
  stop();
});

test('a process ends when no deadline is open, and waits for those that are', async () => {
  const script = (work: string): string => `import { startDeadline } from ${JSON.stringify(MODULE)}; ${work}`;
  const ended = await run(process.execPath, [
    '--input-type=module',
    '-e',
    script('startDeadline(3_600_000, () => 1)();'),
  ]);
  expect(ended.stdout).toBe('');
  const waited = await run(process.execPath, [
    '--input-type=module',
    '-e',
    script(`startDeadline(200, () => console.log('late')); startDeadline(3_600_000, () => 1)();`),
  ]);
  expect(waited.stdout).toBe('late\n');
});
