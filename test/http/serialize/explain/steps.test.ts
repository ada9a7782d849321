import { describe, expect, test } from 'vitest';
import type { MessageEvent } from '../../../../src/domain/kernel/events.ts';
import { messageEvents, type SmtpFacts } from '../../../../src/domain/message/events.ts';
import type { LinkAddress, LoadedContents, MessageHead, ReplyText } from '../../../../src/domain/ports/contents.ts';
import {
  about,
  attemptStarted,
  messageAccepted,
  messageScheduled,
  recipient,
} from '../../../support/controls/message.ts';
import { explain, HEAD, minute, recorded, reply, type Told } from './explaining.ts';

const smtp = (more: Partial<SmtpFacts> = {}): SmtpFacts => ({
  code: 250,
  enhanced: '2.0.0',
  mx: 'mx.example.net',
  tls: 'TLSv1.3',
  cipher: 'TLS_AES_256_GCM_SHA384',
  policy: 'mta-sts',
  address: '192.0.2.7',
  stage: 'content',
  replyId: 'reply-1',
  ...more,
});
const attempted = (more: Partial<SmtpFacts> = {}) => ({
  ...about,
  sequence: 9,
  recipientId: 'rcp_1',
  attempt: 1,
  smtp: smtp(more),
});
const one = { ...about, sequence: 9, recipientId: 'rcp_1' };
const engaged = { ...one, first: true as const, count: 2 };
const ended = { ...one, reason: 'because of this' };

/** Every event type, with the sentence that explains it. */
const SAID: { readonly [Type in MessageEvent['type']]: readonly [MessageEvent & { type: Type }, RegExp] } = {
  MessageAccepted: [
    messageAccepted(),
    /^Accepted for ada@example\.net as transactional mail\. Delivery is attempted until 2026-11-24 12:00:00 UTC\.$/,
  ],
  MessageScheduled: [messageScheduled(), /^Scheduled for 2026-11-22 08:00:00 UTC/],
  MessageRescheduled: [
    { ...messageScheduled(), type: 'MessageRescheduled' },
    /^Rescheduled by API key key_9 for 2026-11-22 08:00:00 UTC/,
  ],
  RecipientsHeld: [
    {
      type: 'RecipientsHeld',
      data: {
        ...about,
        sequence: 9,
        recipientIds: ['rcp_1'],
        reason: 'domain_paused',
        heldBy: 'dom_1',
        until: minute(60),
      },
    },
    /^Held for ada@example\.net: bulk mail of the sending domain is paused, .*continues when that ends\. The next check is at 2026-11-21 13:00:00 UTC/,
  ],
  AttemptStarted: [
    attemptStarted(1, ['rcp_1']) as MessageEvent & { type: 'AttemptStarted' },
    /^Attempt 1 started for ada@example\.net \(example\.net\)\. If there is no result by 2026-11-21 12:05:00 UTC, it is retried\.$/,
  ],
  AttemptOutcomeUnknown: [
    {
      type: 'AttemptOutcomeUnknown',
      data: { ...about, sequence: 9, attempt: 1, recipientIds: ['rcp_1'], nextAttemptAt: minute(5) },
    },
    /outcome of attempt 1 for ada@example\.net is unknown: .* same Message-ID.* Next attempt at 2026-11-21 12:05:00 UTC/,
  ],
  RecipientDelivered: [
    { type: 'RecipientDelivered', data: attempted() },
    /^Delivered to ada@example\.net: mx\.example\.net \(192\.0\.2\.7\) accepted it \(250 2\.0\.0 "As it was said"\)\. .*MTA-STS.*TLSv1\.3 with TLS_AES/,
  ],
  RecipientDeferred: [
    {
      type: 'RecipientDeferred',
      data: {
        ...attempted({ code: 451, enhanced: '4.7.1', stage: 'recipient' }),
        reason: 'x',
        nextAttemptAt: minute(7),
      },
    },
    /^Deferred for ada@example\.net: mx.* asked to try again later \(451 4\.7\.1 .*, in reply to the recipient\)\. Next attempt at 2026-11-21 12:07:00 UTC/,
  ],
  RecipientBounced: [
    {
      type: 'RecipientBounced',
      data: { ...attempted({ code: 550, enhanced: '5.1.1' }), reason: 'x', category: 'no_mailbox' },
    },
    /^Bounced for ada@example\.net: mx\S+ \(192\.0\.2\.7\) says that the mailbox does not exist \(550 5\.1\.1 .*\)\. The address is now suppressed\./,
  ],
  RecipientExpired: [{ type: 'RecipientExpired', data: ended }, /^Expired for ada@example\.net: because of this\.$/],
  RecipientFailed: [{ type: 'RecipientFailed', data: ended }, /^Failed for ada@example\.net: because of this\.$/],
  RecipientSuppressed: [
    { type: 'RecipientSuppressed', data: ended },
    /^Not sent to ada@example\.net: because of this\. Remove the suppression/,
  ],
  RecipientCancelled: [
    { type: 'RecipientCancelled', data: ended },
    /^Cancelled for ada@example\.net by API key key_9: because of this\.$/,
  ],
  RecipientOpened: [
    {
      type: 'RecipientOpened',
      data: { ...engaged, client: 'apple_mail', network: 'apple', machine: 'apple_privacy_proxy' },
    },
    /A machine opened the mail of ada@example\.net twice within a minute: Apple's privacy proxy loads every image/,
  ],
  RecipientClicked: [
    {
      type: 'RecipientClicked',
      data: { ...engaged, count: 1, client: 'firefox', network: 'other', link: 0, linkId: 'link-1' },
    },
    /ada@example\.net followed a link, for the first time: https:\/\/shop\.test\/ \(with Firefox\)\./,
  ],
  RecipientComplained: [{ type: 'RecipientComplained', data: one }, /ada@example\.net reported it as spam/],
  RecipientReportNoted: [
    { type: 'RecipientReportNoted', data: { ...one, report: 'failure', doubt: 'address_behind' } },
    /an address behind ada@example\.net could not be reached\. Others behind it may have received the message/,
  ],
  RecipientsResent: [
    { type: 'RecipientsResent', data: { ...about, sequence: 9, recipientIds: ['rcp_1'], resentAs: 'msg_2' } },
    /^Sent again to ada@example\.net by API key key_9, as msg_2\.$/,
  ],
  RecipientUnsubscribed: [
    { type: 'RecipientUnsubscribed', data: { ...one, method: 'one_click' } },
    /ada@example\.net unsubscribed, with the unsubscribe button/,
  ],
};

const contents: LoadedContents = new Map<string, MessageHead | ReplyText | LinkAddress>([
  ['content-1', HEAD],
  ['reply-1', reply('As it was\r\n said')],
  ['link-1', { kind: 'link', messageId: 'msg_1', url: 'https://shop.test/' }],
]);
const lastOf = (...told: readonly Told[]) => explain(recorded(told), { contents }).steps.at(-1);
const accepted: Told = { event: messageAccepted(), actor: 'key:key_9' };

describe('a step of an explanation', () => {
  test('exists for every event', () => {
    expect(Object.keys(SAID).sort()).toEqual(Object.keys(messageEvents).sort());
  });

  test.each(Object.entries(SAID))('says what %s means', (type, [event, sentence]) => {
    const told = { event, actor: 'key:key_9' };
    const step = type === 'MessageAccepted' ? lastOf(told) : lastOf(accepted, told);
    expect(step?.sentence).toMatch(sentence);
    expect(step?.actor).toEqual({ type: 'key', id: 'key_9' });
  });

  test('quotes what the other side said unchanged', () => {
    const step = lastOf(accepted, { event: SAID.RecipientDelivered[0] });
    expect(step?.facts.smtp).toEqual({
      code: 250,
      enhanced: '2.0.0',
      text: 'As it was\r\n said',
      mx: 'mx.example.net',
      address: '192.0.2.7',
      tls: 'TLSv1.3',
      cipher: 'TLS_AES_256_GCM_SHA384',
      policy: 'mta-sts',
      stage: 'content',
    });
    expect(step?.recipient).toEqual({ id: 'rcp_1', address: 'ada@example.net' });
  });

  test('says when nothing was encrypted, and that nothing leaves in the test environment', () => {
    const event: MessageEvent = {
      type: 'RecipientDelivered',
      data: attempted({ tls: null, cipher: null, policy: null }),
    };
    expect(lastOf(accepted, { event })?.sentence).toContain('was not encrypted');
    const simulated = explain(recorded([accepted, { event }], 'test')).steps.at(-1)?.sentence;
    expect(simulated).toContain('the test environment accepted it');
    expect(simulated).not.toContain('encrypted');
  });

  test('says that no server was contacted when none answered', () => {
    const nothing = { code: 0, enhanced: '5.1.10', mx: null, stage: 'connect', tls: null } as const;
    const event: MessageEvent = { type: 'RecipientBounced', data: { ...attempted(nothing), reason: 'x' } };
    expect(lastOf(accepted, { event })?.sentence).toBe(
      'Bounced for ada@example.net: x (5.1.10 "As it was said"). It is not retried.',
    );
  });

  test('says that a server offers no TLS although it is required, and quotes no reply', () => {
    const finding = { code: 0, enhanced: '4.7.10', stage: 'session', tls: null, cipher: null } as const;
    const reason = 'TLS is required, and the mail server offers none';
    const event: MessageEvent = {
      type: 'RecipientDeferred',
      data: { ...attempted(finding), reason, nextAttemptAt: '2026-11-20T12:01:00.000Z' },
    };
    expect(lastOf(accepted, { event })?.sentence).toBe(
      `Deferred for ada@example.net: ${reason} (4.7.10 "As it was said"). Next attempt at 2026-11-20 12:01:00 UTC.`,
    );
  });

  test.each([
    ['cancelled by its sender', '.'],
    [
      'cancelled by its sender after an attempt whose outcome is unknown',
      ' after an attempt whose outcome is unknown.',
    ],
    ['cancelled: its recipient is erased', ': its recipient is erased.'],
  ])('says why and by whom a message is cancelled: %s', (reason, end) => {
    const event: MessageEvent = { type: 'RecipientCancelled', data: { ...one, reason } };
    expect(lastOf(accepted, { event, actor: 'operator' })?.sentence).toBe(
      `Cancelled for ada@example.net by the operator of the service${end}`,
    );
  });

  test('distinguishes a report that came after the delivery from a refusal', () => {
    const data = { ...attempted({ code: 550, enhanced: '5.1.1' }), sequence: 10, reason: 'x' };
    const step = lastOf(accepted, { event: SAID.RecipientDelivered[0] }, { event: { type: 'RecipientBounced', data } });
    expect(step?.sentence).toMatch(
      /^Bounced after delivery for ada@example\.net: a report says that it could not be delivered \(550 5\.1\.1/,
    );
    expect(step?.facts.late).toBe(true);
  });

  test('says that the time to live ends if no attempt comes before that', () => {
    const nextAttemptAt = messageAccepted().data.expiresAt;
    const data = { ...attempted({ code: 451 }), reason: 'x', nextAttemptAt };
    expect(lastOf(accepted, { event: { type: 'RecipientDeferred', data } })?.sentence).toContain(
      'It expires at 2026-11-24 12:00:00 UTC, before the next attempt.',
    );
  });

  test('names three recipients, and counts the others', () => {
    const recipients = Array.from({ length: 50 }, (_, index) => recipient(`rcp_${index + 1}`));
    const { sentence, facts } = lastOf({ event: messageAccepted({ recipients }) }) ?? {};
    expect(sentence).toContain('for ada@example.net, bob@example.net and 48 others as transactional mail.');
    expect(facts?.recipient_ids).toHaveLength(50);
  });
});

const MEMBER = `mbr_${'a'.repeat(26)}`;

describe('the history before the acceptance', () => {
  const first = (told: Told, more: Parameters<typeof explain>[1] = {}) =>
    explain(recorded([told]), more).steps.map(({ sentence }) => sentence);

  test('is the request, its key, and the checks', () => {
    expect(first(accepted)).toEqual([
      'Request req_1 came from API key key_9 without an Idempotency-Key. Repeating the request sends another message.',
      'API key "Shop" (key_1) is valid and has permission to send.',
      'Domain example.test was verified at 2026-11-21 12:00:00 UTC by its DNS records.',
      'The HTML was checked and is valid.',
      expect.stringMatching(/^Accepted for/),
    ]);
  });

  test('names the member who sent it, unless that is unknown', () => {
    const { data, ...event } = messageAccepted();
    const sent = { event: { ...event, data: { ...data, keyId: MEMBER } }, actor: `member:${MEMBER}` } as Told;
    const sentences = first(sent, { people: new Map([[MEMBER, 'Ada Example']]) });
    expect(sentences[0]).toContain('came from Ada Example without');
    expect(sentences[1]).toBe('Ada Example is a member with permission to send.');
    expect(first(sent)[0]).toContain(`came from the member ${MEMBER} without`);
  });

  test('says whether the request can be repeated, and what an analysis said', () => {
    const analysis = { score: 93, verdict: 'warn', findings: [] } as const;
    const facts = { keyName: null, verification: null, templateAlias: null, hadHtml: false };
    const circumstances = { ...facts, findings: [], analysis };
    const sentences = first({ event: messageAccepted({ idempotent: true }) }, { circumstances });
    expect(sentences[0]).toContain('with an Idempotency-Key. Repeating the request sends nothing twice');
    expect(sentences[1]).toContain('API key key_1 is valid');
    expect(sentences[3]).toBe('Content analysis: 93 of 100 points, 0 findings, verdict "warn".');
  });
});

describe('a long life', () => {
  test('is shown by its beginning and its end, and says what is left out', () => {
    const starts = Array.from({ length: 600 }, (_, index): Told => ({ event: attemptStarted(index + 1, ['rcp_1']) }));
    const { steps, left_out } = explain(recorded([accepted, ...starts]));
    expect(steps).toHaveLength(404);
    expect(steps.at(-1)?.facts.attempt).toBe(600);
    expect(left_out).toBe('201 events after the first 100 are omitted: GET /v1/messages/msg_1/events lists them.');
  });
});
