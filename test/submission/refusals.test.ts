import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { createSendingQuotas } from '../../src/commands/message/enforce-quota.ts';
import { BUILT_IN_PLANS } from '../../src/domain/billing/plan.ts';
import { MESSAGE_BYTES_MAX } from '../../src/submission/submit-message.ts';
import { closedAfterTest } from '../support/after-test.ts';
import { type Submitting, startSubmitting } from './support/submitting.ts';

let submitting: Submitting;
beforeAll(async () => {
  submitting = await startSubmitting();
});
afterAll(() => submitting.close());

const MAIL = 'MAIL FROM:<ann@example.test>\r\n';
const RCPT = 'RCPT TO:<bob@example.org>\r\n';
const HEADER = 'From: ann@example.test\r\nTo: bob@example.org\r\nSubject: x\r\n';

/** Number of messages that were accepted during `work`. */
const acceptedBy = async (work: () => Promise<unknown>): Promise<number> => {
  const before = await submitting.accepted();
  await work();
  return (await submitting.accepted()) - before;
};

describe('mail that cannot be represented is refused in one line, and nothing is sent:', () => {
  const multipart = (type: string, ...parts: readonly string[]): string =>
    [
      `${HEADER}MIME-Version: 1.0`,
      `Content-Type: ${type}; boundary=b`,
      '',
      ...parts.flatMap((part) => ['--b', part]),
      '--b--',
    ].join('\r\n');

  test.each<[string, string, RegExp]>([
    ['no From', 'Subject: x\r\n\r\nHi', /^554 5\.6\.0 from is required/],
    ['two From', `${HEADER}From: eve@example.test\r\n\r\nHi`, /^554 5\.6\.0 .*From must be given only once/],
    [
      'From of two',
      'From: ann@example.test, eve@example.test\r\nSubject: x\r\n\r\nHi',
      /^554 5\.6\.0 from must be one/,
    ],
    ['two subjects', `${HEADER}Subject: y\r\n\r\nHi`, /^554 5\.6\.0 Subject must be given only once/],
    [
      'References twice',
      `${HEADER}References: <1@x.test>\r\nreferences: <2@x.test>\r\n\r\nHi`,
      /^554 5\.6\.0 references must be given only once/,
    ],
    [
      'a repeated header that is too long',
      `${HEADER}X-A: 1\r\nX-A: ${'a'.repeat(999)}\r\n\r\nHi`,
      /^554 5\.6\.0 X-A must not have more than 998 characters without a space/,
    ],
    [
      'a hundred and one headers',
      `${HEADER}${'X-A: 1\r\n'.repeat(101)}\r\nHi`,
      /^554 5\.6\.0 headers must have at most 100 keys/,
    ],
    [
      'no header name',
      `${HEADER}this is no header\r\n\r\nHi`,
      /^554 5\.6\.0 a line of the message header is not a valid header/,
    ],
    ['__proto__', `${HEADER}__proto__: 1\r\n\r\nHi`, /^554 5\.6\.0 headers\.__proto__ is not allowed/],
    [
      'a misspelt instruction',
      `${HEADER}X-Outbox-Tags: a=b\r\n\r\nHi`,
      /^554 5\.6\.0 X-Outbox-Tags is not a known header/,
    ],
    ['a tag without value', `${HEADER}X-Outbox-Tag: a\r\n\r\nHi`, /^554 5\.6\.0 x-outbox-tag must be name=value/],
    [
      'half a word',
      `${HEADER}X-Outbox-Tracking: open\r\n\r\nHi`,
      /^554 5\.6\.0 x-outbox-tracking must be opens, clicks/,
    ],
    ['off and on', `${HEADER}X-Outbox-Tracking: off, opens\r\n\r\nHi`, /^554 5\.6\.0 x-outbox-tracking must be/],
    ['another stream', `${HEADER}X-Outbox-Stream: fast\r\n\r\nHi`, /^554 5\.6\.0 stream must be one of/],
    ['a late date', `${HEADER}X-Outbox-Scheduled-At: tomorrow\r\n\r\nHi`, /^554 5\.6\.0 scheduled_at must be a time/],
    [
      'unsubscribe twice',
      `${HEADER}X-Outbox-Unsubscribe: managed\r\nList-Unsubscribe: <https://a.test/>\r\n\r\nHi`,
      /^554 5\.6\.0 headers\.List-Unsubscribe is not allowed together with/,
    ],
    [
      'no Message-ID to know it by',
      `${HEADER}X-Outbox-Idempotency: message-id\r\n\r\nHi`,
      /^554 5\.6\.0 Message-ID is required/,
    ],
    [
      'a visible name that no header can hold',
      `${HEADER}Cc: ${'n'.repeat(300)}\r\n\r\nHi`,
      /^554 5\.6\.0 Cc\[0\] is not an email address/,
    ],
    [
      'a hundred people to see',
      `${HEADER}Cc: ${Array.from({ length: 100 }, (_, at) => `c${at}@x.test`).join(',\r\n ')}\r\n\r\nHi`,
      /^554 5\.6\.0 To and Cc must have at most 100/,
    ],
    [
      'a line break in a name',
      `${HEADER}Cc: =?utf-8?Q?A=0D=0ABcc=3A_eve=40x=2Etest?= <c@x.test>\r\n\r\nHi`,
      /^554 5\.6\.0 Cc\[0\] is not an email address: it contains a control/,
    ],
    [
      'a line break in a header',
      `${HEADER}X-A: =?utf-8?Q?A=0D=0ABcc=3A_eve=40x=2Etest?=\r\n\r\nHi`,
      /^554 5\.6\.0 headers\.X-A must not contain line breaks/,
    ],
    ['NUL in the text', `${HEADER}\r\nH\0i`, /^554 5\.6\.0 text must not contain NUL/],
    [
      'a message in a message that is not in ASCII',
      multipart('multipart/mixed', '\r\nHi', 'Content-Type: message/rfc822\r\n\r\nSubject: y\r\n\r\nHö'),
      /^554 5\.6\.0 attachments\[0\] is a message that is too large, or not ASCII lines/,
    ],
    [
      'a piece of a message',
      multipart('multipart/mixed', '\r\nHi', 'Content-Type: message/partial; id=x\r\n\r\nSubject: y\r\n\r\nHo'),
      /^554 5\.6\.0 attachments\[0\]\.content_type must be a media type/,
    ],
    [
      'a report',
      multipart('multipart/report; report-type=x', '\r\nHi', 'Content-Type: text/x-report\r\n\r\nHo'),
      /^554 5\.6\.0 a delivery report cannot be sent unchanged: attach it to another message/,
    ],
    [
      'a signature',
      multipart('multipart/signed', '\r\nHi', 'Content-Type: application/pgp-signature\r\n\r\nx'),
      /^554 5\.6\.0 a signed or encrypted message/,
    ],
    [
      'a type that no header can hold',
      multipart('multipart/mixed', '\r\nHi', `Content-Type: application/x; a=${'x'.repeat(600)}\r\n\r\nHo`),
      /^554 5\.6\.0 attachments\[0\]\.content_type must be a media type/,
    ],
    [
      'an alternative that is a message',
      multipart('multipart/alternative', '\r\nHi', 'Content-Type: message/rfc822\r\n\r\nSubject: y\r\n\r\nHo'),
      /^554 5\.6\.0 message\/rfc822 cannot be an alternative/,
    ],
    [
      'six alternatives',
      multipart('multipart/alternative', ...Array.from({ length: 6 }, () => 'Content-Type: text/calendar\r\n\r\nx')),
      /^554 5\.6\.0 alternatives must have at most 5 items/,
    ],
    [
      'an unknown charset',
      `${HEADER}Content-Type: text/plain; charset=hz-gb-2312\r\n\r\nHi`,
      /^554 5\.6\.0 the message cannot be read: its charset hz-gb-2312 is not known/,
    ],
    [
      'an unknown transfer encoding',
      `${HEADER}Content-Transfer-Encoding: x-uuencode\r\n\r\nHi`,
      /^554 5\.6\.0 the message cannot be read: the transfer encoding x-uuencode is not known/,
    ],
    [
      'a multipart without parts',
      `${HEADER}Content-Type: multipart/mixed; boundary=b\r\n\r\nHi`,
      /^554 5\.6\.0 the message cannot be read: it is multipart\/mixed, but no part of it can be found/,
    ],
    [
      'a thousand parts',
      multipart('multipart/mixed', ...Array.from({ length: 1_000 }, () => '\r\nHi')),
      /^554 5\.6\.0 the message cannot be read: it has more than 500 parts/,
    ],
    [
      'a header of ten megabytes',
      `${HEADER}X-A: ${'a'.repeat(10_000_000)}\r\n\r\nHi`,
      /^554 5\.6\.0 the message cannot be read: its headers are larger/,
    ],
    [
      'a hundred levels',
      `${HEADER}${Array.from({ length: 100 }, (_, at) => `Content-Type: multipart/mixed; boundary=b${at}\r\n\r\n--b${at}\r\n`).join('')}\r\nHi`,
      /^554 5\.6\.0 the message cannot be read/,
    ],
  ])('%s', async (_what, message, reply) => {
    let answered = '';
    const accepted = await acceptedBy(async () => {
      answered = await submitting.sendRaw(message);
    });
    expect(answered).toMatch(reply);
    expect(answered).toMatch(/^[ -~]{1,510}$/);
    expect(accepted).toBe(0);
  });

  test('headers that are neither ASCII nor UTF-8', async () => {
    const reply = await submitting.sendRaw(Buffer.from(`${HEADER}X-A: gr\xfc\xdfe\r\n\r\nHi`, 'latin1'));
    expect(reply).toMatch(/^554 5\.6\.0 the message cannot be read: its headers are neither ASCII nor UTF-8/);
  });

  test('a parameter of MAIL or RCPT that is not offered (RFC 5321 §4.1.1.11)', async () => {
    const talk = await submitting.talk();
    expect(await talk.ask('MAIL FROM:<ann@example.test> FROBNICATE=1\r\n')).toBe(
      '555 5.5.4 the parameter FROBNICATE is not supported',
    );
    expect(await talk.ask('MAIL FROM:<ann@example.test> HOLDFOR=60 SIZE=10\r\n')).toMatch(/^555 5\.5\.4 .*HOLDFOR/);
    const offered = 'SIZE=10 BODY=8BITMIME SMTPUTF8 RET=HDRS ENVID=x AUTH=<>';
    expect(await talk.ask(`MAIL FROM:<ann@example.test> ${offered}\r\n`)).toMatch(/^250/);
    expect(await talk.ask('RCPT TO:<bob@example.org> NOTIFY=NEVER RRVS=2026-11-22T00:00:00Z\r\n')).toMatch(
      /^555 5\.5\.4 .*RRVS/,
    );
    expect(await talk.ask('RCPT TO:<bob@example.org> NOTIFY=NEVER ORCPT=rfc822;bob@example.org\r\n')).toMatch(/^250/);
    talk.close();
  });

  test('more than a hundred recipients (RFC 5321 §4.5.3.1.8)', async () => {
    const talk = await submitting.talk();
    await talk.ask(MAIL);
    for (let at = 0; at < 100; at += 1) expect(await talk.ask(`RCPT TO:<b${at}@x.test>\r\n`)).toMatch(/^250/);
    expect(await talk.ask('RCPT TO:<b100@x.test>\r\n')).toMatch(/^452/);
    talk.close();
  });

  test('more bytes than are accepted, declared or not', async () => {
    const talk = await submitting.talk();
    expect(await talk.ask(`MAIL FROM:<a@example.test> SIZE=${MESSAGE_BYTES_MAX + 1}\r\n`)).toMatch(/^552/);
    for (const line of [MAIL, RCPT, 'DATA\r\n']) await talk.ask(line);
    talk.socket.write(`${HEADER}\r\n`);
    const line = Buffer.from(`${'x'.repeat(998)}\r\n`.repeat(1_000));
    for (let sent = 0; sent <= MESSAGE_BYTES_MAX; sent += line.length) {
      if (!talk.socket.write(line)) await new Promise((resolve) => talk.socket.once('drain', resolve));
    }
    expect(await talk.ask('\r\n.\r\n')).toMatch(/^552 5\.3\.4 the message is larger than/);
    expect(await talk.ask('NOOP\r\n')).toMatch(/^250/);
    talk.close();
    expect(submitting.bodies.held()).toBe(0);
  });
});

test('a message above the hard limit of the plan is refused permanently, with plan, limit and usage', async () => {
  const limited = { ...BUILT_IN_PLANS.default, id: 'tiny', included: 3, hardLimit: 3 };
  const quotas = createSendingQuotas(async () => 0, createSystem());
  const submitting = closedAfterTest(
    await startSubmitting({}, { context: { plans: { default: limited, offered: [] }, quotas } }),
  );
  expect(await submitting.send({ to: ['b@example.org', 'c@example.org'] })).toMatch(/^250/);
  const refused = submitting.send({ to: ['b@example.org', 'c@example.org'] });
  await expect(refused).rejects.toMatchObject({
    responseCode: 550,
    response: expect.stringMatching(/^550 5\.7\.1 .*plan tiny.*limit 3/),
  });
  expect(await submitting.send({ to: 'd@example.org' })).toMatch(/^250/);
  expect(await submitting.accepted()).toBe(2);
});
