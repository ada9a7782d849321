import { createTransport } from 'nodemailer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MAIL_SENDERS } from '../support/mail-senders.ts';
import { postfixIsMissing, startPostfix } from '../support/postfix/postfix.ts';
import { until } from '../workers/delivering.ts';
import { openReceivingMail, type ReceivingMail } from '../workers/inbound/receiving-mail.ts';

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

test.skipIf(postfixIsMissing)('Postfix relays a mail, which is stored as it was sent', async () => {
  const receiving = await openDomain();
  const postfix = await startPostfix(['ann'], { domain: DOMAIN, port: receiving.port });
  onTestFinished(() => postfix.stop());
  const transport = createTransport({ host: '127.0.0.1', port: postfix.port, ignoreTLS: true });
  onTestFinished(() => transport.close());
  const to = `support@${DOMAIN}`;
  await transport.sendMail({ envelope: { from: FROM, to }, raw: mailTo(to, 'Postfix') });
  await until(async () => expect(await receiving.events()).toHaveLength(1));
  await expectStored(receiving, to, 'Postfix');
  await until(async () => expect(postfix.log()).toMatch(/status=sent \(250 2\.0\.0/));
});
