import { performance } from 'node:perf_hooks';
import { expect, onTestFinished, test } from 'vitest';
import { createWorkerThreads, ThreadUnavailable } from '../../src/adapters/worker-threads.ts';

/** Works for as many milliseconds as it is told, and answers which thread it is. */
const ENTRY = `
  import { parentPort, threadId } from 'node:worker_threads';
  parentPort.on('message', (ms) => {
    const end = performance.now() + ms;
    while (performance.now() < end);
    parentPort.postMessage({ result: threadId });
  });`;

const TIME_LIMIT_MS = 500;

const open = () => {
  const entry = new URL(`data:text/javascript,${encodeURIComponent(ENTRY)}`);
  const threads = createWorkerThreads<number, number>({ entry, threads: 1, timeLimitMs: TIME_LIMIT_MS, tasksMax: 50 });
  onTestFinished(threads.close);
  return threads;
};

test('a backlog that is too long costs the tasks that come too late, and not the thread', async () => {
  const { run } = open();
  const thread = await run(0);
  const outcomes = await Promise.allSettled(Array.from({ length: 12 }, () => run(150)));
  const done = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  expect(done.length).toBeGreaterThan(0);
  expect(done.length).toBeLessThan(5);
  expect(new Set(done)).toEqual(new Set([thread]));
  expect(await run(0)).toBe(thread);
});

test('a task that takes longer than any may ends its thread, and the next task gets another', async () => {
  const { run } = open();
  const thread = await run(0);
  const before = performance.now();
  await expect(run(60_000)).rejects.toBeInstanceOf(ThreadUnavailable);
  expect(performance.now() - before).toBeLessThan(TIME_LIMIT_MS * 4);
  expect(await run(0)).not.toBe(thread);
});
