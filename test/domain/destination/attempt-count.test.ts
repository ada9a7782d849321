import { describe, expect, test } from 'vitest';
import { type AttemptCount, countAttempt, perMinuteOf } from '../../../src/domain/destination/pacing.ts';

/** Attempts that started at these times, in ms. */
const after = (...times: readonly number[]): number => {
  const attempts = times.reduce<AttemptCount | undefined>(countAttempt, undefined);
  return attempts === undefined ? 0 : perMinuteOf(attempts);
};

/** @param everyMs between two attempts. */
const flow = (everyMs: number, lastsMs: number, fromMs = 0): readonly number[] =>
  Array.from({ length: Math.floor(lastsMs / everyMs) }, (_, at) => fromMs + at * everyMs);

describe('attempts a minute for a destination', () => {
  test('equal the present flow, however long it has lasted', () => {
    for (const lastsMs of [60_000, 90_000, 119_900, 200_000, 600_000, 3_600_000]) {
      expect(after(...flow(100, lastsMs))).toBeCloseTo(600, -1);
    }
  });

  test('are estimated from ten seconds if the flow has just begun', () => {
    expect(after(5)).toBe(6);
    expect(after(...flow(1, 50))).toBe(300);
    expect(after(...flow(100, 30_000))).toBeCloseTo(600, -1);
  });

  test('start over after two minutes without attempts', () => {
    expect(after(...flow(100, 60_000), 180_000)).toBe(6);
  });

  test('fade within a minute when a small flow follows a large one', () => {
    const much = flow(100, 60_000);
    expect(after(...much, 60_000)).toBeCloseTo(601);
    expect(after(...much, 90_000)).toBeCloseTo(301);
    expect(after(...much, 90_000, 121_000)).toBeLessThan(3);
  });

  test('do not fade before the next attempt begins', () => {
    const attempts = countAttempt(undefined, 0);
    expect(perMinuteOf(countAttempt(attempts, 10))).toBe(12);
  });
});
