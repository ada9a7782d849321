import { describe, expect, test } from 'vitest';
import {
  adjustConcurrency,
  CONCURRENCY_BOUNDS,
  type ConcurrencyLimit,
  type Feedback,
  initialConcurrency,
} from '../../../src/domain/destination/pacing.ts';
import { isSuspended } from '../../../src/domain/destination/suspension.ts';

const bounds = CONCURRENCY_BOUNDS;
const NOW = '2026-11-22T10:00:00.000Z';
const SOON = '2026-11-22T10:00:01.000Z';
const LATER = '2026-11-23T10:00:00.000Z';

const msOf = (time: string): number => Date.parse(time) - Date.parse(NOW);

/** @param began the start time of each attempt. */
const after = (limit: ConcurrencyLimit, all: readonly Feedback[], now = NOW, began = now): ConcurrencyLimit =>
  all.reduce((before, feedback) => {
    const times = { now, nowMs: msOf(now), beganMs: msOf(began) };
    return adjustConcurrency(before, { ...times, feedback, random: 0.5, bounds });
  }, limit);

const times = (count: number, feedback: Feedback): readonly Feedback[] => Array(count).fill(feedback);
const minutesSuspended = ({ suspension }: ConcurrencyLimit, now = NOW): number =>
  (Date.parse(suspension?.until ?? now) - Date.parse(now)) / 60_000;

describe('the concurrency limit of a destination', () => {
  test('starts low and grows by one with each success, up to a maximum', () => {
    expect(initialConcurrency(bounds).limit).toBe(bounds.start);
    expect(after(initialConcurrency(bounds), times(5, 'flowing')).limit).toBe(bounds.start + 5);
    expect(after(initialConcurrency(bounds), times(1000, 'flowing')).limit).toBe(bounds.max);
  });

  test('halves when the destination is busy, and grows slowly from then on', () => {
    const full = after(initialConcurrency(bounds), times(100, 'flowing'));
    const half = after(full, ['busy']);
    expect(half.limit).toBe(bounds.max / 2);
    expect(after(half, ['flowing']).limit).toBeCloseTo(half.limit + 1 / half.limit);
  });

  test('halves once for all attempts in flight at that time, and again for later ones', () => {
    const full = after(initialConcurrency(bounds), times(100, 'flowing'));
    const once = after(full, times(8, 'busy'), SOON, NOW);
    expect(once.limit).toBe(bounds.max / 2);
    expect(after(once, ['busy'], LATER, NOW)).toEqual(once);
    expect(after(once, ['busy'], LATER, SOON).limit).toBe(bounds.max / 4);
  });

  test('suspends again only on attempts that began after the suspension', () => {
    const once = after(initialConcurrency(bounds), ['unreachable'], SOON, NOW);
    expect(after(once, ['unreachable', 'busy'], LATER, NOW)).toEqual(once);
    expect(after(once, ['unreachable'], LATER, SOON).suspension?.times).toBe(2);
  });

  test('does not grow on slow answers', () => {
    expect(after(initialConcurrency(bounds), times(100, 'slow')).limit).toBe(bounds.start);
  });

  test('suspends the destination, longer each time, if nothing answers or one attempt at a time is too many', () => {
    const minutes: number[] = [];
    let limit = initialConcurrency(bounds);
    let now = NOW;
    for (let time = 0; time < 7; time += 1) {
      limit = after(limit, [(['unreachable', 'busy', 'refusing'] as const)[time % 3] ?? 'busy'], now);
      minutes.push(minutesSuspended(limit, now));
      now = limit.suspension?.until ?? now;
    }
    expect(minutes).toEqual([1, 2, 5, 15, 30, 30, 30]);
  });

  test('suspends no longer on attempts in flight when the suspension began', () => {
    const once = after(initialConcurrency(bounds), ['unreachable']);
    expect(after(once, ['unreachable', 'busy', 'flowing'])).toEqual(once);
    expect([isSuspended(once, NOW), isSuspended(once, LATER)]).toEqual([true, false]);
  });

  test('allows one attempt at a time after a suspension, until the first success', () => {
    const suspended = after(initialConcurrency(bounds), ['unreachable']);
    expect(suspended.limit).toBe(1);
    expect(after(suspended, ['flowing'], LATER)).toMatchObject({ suspension: null, limit: 2 });
  });
});
