import { describe, expect, test } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { untilAborted, withTimeout } from '../../src/async/with-timeout.ts';

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
});

test('work that outlasts its signal resolves to undefined', async () => {
  const controller = new AbortController();
  const late = untilAborted(controller.signal, never);
  controller.abort();
  expect(await late).toBeUndefined();
  expect(await untilAborted(new AbortController().signal, Promise.resolve('done'))).toBe('done');
});
