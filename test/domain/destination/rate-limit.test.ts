import { describe, expect, test } from 'vitest';
import {
  consumeRate,
  type RateLimit,
  raiseRate,
  reduceRate,
  waitingMax,
} from '../../../src/domain/destination/pacing.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** A destination that reported a rate that was too high at 0 ms, given the attempts per minute until then. */
const askedAt = (given: number): RateLimit => reduceRate(undefined, { perMinute: given, beganMs: -10, nowMs: 0 });

/** Successful replies at this interval. The whole rate is used unless `used` is given. */
const goodUntil = (
  rate: RateLimit,
  { everyMs, untilMs, used }: { everyMs: number; untilMs: number; used?: number },
) => {
  let now: RateLimit | undefined = rate;
  for (let nowMs = everyMs; nowMs <= untilMs; nowMs += everyMs) {
    if (now === undefined) return undefined;
    now = raiseRate(now, { usedPerMinute: used ?? now.perMinute, nowMs });
  }
  return now;
};

describe('the rate limit of a destination', () => {
  test('is half of what was sent when it asked for fewer', () => {
    expect(askedAt(600).perMinute).toBe(300);
  });

  test('halves when it asks again, from what was sent if that was less', () => {
    const once = askedAt(600);
    expect(reduceRate(once, { perMinute: 600, beganMs: 5, nowMs: 1_000 }).perMinute).toBe(150);
    expect(reduceRate(once, { perMinute: 100, beganMs: 5, nowMs: 1_000 }).perMinute).toBe(50);
  });

  test('halves once for all attempts in flight at that time', () => {
    const once = askedAt(600);
    const flight = Array.from({ length: 20 }, (_, at) => ({ perMinute: 600, beganMs: -20 + at, nowMs: at }));
    expect(flight.reduce<RateLimit>(reduceRate, once)).toBe(once);
  });

  test('is never less than one a minute', () => {
    let rate = askedAt(2);
    for (let nowMs = 1; nowMs < 20; nowMs += 1) rate = reduceRate(rate, { perMinute: 1, beganMs: nowMs, nowMs });
    expect(rate.perMinute).toBe(1);
    expect(waitingMax(rate)).toBe(1);
  });

  test('doubles in ten minutes of good answers, whether they are many or few', () => {
    for (const everyMs of [100, 10_000, MINUTE_MS]) {
      const rate = goodUntil(askedAt(600), { everyMs, untilMs: 10 * MINUTE_MS });
      expect(rate?.perMinute).toBeCloseTo(600, 5);
    }
  });

  test('grows by one minute’s share after hours without attempts', () => {
    expect(raiseRate(askedAt(600), { usedPerMinute: 300, nowMs: 10 * HOUR_MS })?.perMinute).toBeLessThan(330);
  });

  test('is kept for an hour even if it delays nothing', () => {
    expect(goodUntil(askedAt(600), { everyMs: MINUTE_MS, untilMs: HOUR_MS, used: 6 })).toBeDefined();
  });

  test('ends after that, once it is well above what is used', () => {
    const used = { everyMs: MINUTE_MS, untilMs: HOUR_MS + MINUTE_MS };
    expect(goodUntil(askedAt(600), { ...used, used: 6 })).toBeUndefined();
    expect(goodUntil(askedAt(600), used)).toBeDefined();
  });
});

describe('the next attempt within a rate limit', () => {
  test('begins one interval after the destination asked for fewer', () => {
    expect(askedAt(120).nextMs).toBe(1_000);
  });

  test('follows the one before by the interval, even if that one was late', () => {
    const rate = askedAt(120);
    expect(consumeRate(rate, 1_000)?.nextMs).toBe(2_000);
    const late = consumeRate(rate, 1_400);
    expect(late?.nextMs).toBe(2_000);
    expect(late && consumeRate(late, 2_000)?.nextMs).toBe(3_000);
  });

  test('makes up for no more than a second of unused time', () => {
    let rate: RateLimit | undefined = askedAt(1_200);
    let taken = 0;
    for (; rate !== undefined && rate.nextMs <= HOUR_MS; taken += 1) rate = consumeRate(rate, HOUR_MS);
    expect(taken).toBe(11);
  });

  test('has no limit after an hour without attempts', () => {
    const rate = askedAt(1_200);
    expect(consumeRate(rate, rate.nextMs + HOUR_MS)).toBeDefined();
    expect(consumeRate(rate, rate.nextMs + HOUR_MS + 1)).toBeUndefined();
  });
});
