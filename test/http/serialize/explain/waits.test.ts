import { describe, expect, test } from 'vitest';
import type { BounceCategory } from '../../../../src/domain/bounce/categories.ts';
import type { Suspension } from '../../../../src/domain/destination/suspension.ts';
import type { MessageEvent } from '../../../../src/domain/kernel/events.ts';
import type { Reputation } from '../../../../src/domain/reputation/reputation.ts';
import {
  about,
  attemptStarted,
  messageAccepted,
  messageScheduled,
  recipient,
  smtpReply,
} from '../../../support/controls/message.ts';
import { explain, HEAD, minute, recorded, reply, type Told } from './explaining.ts';

const accepted: Told = { event: messageAccepted() };
const started: Told = { event: attemptStarted(1, ['rcp_1']), at: 1 };

const deferred = (
  code: number,
  text: string | null,
  { reason = 'may work later', ...more }: { readonly reason?: string; readonly category?: BounceCategory } = {},
): readonly [Told, Map<string, never>] => {
  const smtp = { ...smtpReply(code), replyId: text === null ? null : 'reply-1' };
  const data = {
    ...about,
    sequence: 3,
    recipientId: 'rcp_1',
    attempt: 1,
    smtp,
    reason,
    nextAttemptAt: minute(30),
    ...more,
  };
  const contents = new Map([
    ['content-1', HEAD],
    ...(text === null ? [] : [['reply-1', reply(text)] as const]),
  ] as never);
  return [{ event: { type: 'RecipientDeferred', data }, at: 2 }, contents as Map<string, never>];
};

const suspension: Suspension = {
  operator: 'mail.example',
  domain: 'example.net',
  reason: 'unreachable',
  code: 0,
  enhanced: null,
  mx: null,
  times: 1,
  since: minute(0),
  until: minute(45),
};

describe('an explanation says why a recipient waits', () => {
  test('for its turn, and for how long', () => {
    const { waiting_because, summary } = explain(recorded([accepted]));
    expect(waiting_because).toEqual([
      {
        recipient: { id: 'rcp_1', address: 'ada@example.net' },
        reason: 'due_now',
        sentence: 'Waiting to be sent to ada@example.net since 2026-11-21 12:00:00 UTC.',
        next_attempt_at: null,
      },
    ]);
    expect(summary).toBe('Waiting to be sent to ada@example.net since 2026-11-21 12:00:00 UTC.');
    const late = explain(recorded([accepted]), { now: minute(180) }).summary;
    expect(late).toContain('since 2026-11-21 12:00:00 UTC, which is unusually long');
  });

  test('for the time that its sender set', () => {
    const [wait] = explain(recorded([accepted, { event: messageScheduled() }])).waiting_because;
    expect(wait).toMatchObject({ reason: 'scheduled', next_attempt_at: '2026-11-22T08:00:00.000Z' });
  });

  test('because an attempt is in flight, and what happens if its outcome is never recorded', () => {
    const { waiting_because, summary } = explain(recorded([accepted, started]));
    expect(waiting_because).toMatchObject([{ reason: 'in_hand', next_attempt_at: minute(5) }]);
    expect(summary).toContain(
      'Being sent to ada@example.net now, since 2026-11-21 12:01:00 UTC. If there is no result by 2026-11-21 12:05:00 UTC, it is retried.',
    );
  });

  test('because the outcome of its attempt was never recorded', () => {
    const [wait] = explain(recorded([accepted, started]), { now: minute(6) }).waiting_because;
    expect(wait).toMatchObject({ reason: 'attempt_lost', next_attempt_at: null });
    expect(wait?.sentence).toContain('A copy may have arrived');
  });

  test('because the outcome of its attempt is unknown', () => {
    const data = { ...about, sequence: 3, attempt: 1, recipientIds: ['rcp_1'], nextAttemptAt: minute(30) };
    const event: MessageEvent = { type: 'AttemptOutcomeUnknown', data };
    const [wait] = explain(recorded([accepted, started, { event, at: 6 }])).waiting_because;
    expect(wait).toMatchObject({ reason: 'outcome_unknown', next_attempt_at: minute(30) });
  });

  test.each([
    ['greylisted', 451, 'Greylisted, please try again'],
    ['greylisted', 450, '4.2.0 <ada@example.net>: grey listing in effect'],
    ['told_to_wait', 452, 'Too much mail'],
    ['told_to_wait', 451, null],
    ['not_handed_over', 0, 'connect ECONNREFUSED'],
  ])('as %s after %i %s', (reason, code, text) => {
    const [event, contents] = deferred(code, text);
    const [wait] = explain(recorded([accepted, started, event]), { contents }).waiting_because;
    expect(wait).toMatchObject({ reason, next_attempt_at: minute(30) });
    expect(wait?.sentence).toContain(code === 0 ? 'Deferred for ada@example.net: ' : `(${code}`);
    if (text !== null) expect(wait?.sentence).not.toContain(text);
    expect(wait?.sentence).toContain('Next attempt at 2026-11-21 12:30:00 UTC');
  });

  test.each([
    ['greylisted', 'greylisted', null],
    ['greylisted', 'greylisted', 'Internal resources are temporarily unavailable'],
    ['told_to_wait', 'policy', 'your greylist must be updated'],
  ] as const)('as %s after a reply in category %s, whatever its text says', (reason, category, text) => {
    const [event, contents] = deferred(451, text, { category });
    const [wait] = explain(recorded([accepted, started, event]), { contents }).waiting_because;
    expect(wait).toMatchObject({ reason, next_attempt_at: minute(30) });
  });

  test('because its destination is suspended, if that is what it waits for', () => {
    const [event] = deferred(451, null);
    const suspensions = new Map([['example.net', suspension]]);
    const [wait] = explain(recorded([accepted, started, event]), { suspensions }).waiting_because;
    expect(wait).toMatchObject({ reason: 'destination_suspended', next_attempt_at: minute(45) });
    expect(wait?.sentence).toContain('The mail servers of mail.example could not be reached');
    const alone = { operator: '@example.net', reason: 'recipient_domain', mx: 'nosuch.mail.example' } as const;
    const [own] = explain(recorded([accepted, started, event]), {
      suspensions: new Map([['example.net', { ...suspension, ...alone }]]),
    }).waiting_because;
    expect(own?.sentence).toBe(
      'The DNS records or policies of example.net, about nosuch.mail.example, name no usable mail server. ' +
        'Deliveries have been suspended since 2026-11-21 12:00:00 UTC. Next attempt for ada@example.net at 2026-11-21 12:45:00 UTC.',
    );
    const forSender = { operator: 'dom_1@mail.example', reason: 'busy' } as const;
    const [sender] = explain(recorded([accepted, started, event]), {
      suspensions: new Map([['example.net', { ...suspension, ...forSender }]]),
    }).waiting_because;
    expect(sender?.sentence).toContain('The mail servers of mail.example asked for less mail from this sending domain');
    const sooner = new Map([['example.net', { ...suspension, until: minute(20) }]]);
    const [other] = explain(recorded([accepted, started, event]), { suspensions: sooner }).waiting_because;
    expect(other).toMatchObject({ reason: 'told_to_wait', next_attempt_at: minute(30) });
  });
});

describe('an explanation of a recipient on hold', () => {
  const held = (data: Partial<Extract<MessageEvent, { type: 'RecipientsHeld' }>['data']> = {}): Told => ({
    event: {
      type: 'RecipientsHeld',
      data: {
        ...about,
        sequence: 3,
        recipientIds: ['rcp_1'],
        reason: 'domain_paused',
        heldBy: 'dom_1',
        until: minute(1440),
        ...data,
      },
    },
    at: 1,
  });
  const paused: Reputation = {
    level: 'paused',
    measure: 'bounces',
    since: minute(0),
    releasedAt: null,
    pausedSince: null,
  };
  const reputations = new Map([['dom_1', paused]]);

  test('says since when and why, and when it is checked again at the latest', () => {
    const [wait] = explain(recorded([accepted, held()]), { reputations }).waiting_because;
    expect(wait).toMatchObject({ reason: 'held', next_attempt_at: minute(1440) });
    expect(wait?.sentence).toBe(
      'Held for ada@example.net since 2026-11-21 12:01:00 UTC: bulk mail of the sending domain is paused, ' +
        'because its bounce or complaint rate is too high. Delivery continues when that ends. ' +
        'The next check is at 2026-11-22 12:00:00 UTC at the latest.',
    );
  });

  test('says that it expires, if nothing comes before that', () => {
    const until = messageAccepted().data.expiresAt;
    const [wait] = explain(recorded([accepted, held({ until })]), { reputations }).waiting_because;
    expect(wait?.sentence).toContain('If it still waits at 2026-11-24 12:00:00 UTC, it expires');
  });

  test('says that it is next, once its domain was released or has recovered', () => {
    for (const level of ['good', 'warned'] as const) {
      const released = new Map([['dom_1', { ...paused, level }]]);
      const [wait] = explain(recorded([accepted, held()]), { reputations: released }).waiting_because;
      expect(wait).toMatchObject({ reason: 'due_now', next_attempt_at: null });
    }
  });

  test('says that its organization is suspended, which only its operator can end', () => {
    const suspended = held({ reason: 'organization_suspended', heldBy: 'organization-org_1', until: minute(60) });
    const happenings = recorded([accepted, suspended]);
    const [wait] = explain(happenings, { isOrganizationSuspended: true }).waiting_because;
    expect(wait).toMatchObject({ reason: 'held' });
    expect(wait?.sentence).toContain(
      'the operator of this service suspended the organization, and only the operator can resume it. Delivery continues when that ends.',
    );
    const [resumed] = explain(happenings).waiting_because;
    expect(resumed).toMatchObject({ reason: 'due_now' });
  });

  test('says until when, if only time ends it', () => {
    const warmUp = held({ reason: 'warm_up', heldBy: null, until: minute(60) });
    const [wait] = explain(recorded([accepted, warmUp])).waiting_because;
    expect(wait).toMatchObject({ reason: 'held', next_attempt_at: minute(60) });
    expect(wait?.sentence).toMatch(/used its daily quota\. The next check is at 2026-11-21 13:00:00 UTC/);
    const [later] = explain(recorded([accepted, warmUp]), { now: minute(60) }).waiting_because;
    expect(later).toMatchObject({ reason: 'due_now' });
  });

  test('no longer mentions it once an attempt is in flight', () => {
    const [wait] = explain(recorded([accepted, held(), started]), { reputations }).waiting_because;
    expect(wait).toMatchObject({ reason: 'in_hand' });
  });
});

describe('a summary', () => {
  const two: Told = { event: messageAccepted({ recipients: [recipient('rcp_1'), recipient('rcp_2')] }) };
  const delivered = (recipientId: string): Told => ({
    event: { type: 'RecipientDelivered', data: { ...about, sequence: 5, recipientId, attempt: 1, smtp: smtpReply() } },
    at: 3,
  });

  test('counts the recipients that have it and says what the next one waits for', () => {
    const [event] = deferred(451, null);
    expect(explain(recorded([two, delivered('rcp_2'), event])).summary).toMatch(
      /^2 recipients: 1 delivered and 1 waiting\. Deferred for ada@example\.net: mx\.example\.net asked to try again later/,
    );
  });

  test('says that it has ended', () => {
    const { summary, waiting_because } = explain(recorded([two, delivered('rcp_1'), delivered('rcp_2')]));
    expect(waiting_because).toEqual([]);
    expect(summary).toBe('All 2 recipients: delivered. Last outcome at 2026-11-21 12:03:00 UTC.');
  });

  test('of one recipient leads with the outcome, its reason and the next step, and quotes codes alone', () => {
    const ended = (type: 'RecipientBounced', more: object): Told => ({
      event: {
        type,
        data: {
          ...about,
          sequence: 5,
          recipientId: 'rcp_1',
          attempt: 1,
          smtp: { ...smtpReply(550), enhanced: '5.1.1' },
          ...more,
        },
      } as MessageEvent,
      at: 3,
    });
    const summaryOf = (...told: readonly Told[]) => explain(recorded([accepted, ...told])).summary;
    expect(summaryOf(ended('RecipientBounced', { reason: 'x', category: 'no_mailbox' }))).toBe(
      'Bounced at 2026-11-21 12:03:00 UTC: mx.example.net says that the mailbox does not exist (550 5.1.1). The address is now suppressed.',
    );
    expect(summaryOf(ended('RecipientBounced', { reason: 'x', category: 'too_large' }))).toBe(
      'Bounced at 2026-11-21 12:03:00 UTC: mx.example.net says that the message is too large (550 5.1.1). It is not retried. ' +
        'Send a smaller message, with links instead of attachments.',
    );
    const complained = { ...about, sequence: 6, recipientId: 'rcp_1' };
    expect(summaryOf(delivered('rcp_1'), { event: { type: 'RecipientComplained', data: complained }, at: 5 })).toMatch(
      /^Delivered at 2026-11-21 12:03:00 UTC: mx\.example\.net accepted it \(250[^"]*\)\. The recipient reported it as spam\.$/,
    );
  });

  test('names each reason once, with all of its recipients', () => {
    const three: Told = {
      event: messageAccepted({ recipients: ['rcp_1', 'rcp_2', 'rcp_3'].map((id) => recipient(id)) }),
    };
    const bounced = (recipientId: string): Told => ({
      event: {
        type: 'RecipientBounced',
        data: {
          ...about,
          ...{ sequence: 5, recipientId, attempt: 1, reason: 'x', category: 'no_mailbox' },
          smtp: { ...smtpReply(550), enhanced: '5.1.1' },
        },
      },
      at: 3,
    });
    expect(explain(recorded([three, bounced('rcp_1'), delivered('rcp_2'), bounced('rcp_3')])).summary).toBe(
      '3 recipients: 1 delivered and 2 bounced. Bounced for ada@example.net and cy@example.net: ' +
        'mx.example.net says that the mailbox does not exist (550 5.1.1). These addresses are now suppressed.',
    );
  });

  test('says why not every recipient has it, and who complained', () => {
    const data = { ...about, sequence: 7, recipientId: 'rcp_2', reason: 'it was too late' };
    const complained: MessageEvent = {
      type: 'RecipientComplained',
      data: { ...about, sequence: 8, recipientId: 'rcp_1' },
    };
    const events = [
      two,
      delivered('rcp_1'),
      { event: { type: 'RecipientExpired', data }, at: 9 } as Told,
      { event: complained, at: 10 },
    ];
    expect(explain(recorded(events)).summary).toBe(
      '2 recipients: 1 delivered and 1 expired. 1 reported it as spam. Expired for bob@example.net: it was too late.',
    );
  });
});
