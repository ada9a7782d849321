import { describe, expect, test } from 'vitest';
import { nextSlot } from '../../../src/domain/warm-up/warm-up.ts';

const PLAN = { startsOn: '2026-11-22', caps: [2, 4, 8] };
const turn = (before: number, random = 0, today = '2026-11-22'): string =>
  new Date(nextSlot(PLAN, { today, before, random })).toISOString();

describe('the next slot for waiting mail', () => {
  test('is on the first later day with quota left, spread over all of it', () => {
    expect([0, 1, 2, 3].map((before) => turn(before))).toEqual([
      '2026-11-23T00:00:00.000Z',
      '2026-11-23T06:00:00.000Z',
      '2026-11-23T12:00:00.000Z',
      '2026-11-23T18:00:00.000Z',
    ]);
    expect(turn(3, 0.999)).toMatch(/^2026-11-23T23:59/);
    expect([turn(4), turn(11)]).toEqual(['2026-11-24T00:00:00.000Z', '2026-11-24T21:00:00.000Z']);
  });

  test('is some time on the day after the plan if no day of it has quota left', () => {
    expect(turn(12, 0.5)).toBe('2026-11-25T12:00:00.000Z');
    expect(turn(1_000_000, 0.25)).toBe('2026-11-25T06:00:00.000Z');
    expect(turn(0, 0.25, '2026-11-24')).toBe('2026-11-25T06:00:00.000Z');
  });
});
