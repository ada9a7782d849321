import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { createCpuMeter } from '../../bench/harness/cpu.ts';
import { interleave } from '../../bench/harness/interleave.ts';
import { judge, median, skippedLine } from '../../bench/harness/line.ts';
import { slopePerMinute } from '../../bench/harness/slope.ts';
import { tableOf } from '../../bench/harness/table.ts';
import { throughput } from '../../bench/harness/throughput.ts';

const line = { measure: 'a figure', unit: 'events/s', rounds: [90, 100, 400] } as const;

describe('a benchmark result', () => {
  test('is the median of its rounds, or the mean of the middle two for an even number', () => {
    expect(median([400, 90, 100])).toBe(100);
    expect(median([400, 90, 100, 200])).toBe(150);
  });

  test('meets a floor for its value or for its ratio to the limit, and misses a higher one', () => {
    const limit = { what: 'the limit', rounds: [200, 190, 800] };
    expect(judge({ ...line, floor: { of: 'figure', atLeast: 100 } }).met).toBe(true);
    expect(judge({ ...line, floor: { of: 'figure', atMost: 99 } }).met).toBe(false);
    expect(judge({ ...line, limit, floor: { of: 'ratio', atLeast: 0.5 } })).toMatchObject({ ratio: 0.5, met: true });
    expect(judge({ ...line, limit, floor: { of: 'ratio', atLeast: 0.6 } }).met).toBe(false);
    expect(judge(line).met).toBeNull();
  });

  test('misses a floor for a ratio without a limit', () => {
    expect(judge({ ...line, floor: { of: 'ratio', atLeast: 0 } }).met).toBe(false);
  });

  test('misses after a failure, and is not judged when skipped', () => {
    const none = { ...line, rounds: [], floor: { of: 'figure', atLeast: 1 } } as const;
    expect(judge({ ...none, failed: 'no answer' }).met).toBe(false);
    expect(judge({ ...none, skipped: 'redis-server is not installed' }).met).toBeNull();
    const table = tableOf([judge({ ...none, failed: 'no answer' }), judge(skippedLine('other', 's', 'not installed'))]);
    expect(table).toMatch(/a figure +failed: no answer .*MISSED/);
    expect(table).toMatch(/other +skipped: not installed/);
  });

  test('states the growth per minute', () => {
    const growing = [0, 1, 2, 3].map((second) => ({ atMs: 5_000 + second * 1_000, value: 100 + second / 2 }));
    expect(slopePerMinute(growing)).toBeCloseTo(30);
    expect(slopePerMinute([0, 1, 2].map((second) => ({ atMs: second * 1_000, value: 7 })))).toBe(0);
  });

  test('states the processor time per unit of a process and its children', async () => {
    const own = { pid: process.pid, children: false };
    const cpu = createCpuMeter({ own, tree: { ...own, children: true } });
    const busyUntilMs = performance.now() + 200;
    const spin = async (): Promise<void> => {
      while (performance.now() < busyUntilMs) Math.sqrt(performance.now());
      execFileSync('sh', ['-c', 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done']);
    };
    await cpu.during(spin, () => 10);
    const micros = cpu.lastMicros(1);
    expect(micros.own).toBeGreaterThan(1_000);
    expect(micros.tree).toBeGreaterThan(micros.own ?? 0);
  });

  test('is measured alternately with its limit, without the warm-ups', async () => {
    const order: string[] = [];
    const contender = (name: string) => async (): Promise<number> => order.push(name);
    const figures = await interleave({ rounds: 2, warmUps: 1 }, { ours: contender('ours'), limit: contender('limit') });
    expect(order).toEqual(['ours', 'limit', 'ours', 'limit', 'ours', 'limit']);
    expect(figures).toEqual({ ours: [3, 5], limit: [4, 6] });
  });

  test('counts the work of every caller', async () => {
    let calls = 0;
    const work = async (): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      calls += 1;
      return 1;
    };
    const beganMs = performance.now();
    const perSecond = await throughput({ concurrency: 20, ms: 100, work });
    const elapsedSeconds = (performance.now() - beganMs) / 1000;
    expect(perSecond * elapsedSeconds).toBeGreaterThan(calls - 1);
  });
});
