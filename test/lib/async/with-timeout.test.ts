import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { untilAborted, withTimeout } from '../../../src/lib/async/timeouts.ts';

const ANSWER_LATER = `
  const { parentPort } = require('node:worker_threads');
  parentPort.once('message', (message) => setTimeout(() => parentPort.postMessage(message), 50));`;

const never = new Promise<never>(() => undefined);

describe.each([
  ['the process’s own timer', undefined],
  ['a given clock', createSystem()],
])('a time-out by %s', (_, system) => {
  test('resolves as the work does when that is in time', async () => {
    expect(await withTimeout({ ms: 1_000, system }, Promise.resolve('done'))).toBe('done');
  });

  test('rejects as the work does when that is in time', async () => {
    await expect(withTimeout({ ms: 1_000, system }, Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  test('rejects with TimedOut, or the given error, when the work is late', async () => {
    await expect(withTimeout({ ms: 5, system }, never)).rejects.toMatchObject({ name: 'TimedOut' });
    await expect(withTimeout({ ms: 5, system, error: () => new Error('late') }, never)).rejects.toThrow('late');
  });

  test('does not mistake a stall of this process for a late answer', async () => {
    const other = new Worker(ANSWER_LATER, { eval: true });
    await once(other, 'online');
    const answered = once(other, 'message');
    other.postMessage('done');
    const timed = withTimeout({ ms: 200, system }, answered);
    await nextTurn(); // so that timers run before messages
    const untilMs = performance.now() + 1_000;
    while (performance.now() < untilMs);
    expect(await timed).toEqual(['done']);
    await other.terminate();
  });
});

test('work that outlasts its signal resolves to undefined', async () => {
  const controller = new AbortController();
  const late = untilAborted(controller.signal, never);
  controller.abort();
  expect(await late).toBeUndefined();
  expect(await untilAborted(new AbortController().signal, Promise.resolve('done'))).toBe('done');
});
