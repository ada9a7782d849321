import { describe, expect, test } from 'vitest';
import { interleave } from '../../bench/harness/interleave.ts';
import { judge, median } from '../../bench/harness/line.ts';
import { throughput } from '../../bench/harness/throughput.ts';

const line = { measure: 'a figure', unit: 'events/s', rounds: [90, 100, 400] } as const;

describe('a line of the bench', () => {
  test('is the median of its rounds, and the mean of the middle two of an even number', () => {
    expect(median([400, 90, 100])).toBe(100);
    expect(median([400, 90, 100, 200])).toBe(150);
  });

  test('meets a floor of its figure, or of its ratio to the limit, and misses one above it', () => {
    const limit = { what: 'the limit', rounds: [200, 190, 800] };
    expect(judge({ ...line, floor: { of: 'figure', atLeast: 100 } }).met).toBe(true);
    expect(judge({ ...line, floor: { of: 'figure', atMost: 99 } }).met).toBe(false);
    expect(judge({ ...line, limit, floor: { of: 'ratio', atLeast: 0.5 } })).toMatchObject({ ratio: 0.5, met: true });
    expect(judge({ ...line, limit, floor: { of: 'ratio', atLeast: 0.6 } }).met).toBe(false);
    expect(judge(line).met).toBeNull();
  });

  test('misses a floor of a ratio that has no limit', () => {
    expect(judge({ ...line, floor: { of: 'ratio', atLeast: 0 } }).met).toBe(false);
  });

  test('is measured in turns with its limit, warm-ups dropped', async () => {
    const order: string[] = [];
    const contender = (name: string) => async (): Promise<number> => order.push(name);
    const figures = await interleave({ rounds: 2, warmUps: 1 }, { ours: contender('ours'), limit: contender('limit') });
    expect(order).toEqual(['ours', 'limit', 'ours', 'limit', 'ours', 'limit']);
    expect(figures).toEqual({ ours: [3, 5], limit: [4, 6] });
  });

  test('counts what every caller did', async () => {
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
