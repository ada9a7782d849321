import { describe, expect, test } from 'vitest';
import type { BounceCategory } from '../../../src/domain/bounce/categories.ts';
import {
  type Bearing,
  bearingOf,
  DESTINATION_LIMITS,
  isPaused,
  type Pace,
  paceAfter,
  unhurried,
} from '../../../src/domain/destination/pace.ts';
import type { SmtpFacts } from '../../../src/domain/message/events.ts';
import type { AttemptOutcome } from '../../../src/domain/message/record-attempt.ts';

const limits = DESTINATION_LIMITS;
const NOW = '2026-11-22T10:00:00.000Z';
const SOON = '2026-11-22T10:00:01.000Z';
const LATER = '2026-11-23T10:00:00.000Z';

const msOf = (time: string): number => Date.parse(time) - Date.parse(NOW);

/** @param began when each of them did. */
const after = (pace: Pace, bearings: readonly Bearing[], now = NOW, began = now): Pace =>
  bearings.reduce((before, bearing) => {
    const times = { now, nowMs: msOf(now), beganMs: msOf(began) };
    return paceAfter(before, { ...times, bearing, random: 0.5, limits });
  }, pace);

const times = (count: number, bearing: Bearing): readonly Bearing[] => Array(count).fill(bearing);
const minutesPaused = ({ pausedUntil }: Pace, now = NOW): number =>
  (Date.parse(pausedUntil ?? now) - Date.parse(now)) / 60_000;

describe('the pace of a destination', () => {
  test('begins low and grows with each attempt that goes well, to a limit', () => {
    expect(unhurried(limits).limit).toBe(limits.start);
    expect(after(unhurried(limits), times(5, 'flowing')).limit).toBe(limits.start + 5);
    expect(after(unhurried(limits), times(1000, 'flowing')).limit).toBe(limits.max);
  });

  test('halves where it asks for less, and grows slowly from then on', () => {
    const full = after(unhurried(limits), times(100, 'flowing'));
    const half = after(full, ['busy']);
    expect(half.limit).toBe(limits.max / 2);
    expect(after(half, ['flowing']).limit).toBeCloseTo(half.limit + 1 / half.limit);
  });

  test('halves once for all that was in hand when it was asked for less, and again for what came after', () => {
    const full = after(unhurried(limits), times(100, 'flowing'));
    const once = after(full, times(8, 'busy'), SOON, NOW);
    expect(once.limit).toBe(limits.max / 2);
    expect(after(once, ['busy'], LATER, NOW)).toEqual(once);
    expect(after(once, ['busy'], LATER, SOON).limit).toBe(limits.max / 4);
  });

  test('is paused again only by what was begun after a pause', () => {
    const once = after(unhurried(limits), ['unreachable'], SOON, NOW);
    expect(after(once, ['unreachable', 'busy'], LATER, NOW)).toEqual(once);
    expect(after(once, ['unreachable'], LATER, SOON).pauses).toBe(2);
  });

  test('does not grow where answers are slow', () => {
    expect(after(unhurried(limits), times(100, 'slow')).limit).toBe(limits.start);
  });

  test('pauses where nobody answers, or where even one at a time is too much, longer each time', () => {
    const minutes: number[] = [];
    let pace = unhurried(limits);
    let now = NOW;
    for (let time = 0; time < 7; time += 1) {
      pace = after(pace, [(['unreachable', 'busy', 'refusing'] as const)[time % 3] ?? 'busy'], now);
      minutes.push(minutesPaused(pace, now));
      now = pace.pausedUntil ?? now;
    }
    expect(minutes).toEqual([1, 2, 5, 15, 30, 30, 30]);
  });

  test('is not paused longer by attempts that were in hand when the pause began', () => {
    const once = after(unhurried(limits), ['unreachable']);
    expect(after(once, ['unreachable', 'busy', 'flowing'])).toEqual(once);
    expect([isPaused(once, NOW), isPaused(once, LATER)]).toEqual([true, false]);
  });

  test('tries one at a time after a pause, and forgets it with the first that goes well', () => {
    const paused = after(unhurried(limits), ['unreachable']);
    expect(paused.limit).toBe(1);
    expect(after(paused, ['flowing'], LATER)).toMatchObject({ pauses: 0, pausedUntil: null, limit: 2 });
  });
});

describe('what an attempt tells of its destination', () => {
  const said = (smtp: Partial<SmtpFacts>, category: BounceCategory = 'unknown'): AttemptOutcome => ({
    ...{ recipientId: 'rcp_1', outcome: 'deferred', reason: 'later', category },
    smtp: { code: 450, enhanced: null, mx: null, tls: null, replyId: null, stage: 'recipient', ...smtp },
  });
  const { smtp } = said({ code: 250 }) as Extract<AttemptOutcome, { outcome: 'deferred' }>;
  const delivered: AttemptOutcome = { recipientId: 'rcp_1', outcome: 'delivered', smtp };
  const bounced: AttemptOutcome = { ...{ recipientId: 'rcp_1', outcome: 'bounced', reason: 'no' }, smtp };
  const cutOffByUs: AttemptOutcome = {
    ...{ recipientId: 'rcp_1', outcome: 'deferred', reason: 'stopping' },
    smtp: { ...smtp, code: 0, stage: 'connect' },
  };

  test.each<[Bearing | null, readonly AttemptOutcome[]]>([
    ['flowing', [delivered]],
    ['flowing', [bounced]],
    ['flowing', [said({})]],
    ['flowing', [said({}, 'greylisted')]],
    ['flowing', [said({}, 'mailbox_full')]],
    ['flowing', [said({ enhanced: '4.2.1' }, 'rate_limited')]],
    ['flowing', [said({ code: 452, enhanced: '4.5.3' }, 'rate_limited')]],
    ['busy', [said({}, 'rate_limited')]],
    ['busy', [said({ stage: 'content', code: 451 }, 'reputation')]],
    ['busy', [said({ stage: 'content', code: 451 }, 'system')]],
    ['busy', [said({ code: 421 })]],
    ['busy', [said({ stage: 'mail' })]],
    ['busy', [said({ stage: 'session' })]],
    ['refusing', [said({ stage: 'session', code: 554 })]],
    ['refusing', [said({ stage: 'session', code: 502 })]],
    ['busy', [said({ code: 452 }, 'system')]],
    ['busy', [said({ code: 451, enhanced: '4.3.2' }, 'system')]],
    ['flowing', [said({ code: 451 }, 'system')]],
    ['flowing', [said({ code: 451, enhanced: '4.3.0' }, 'system')]],
    ['flowing', [said({ stage: 'mail' }, 'greylisted')]],
    ['flowing', [said({ stage: 'mail' }, 'sender_rejected')]],
    ['busy', [delivered, said({ code: 421 })]],
    ['unreachable', [said({ stage: 'connect', code: 0 }, 'network')]],
    ['unreachable', [said({ stage: 'session', code: 0 }, 'network')]],
    ['flowing', [delivered, said({ stage: 'connect', code: 0 }, 'network')]],
    [null, [said({ stage: 'content', code: 0 }, 'network')]],
    [null, [cutOffByUs]],
    [null, [{ recipientId: 'rcp_1', outcome: 'unknown' }]],
    [null, []],
  ])('is %s for %j', (bearing, outcomes) => {
    expect(bearingOf(outcomes, 10)).toBe(bearing);
  });

  test('is slow where a good answer took long', () => {
    expect(bearingOf([delivered], 5_000)).toBe('slow');
  });
});
