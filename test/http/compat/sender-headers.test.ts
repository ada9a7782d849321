import { describe, expect, test } from 'vitest';
import { MAILGUN, POSTMARK, RESEND, SENDGRID, useTenant } from './tenant.ts';

const { ask, accepted } = useTenant();

type Header = readonly [name: string, value: string];

const BAD: readonly Header[] = [
  ['Resent-From', 'ceo@bank.test'],
  ['resent-sender', '"a@a.test" <ceo@bank.test>'],
  ['List-Unsubscribe', '<javascript:alert(1)>'],
  ['List-Help', '<data:text/html,x>'],
];
const GOOD: readonly Header[] = [
  ['Resent-From', 'Ann <a@a.test>'],
  ['List-Unsubscribe', '<http://a.test/u>, <mailto:u@a.test>'],
];

const ENTRIES = [
  ['resend', '/emails', ([name, value]: Header) => ({ ...RESEND, headers: { [name]: value } })],
  ['postmark', '/email', ([Name, Value]: Header) => ({ ...POSTMARK, Headers: [{ Name, Value }] })],
  ['mailgun', '/v3/a.test/messages', ([name, value]: Header) => ({ ...MAILGUN, [`h:${name}`]: value })],
  ['sendgrid', '/v3/mail/send', ([name, value]: Header) => ({ ...SENDGRID, headers: { [name]: value } })],
] as const;

describe.each(ENTRIES)('a header that could speak for another sender, to %s', (vendor, path, payloadOf) => {
  test.each(BAD)('is refused as %s: %s', async (...header) => {
    const before = await accepted();
    const { status } = await ask(vendor, 'POST', path, { payload: payloadOf(header) });
    expect([400, 403, 422]).toContain(status);
    expect(await accepted()).toBe(before);
  });

  test.each(GOOD)('is accepted as %s: %s', async (...header) => {
    const { status } = await ask(vendor, 'POST', path, { payload: payloadOf(header) });
    expect([200, 202]).toContain(status);
  });
});
