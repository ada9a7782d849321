import { describe, expect, test } from 'vitest';
import type { BounceCategory } from '../../../src/domain/bounce/categories.ts';
import { asksForLowerRate, type Feedback, feedbackOf } from '../../../src/domain/destination/pacing.ts';
import type { AttemptOutcome } from '../../../src/domain/message/attempt.ts';
import type { SmtpFacts } from '../../../src/domain/message/events.ts';

describe('the feedback of an attempt', () => {
  const said = (smtp: Partial<SmtpFacts>, category: BounceCategory = 'unknown'): AttemptOutcome => ({
    recipientId: 'rcp_1',
    outcome: 'deferred',
    reason: 'later',
    category,
    smtp: { code: 450, enhanced: null, mx: null, tls: null, replyId: null, stage: 'recipient', ...smtp },
  });
  const { smtp } = said({ code: 250 }) as Extract<AttemptOutcome, { outcome: 'deferred' }>;
  const delivered: AttemptOutcome = { recipientId: 'rcp_1', outcome: 'delivered', smtp };
  const bounced: AttemptOutcome = { recipientId: 'rcp_1', outcome: 'bounced', reason: 'no', smtp };
  const cutOffByUs: AttemptOutcome = {
    recipientId: 'rcp_1',
    outcome: 'deferred',
    reason: 'stopping',
    smtp: { ...smtp, code: 0, stage: 'connect' },
  };

  test.each<[Feedback | null, readonly AttemptOutcome[]]>([
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
  ])('is %s for %j', (feedback, outcomes) => {
    expect(feedbackOf(outcomes, 10)).toBe(feedback);
  });

  test('is slow if a good answer took long', () => {
    expect(feedbackOf([delivered], 5_000)).toBe('slow');
  });
});

describe('outcomes that ask for a lower rate', () => {
  const said = (
    category: BounceCategory,
    enhanced: string | null = null,
    outcome: 'deferred' | 'bounced' = 'deferred',
  ) =>
    ({
      recipientId: 'rcp_1',
      outcome,
      reason: 'later',
      category,
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
    expect(asksForLowerRate(outcomes)).toBe(asks);
  });
});
