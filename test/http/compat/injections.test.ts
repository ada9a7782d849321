import { describe, expect, test } from 'vitest';
import type { Vendor } from '../../../src/http/compat/vendors.ts';
import { MAILGUN, POSTMARK, RESEND, SENDGRID, useTenant } from './tenant.ts';

const { now, ask, accepted } = useTenant();

/** Each is inserted into a name, an address, a subject, a header and a file. */
const INJECTIONS = ['\r\nBcc: evil@example.org', '\n', '\r', '\0', '\u2028', '\ud800'];

describe('CR, LF, NUL and similar characters', () => {
  const places: readonly (readonly [Vendor, string, (bad: string) => object])[] = [
    ['resend', '/emails', (bad) => ({ ...RESEND, from: `"x${bad}" <a@a.test>` })],
    ['resend', '/emails', (bad) => ({ ...RESEND, to: [`b@example.org${bad}x`] })],
    ['resend', '/emails', (bad) => ({ ...RESEND, subject: `x${bad}x` })],
    ['resend', '/emails', (bad) => ({ ...RESEND, headers: { 'X-A': `x${bad}x` } })],
    ['resend', '/emails', (bad) => ({ ...RESEND, headers: { [`X-A${bad}x`]: 'x' } })],
    ['resend', '/emails', (bad) => ({ ...RESEND, attachments: [{ filename: `x${bad}.txt`, content: 'AAAA' }] })],
    ['postmark', '/email', (bad) => ({ ...POSTMARK, To: `b@example.org, "x${bad}" <c@example.org>` })],
    ['postmark', '/email', (bad) => ({ ...POSTMARK, ReplyTo: `b@example.org${bad}x` })],
    ['postmark', '/email', (bad) => ({ ...POSTMARK, Tag: `x${bad}x` })],
    ['postmark', '/email', (bad) => ({ ...POSTMARK, Headers: [{ Name: `X-A${bad}x`, Value: 'x' }] })],
    ['postmark', '/email', (bad) => ({ ...POSTMARK, Headers: [{ Name: 'X-A', Value: `x${bad}x` }] })],
    ['postmark', '/email', (bad) => ({ ...POSTMARK, Metadata: { [`x${bad}x`]: 'x' } })],
    [
      'postmark',
      '/email',
      (bad) => ({
        ...POSTMARK,
        Attachments: [{ Name: 'x', Content: 'AAAA', ContentType: `text/plain${bad}`, ContentID: null }],
      }),
    ],
    ...['from', 'to', 'subject', 'o:tag', 'h:X-A', 'h:Reply-To', 'v:a'].map(
      (name) =>
        ['mailgun', '/v3/a.test/messages', (bad: string) => ({ ...MAILGUN, [name]: `b@a.test${bad}x` })] as const,
    ),
    ['mailgun', '/v3/a.test/messages', (bad) => ({ ...MAILGUN, [`h:X-A${bad}x`]: 'x' })],
    ['mailgun', '/v3/a.test/messages', (bad) => ({ ...MAILGUN, [`v:a${bad}x`]: 'x' })],
    ['sendgrid', '/v3/mail/send', (bad) => ({ ...SENDGRID, from: { email: 'a@a.test', name: `x${bad}x` } })],
    ['sendgrid', '/v3/mail/send', (bad) => ({ ...SENDGRID, reply_to: { email: `a@a.test${bad}x` } })],
    ['sendgrid', '/v3/mail/send', (bad) => ({ ...SENDGRID, categories: [`x${bad}x`] })],
    ['sendgrid', '/v3/mail/send', (bad) => ({ ...SENDGRID, headers: { [`X-A${bad}x`]: 'x' } })],
    [
      'sendgrid',
      '/v3/mail/send',
      (bad) => ({ ...SENDGRID, personalizations: [{ to: [{ email: 'b@example.org', name: `x${bad}x` }] }] }),
    ],
  ];

  test.each(places)('%s %s, place %#', async (vendor, path, make) => {
    const before = await accepted();
    for (const bad of INJECTIONS) {
      const { status } = await ask(vendor, 'POST', path, { payload: make(bad) });
      expect([JSON.stringify(bad), status >= 400 && status < 500]).toEqual([JSON.stringify(bad), true]);
    }
    expect(await accepted()).toBe(before);
  });

  test('sendgrid accepts anything else in a name as a name', async () => {
    const name = 'x" <evil@example.org>, "y\\';
    const to = [{ email: 'b@example.org', name }];
    const { headers } = await ask('sendgrid', 'POST', '/v3/mail/send', {
      payload: { ...SENDGRID, personalizations: [{ to }] },
    });
    const shown = await now.service.request({ url: `/v1/messages/${headers['x-message-id']}`, key: now.key });
    expect(shown.json().recipients.map(({ address }: { address: string }) => address)).toEqual(['b@example.org']);
    const smuggled = [
      { to: [{ email: 'b@example.org> <c@example.org' }] },
      { to: [{ email: 'b@example.org, c@example.org' }] },
    ];
    for (const one of smuggled)
      expect(
        (await ask('sendgrid', 'POST', '/v3/mail/send', { payload: { ...SENDGRID, personalizations: [one] } })).status,
      ).toBe(400);
  });

  test('postmark accepts no more mailboxes than there are, and reads a broken quotation quickly', async () => {
    for (const To of [
      '"a, b" <b@example.org',
      '"<b@example.org>',
      'a"b, c@example.org',
      `"${'\\"'.repeat(10_000)}`,
      ',,,',
    ]) {
      const began = performance.now();
      const answer = await ask('postmark', 'POST', '/email', { payload: { ...POSTMARK, To } });
      expect([To.slice(0, 20), answer.status]).toEqual([To.slice(0, 20), 422]);
      expect(performance.now() - began).toBeLessThan(2_000);
    }
    const own = await ask('postmark', 'POST', '/email', {
      payload: { ...POSTMARK, Headers: [{ Name: '__proto__', Value: 'x' }] },
    });
    expect(own.body.Message).toBe('Headers[0].Name is not a header name');
    const forged = { ...POSTMARK, Headers: [{ Name: 'Bcc', Value: 'evil@example.org' }] };
    expect((await ask('postmark', 'POST', '/email', { payload: forged })).body.Message).toBe(
      'Headers.Bcc is not allowed: the service writes this header',
    );
  });
});
