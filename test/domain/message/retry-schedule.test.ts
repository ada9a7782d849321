import { describe, expect, test } from 'vitest';
import { nextAttemptAt } from '../../../src/domain/message/retry-schedule.ts';
import { NOW } from '../../support/specification.ts';

const MUCH_LATER = '2027-11-21T12:00:00.000Z';

const waitMinutes = (attempt: number, random = 0.5): number =>
  (Date.parse(nextAttemptAt(attempt, { now: NOW, random, expiresAt: MUCH_LATER })) - Date.parse(NOW)) / 60_000;

describe('the retry schedule', () => {
  test('waits 1, 5, 15, 30 min, 1, 2, 4, 8, 12, 12, … h', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 30].map((attempt) => waitMinutes(attempt));
    expect(waits).toEqual([1, 5, 15, 30, 60, 120, 240, 480, 720, 720, 720]);
  });
  test('varies each wait by a tenth either way', () => {
    expect(waitMinutes(5, 0)).toBeCloseTo(54);
    expect(waitMinutes(5, 0.9999)).toBeCloseTo(66, 1);
  });
  test('waits no longer than the time to live lasts, whatever was requested', () => {
    const at = { now: NOW, random: 0.5, expiresAt: '2026-11-21T12:10:00.000Z' };
    expect(nextAttemptAt(2, at)).toBe('2026-11-21T12:05:00.000Z');
    expect(nextAttemptAt(3, at)).toBe(at.expiresAt);
    expect(nextAttemptAt(1, at, 3600)).toBe(at.expiresAt);
  });
});
