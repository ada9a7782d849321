import { describe, expect, test } from 'vitest';
import type { BounceCategory } from '../../../src/domain/bounce/categories.ts';
import {
  asksForFewer,
  faster,
  type Rate,
  roomAt,
  slower,
  withPlaceTaken,
} from '../../../src/domain/destination/rate.ts';
import type { AttemptOutcome } from '../../../src/domain/message/record-attempt.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** A destination that asked for fewer at 0 when it was given so many a minute. */
const askedAt = (given: number): Rate => slower(undefined, { perMinute: given, beganMs: -10, nowMs: 0 });

/** Good answers every so often until a time; all of the rate is used unless `used` says what is. */
const goodUntil = (rate: Rate, { everyMs, untilMs, used }: { everyMs: number; untilMs: number; used?: number }) => {
  let now: Rate | undefined = rate;
  for (let nowMs = everyMs; nowMs <= untilMs; nowMs += everyMs) {
    if (now === undefined) return undefined;
    now = faster(now, { perMinute: used ?? now.perMinute, nowMs });
  }
  return now;
};

describe('the rate of a destination', () => {
  test('is half of what it was given when it asked for fewer', () => {
    expect(askedAt(600).perMinute).toBe(300);
  });

  test('halves when it asks again, from what it was given where that was less', () => {
    const once = askedAt(600);
    expect(slower(once, { perMinute: 600, beganMs: 5, nowMs: 1_000 }).perMinute).toBe(150);
    expect(slower(once, { perMinute: 100, beganMs: 5, nowMs: 1_000 }).perMinute).toBe(50);
  });

  test('halves once for all that was in hand when it asked', () => {
    const once = askedAt(600);
    const flight = Array.from({ length: 20 }, (_, at) => ({ perMinute: 600, beganMs: -20 + at, nowMs: at }));
    expect(flight.reduce<Rate>(slower, once)).toBe(once);
  });

  test('is never less than one a minute', () => {
    let rate = askedAt(2);
    for (let nowMs = 1; nowMs < 20; nowMs += 1) rate = slower(rate, { perMinute: 1, beganMs: nowMs, nowMs });
    expect(rate.perMinute).toBe(1);
    expect(roomAt(rate)).toBe(1);
  });

  test('doubles in ten minutes of good answers, whether they are many or few', () => {
    for (const everyMs of [100, 10_000, MINUTE_MS]) {
      const rate = goodUntil(askedAt(600), { everyMs, untilMs: 10 * MINUTE_MS });
      expect(rate?.perMinute).toBeCloseTo(600, 5);
    }
  });

  test('grows by a minute’s share where nothing was tried for hours', () => {
    expect(faster(askedAt(600), { perMinute: 300, nowMs: 10 * HOUR_MS })?.perMinute).toBeLessThan(330);
  });

  test('is kept for an hour, though it holds nobody back', () => {
    expect(goodUntil(askedAt(600), { everyMs: MINUTE_MS, untilMs: HOUR_MS, used: 6 })).toBeDefined();
  });

  test('is forgotten after that, once it is well above what is used', () => {
    const used = { everyMs: MINUTE_MS, untilMs: HOUR_MS + MINUTE_MS };
    expect(goodUntil(askedAt(600), { ...used, used: 6 })).toBeUndefined();
    expect(goodUntil(askedAt(600), used)).toBeDefined();
  });
});

describe('the places of a rate', () => {
  test('begin after the wait that was asked for', () => {
    expect(askedAt(120).nextMs).toBe(1_000);
  });

  test('follow one another by the rate, whenever each is taken', () => {
    const rate = askedAt(120);
    expect(withPlaceTaken(rate, 1_000)?.nextMs).toBe(2_000);
    const late = withPlaceTaken(rate, 1_400);
    expect(late?.nextMs).toBe(2_000);
    expect(late && withPlaceTaken(late, 2_000)?.nextMs).toBe(3_000);
  });

  test('are made up for by no more than a second', () => {
    let rate: Rate | undefined = askedAt(1_200);
    let taken = 0;
    for (; rate !== undefined && rate.nextMs <= HOUR_MS; taken += 1) rate = withPlaceTaken(rate, HOUR_MS);
    expect(taken).toBe(11);
  });

  test('are as many as there are where none was taken for an hour', () => {
    const rate = askedAt(1_200);
    expect(withPlaceTaken(rate, rate.nextMs + HOUR_MS)).toBeDefined();
    expect(withPlaceTaken(rate, rate.nextMs + HOUR_MS + 1)).toBeUndefined();
  });
});

describe('a destination asks for fewer', () => {
  const said = (
    category: BounceCategory,
    enhanced: string | null = null,
    outcome: 'deferred' | 'bounced' = 'deferred',
  ) =>
    ({
      ...{ recipientId: 'rcp_1', outcome, reason: 'later', category },
      smtp: { code: 450, enhanced, mx: null, tls: null, replyId: null },
    }) satisfies AttemptOutcome;

  test.each<[boolean, readonly AttemptOutcome[]]>([
    [true, [said('rate_limited')]],
    [true, [said('rate_limited', '4.7.28')]],
    [true, [said('rate_limited', '5.7.28', 'bounced')]],
    [true, [said('mailbox_full'), said('rate_limited', '4.3.2')]],
    [false, [said('rate_limited', '4.2.1')]],
    [false, [said('rate_limited', '4.5.3')]],
    [false, [said('reputation', '4.7.1')]],
    [false, [said('system', '4.3.2')]],
    [false, [said('greylisted', '4.7.1')]],
    [false, [{ recipientId: 'rcp_1', outcome: 'unknown' }]],
    [false, []],
  ])('%s: %j', (asks, outcomes) => {
    expect(asksForFewer(outcomes)).toBe(asks);
  });
});
