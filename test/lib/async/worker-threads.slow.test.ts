import { performance } from 'node:perf_hooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createWorkerThreads, TaskTooLong, ThreadUnavailable } from '../../../src/lib/async/worker-threads.ts';

/** Uses the given number of milliseconds of processor time, and returns its thread id. */
const ENTRY = `
  import { parentPort, threadId } from 'node:worker_threads';
  parentPort.on('message', (ms) => {
    const begun = process.threadCpuUsage();
    for (let ran = 0; ran < ms * 1000; ) {
      const { user, system } = process.threadCpuUsage(begun);
      ran = user + system;
    }
    parentPort.postMessage({ result: threadId });
  });`;

const RUN_MS_MAX = 200;

const open = (options: { waitMsMax?: number; tasksMax?: number } = {}) => {
  const entry = new URL(`data:text/javascript,${encodeURIComponent(ENTRY)}`);
  const threads = createWorkerThreads<number, number>({
    entry,
    threads: 1,
    runMsMax: RUN_MS_MAX,
    waitMsMax: 60_000,
    tasksMax: 50,
    ...options,
  });
  onTestFinished(threads.close);
  return threads;
};

test('a backlog that is too long costs the tasks whose turn does not come, not the thread', async () => {
  const { run } = open({ waitMsMax: 300 });
  const thread = await run(0, 'a');
  const outcomes = await Promise.allSettled(Array.from({ length: 12 }, () => run(100, 'a')));
  const done = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  expect(done.length).toBeGreaterThan(0);
  expect(done.length).toBeLessThan(7);
  expect(new Set(done)).toEqual(new Set([thread]));
  expect(await run(0, 'a')).toBe(thread);
});

describe('a task that runs longer than allowed', () => {
  test('ends its thread, and the next task gets another', async () => {
    const { run } = open();
    const thread = await run(0, 'a');
    const before = performance.now();
    await expect(run(60_000, 'a')).rejects.toBeInstanceOf(TaskTooLong);
    expect(performance.now() - before).toBeLessThan(30_000);
    expect(await run(0, 'a')).not.toBe(thread);
  });

  test('is judged by its run time, not by its waiting time', async () => {
    const { run } = open();
    await run(0, 'a');
    const ran = await Promise.all(Array.from({ length: 10 }, () => run(RUN_MS_MAX / 2, 'a')));
    expect(new Set(ran).size).toBe(1);
  });
});

describe('owners take turns', () => {
  test('so that one task is next, however many others have waiting', async () => {
    const { run } = open();
    await run(0, 'a');
    const ended: string[] = [];
    const of = (owner: string) => run(20, owner).then(() => ended.push(owner));
    const many = Array.from({ length: 20 }, () => of('a'));
    await of('b');
    expect(ended.length).toBeLessThan(5);
    await Promise.all(many);
  });

  test('and excess tasks are refused to those who have most waiting', async () => {
    const { run } = open({ tasksMax: 10 });
    await run(0, 'a');
    const many = Promise.allSettled(Array.from({ length: 30 }, () => run(5, 'a')));
    const few = Promise.all(Array.from({ length: 3 }, () => run(5, 'b')));
    expect(await few).toHaveLength(3);
    const outcomes = await many;
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
    expect(outcomes.at(-1)).toMatchObject({ reason: expect.any(ThreadUnavailable) });
  });
});
