import { describe, expect, test } from 'vitest';
import { BOUNCE_CATEGORIES } from '../../../src/domain/bounce/categories.ts';
import { recordAttempt } from '../../../src/domain/message/attempt.ts';
import { message } from '../../../src/domain/message/message.ts';
import { REPLY_WAITS, replyWaitSeconds } from '../../../src/domain/message/retry-schedule.ts';
import { about, attemptStarted, messageAccepted, smtpReply } from '../../support/controls/message.ts';
import { NOW, specify } from '../../support/specification.ts';

const minutes = (attempt: number, said: Parameters<typeof replyWaitSeconds>[1], random = 0): number | undefined => {
  const seconds = replyWaitSeconds(attempt, said, random);
  return seconds === undefined ? undefined : seconds / 60;
};

const EXPECTED: Readonly<Record<string, readonly number[]>> = {
  greylisted: [6, 12, 15, 30, 60, 60],
  rate_limited: [5, 15, 30, 60, 60],
  reputation: [30, 60, 120, 240, 480],
  spam: [30, 60, 120, 240, 480],
  mailbox_full: [60, 120, 240, 480, 720],
};

describe('the wait after a reply', () => {
  test.each(REPLY_WAITS)('that means $category is its own, then the schedule’s', ({ category, minutes: listed }) => {
    expect(listed).toEqual(EXPECTED[category]);
    expect(listed.map((_, index) => minutes(index + 1, { category }))).toEqual(listed);
    expect(minutes(listed.length + 1, { category })).toBeUndefined();
  });

  test('that means anything else is the schedule’s', () => {
    const others = BOUNCE_CATEGORIES.filter((category) => !(category in EXPECTED));
    expect(others.map((category) => minutes(1, { category }))).toEqual(others.map(() => undefined));
    expect(minutes(1, {})).toBeUndefined();
  });

  test('retries servers that greylist for 1, 5, 10, 25, 30 and 60 min soon after that', () => {
    const tries = [1, 2, 3, 4, 5].map((attempt) => minutes(attempt, { category: 'greylisted' }) ?? 0);
    const after = tries.map((_, index) => tries.slice(0, index + 1).reduce((sum, each) => sum + each, 0));
    const met = [1, 5, 10, 25, 30, 60].map((asked) => after.find((minute) => minute >= asked));
    expect(met).toEqual([6, 6, 18, 33, 33, 63]);
  });

  test('varies by a tenth, and is never shorter', () => {
    expect(minutes(1, { category: 'greylisted' }, 0)).toBe(6);
    expect(minutes(1, { category: 'greylisted' }, 0.9999)).toBeCloseTo(6.6);
    expect(minutes(1, { askedSeconds: 600 }, 0)).toBe(10);
  });

  test('that names a time is that time, whatever else the reply means', () => {
    expect(minutes(1, { category: 'greylisted', askedSeconds: 300 })).toBe(5);
    expect(minutes(3, { category: 'system', askedSeconds: 7200 })).toBe(120);
  });

  test('that names a time is honoured between a minute and twelve hours, six times', () => {
    expect(minutes(1, { askedSeconds: 0 })).toBe(1);
    expect(minutes(1, { askedSeconds: 999_999 })).toBe(720);
    expect(minutes(6, { askedSeconds: 300 })).toBe(5);
    expect(minutes(7, { askedSeconds: 300 })).toBeUndefined();
    expect(minutes(7, { askedSeconds: 300, category: 'greylisted' })).toBeUndefined();
  });
});

describe('a deferred recipient', () => {
  const { given } = specify(message);
  const smtp = smtpReply(451);
  const deferred = { recipientId: 'rcp_1', outcome: 'deferred', smtp, reason: 'try later' } as const;
  const accepted = (expiresAt = '2026-11-24T12:00:00.000Z') => messageAccepted({ expiresAt });

  test.each([
    ['is tried again when greylisting is over', { category: 'greylisted' }, '2026-11-21T12:06:18.000Z'],
    ['is tried again when the reply says', { category: 'greylisted', askedSeconds: 1500 }, '2026-11-21T12:26:15.000Z'],
    ['whose own wait is named has that', { category: 'greylisted', retryAfterSeconds: 0 }, NOW],
    ['has the schedule’s wait otherwise', { category: 'system' }, '2026-11-21T12:01:00.000Z'],
  ] as const)('%s', (_, { category, ...said }, nextAttemptAt) => {
    given([accepted(), attemptStarted(1, ['rcp_1'])])
      .when((state) =>
        recordAttempt(state, { attempt: 1, outcomes: [{ ...deferred, category, ...said }], now: NOW, random: 0.5 }),
      )
      .thenEvents({
        type: 'RecipientDeferred',
        data: {
          ...about,
          sequence: 3,
          recipientId: 'rcp_1',
          attempt: 1,
          smtp,
          reason: 'try later',
          nextAttemptAt,
          category,
        },
      });
  });

  test('never waits longer than its time to live', () => {
    const expiresAt = '2026-11-21T12:02:00.000Z';
    given([accepted(expiresAt), attemptStarted(1, ['rcp_1'])])
      .when((state) =>
        recordAttempt(state, {
          attempt: 1,
          now: NOW,
          random: 0.5,
          outcomes: [{ ...deferred, category: 'mailbox_full', askedSeconds: 300 }],
        }),
      )
      .thenState({ recipients: [{ nextAttemptAt: expiresAt }] });
  });
});
