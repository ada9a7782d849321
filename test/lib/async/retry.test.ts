import { expect, test } from 'vitest';
import { retry, retryWhileAway } from '../../../src/lib/async/retry.ts';
import { StoreUnavailable } from '../../../src/lib/async/system.ts';

/** Work that fails `failures` times, with a clock that only advances during sleeps. */
const scene = (failures: number, makeError: () => Error) => {
  const sleeps: number[] = [];
  let nowMs = 0;
  const system = {
    monotonicMs: () => nowMs,
    sleep: async (ms: number) => {
      sleeps.push(ms);
      nowMs += ms;
    },
  };
  let calls = 0;
  const work = async (): Promise<string> => {
    calls += 1;
    if (calls <= failures) throw makeError();
    return 'done';
  };
  return { sleeps, system, work, calls: () => calls };
};

test('a retry waits twice as long each time and resolves with the first success', async () => {
  const { system, work, sleeps } = scene(3, () => new Error('no'));
  expect(await retry(system, work)).toBe('done');
  expect(sleeps).toEqual([200, 400, 800]);
});

test('a retry rejects with the fault of its fourth try', async () => {
  const { system, work, calls } = scene(4, () => new Error('no'));
  await expect(retry(system, work)).rejects.toThrow('no');
  expect(calls()).toBe(4);
});

test('a retry while the log is unavailable lasts for its patience, and reports now and then that it waits', async () => {
  const { system, work, sleeps } = scene(Number.POSITIVE_INFINITY, () => new StoreUnavailable('away'));
  let notices = 0;
  const onWait = (): void => {
    notices += 1;
  };
  await expect(retryWhileAway({ system, patienceMs: 12_000, onWait }, work)).rejects.toThrow('away');
  expect(sleeps.slice(0, 5)).toEqual([100, 200, 400, 800, 1_000]);
  expect(notices).toBe(3);
});

test('a retry while the log is unavailable ends at once at another fault', async () => {
  const { system, work, calls } = scene(1, () => new Error('no'));
  await expect(retryWhileAway({ system }, work)).rejects.toThrow('no');
  expect(calls()).toBe(1);
});
