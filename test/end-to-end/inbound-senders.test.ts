import { createTransport } from 'nodemailer';
import { describe, expect, test } from 'vitest';
import { closedAfterTest } from '../support/after-test.ts';
import { freePort } from '../support/free-port.ts';
import { MAIL_SENDERS } from '../support/mail-senders.ts';
import { postfixIsMissing } from '../support/postfix/postfix.ts';
import { until } from '../workers/delivering.ts';
import { openReceivingMail, type ReceivingMail } from '../workers/inbound/receiving-mail.ts';
import { openBouncingPostfix } from '../workers/inbound-reports/bouncing-postfix.ts';

/** Mail for domains, as programs of others deliver it: what they send is what is stored, and refusals reach them. */

const DOMAIN = 'in.test';
const FROM = 'ann@b.test';
const LINES = ['Zwölf Pfund', '', '.', '..dots', 'trailing space ', 'x'.repeat(900)];

const mailTo = (to: string, subject: string): string =>
  [
    `From: Ann <${FROM}>`,
    `To: <${to}>`,
    `Subject: ${subject}`,
    `Message-ID: <${subject}@b.test>`,
    'Date: Sun, 29 Nov 2026 12:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
    '',
    ...LINES,
    '',
  ].join('\r\n');

const openDomain = async (): Promise<ReceivingMail> => {
  const receiving = await openReceivingMail();
  await receiving.makeDomain(await receiving.makeOrganization(), DOMAIN);
  return receiving;
};

const expectStored = async (receiving: ReceivingMail, to: string, subject: string): Promise<void> => {
  const [event, ...more] = await receiving.events();
  expect(more).toEqual([]);
  if (event === undefined) throw new Error('nothing was received');
  const body = await receiving.bodyOf(event);
  expect(body).toMatchObject({ envelope: { from: FROM, to }, subject, from: [{ address: FROM, name: 'Ann' }] });
  expect(body.text?.replace(/\r\n/g, '\n').trimEnd()).toBe(LINES.join('\n').trimEnd());
  expect((await receiving.rawOf(event)).toString('utf8')).toContain(LINES.join('\r\n'));
};

describe.each(MAIL_SENDERS)('$name', ({ name, isMissing, send }) => {
  test.skipIf(isMissing)('delivers a mail, which is stored as it was sent', async () => {
    const receiving = await openDomain();
    const to = `support@${DOMAIN}`;
    await send({ port: receiving.port, raw: mailTo(to, name), from: FROM, to });
    await expectStored(receiving, to, name);
  });

  test.skipIf(isMissing)('is refused a recipient of another domain', async () => {
    const receiving = await openDomain();
    const to = 'support@other.test';
    await expect(send({ port: receiving.port, raw: mailTo(to, name), from: FROM, to })).rejects.toThrow(/550|5\.1\.1/);
    expect(await receiving.events()).toEqual([]);
  });
});

test.skipIf(postfixIsMissing)('Postfix delivers mail to each recipient once', async () => {
  const receiving = await openDomain();
  const port = await freePort();
  closedAfterTest(await openBouncingPostfix({ port, bouncePort: receiving.port, domain: DOMAIN }));
  const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
  const send = (subject: string, to: readonly string[]) =>
    transport.sendMail({
      envelope: { from: 'ann@example.net', to: [...to] },
      from: 'Ann <ann@example.net>',
      subject,
      text: `Dear shop,\n.\n..\nline ${'x'.repeat(2_000)}\n${subject}`,
      attachments: [{ filename: 'größe.txt', content: 'x'.repeat(100_000) }],
    });
  await send('Grüße 1', ['support@in.test', 'sales@in.test']);
  await send('Grüße 2', ['support@in.test']);
  await until(async () => expect(await receiving.events()).toHaveLength(3));
  transport.close();
  const bodies = await Promise.all((await receiving.events()).map(receiving.bodyOf));
  expect(bodies.map(({ subject, envelope }) => `${subject} ${envelope.to}`).sort()).toEqual([
    'Grüße 1 sales@in.test',
    'Grüße 1 support@in.test',
    'Grüße 2 support@in.test',
  ]);
  for (const body of bodies) {
    expect(body).toMatchObject({
      envelope: { from: 'ann@example.net' },
      from: [{ address: 'ann@example.net', name: 'Ann' }],
      attachments: [{ filename: 'größe.txt', bytes: 100_000 }],
      problems: [],
    });
    expect(body.text).toMatch(/^Dear shop,\n\.\n\.\.\nline x{2000}\nGrüße [12]\s*$/);
  }
});
