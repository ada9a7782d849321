import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createTransport } from 'nodemailer';
import { expect, test } from 'vitest';
import { talkSmtp } from '../../submission/support/smtp-talk.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { freePort } from '../../support/free-port.ts';
import { until } from '../delivering.ts';
import { isPostfixInstalled, openBouncingPostfix } from '../inbound-reports/bouncing-postfix.ts';
import { openReceivingMail } from './receiving-mail.ts';

const run = promisify(execFile);
const isSwaksInstalled = await run('swaks', ['--version']).then(
  () => true,
  () => false,
);

const openShop = async () => {
  const service = await openReceivingMail();
  await service.makeDomain(await service.makeOrganization(), 'shop.test');
  return service;
};

test.skipIf(!isPostfixInstalled())('a real Postfix delivers mail, once each, and keeps what is refused', async () => {
  const shop = await openShop();
  const port = await freePort();
  closedAfterTest(await openBouncingPostfix({ port, bouncePort: shop.port, domain: 'shop.test' }));
  const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
  const send = (subject: string, to: readonly string[]) =>
    transport.sendMail({
      envelope: { from: 'ann@example.net', to: [...to] },
      from: 'Ann <ann@example.net>',
      subject,
      text: `Dear shop,\n.\n..\nline ${'x'.repeat(2_000)}\n${subject}`,
      attachments: [{ filename: 'größe.txt', content: 'x'.repeat(100_000) }],
    });
  await send('Grüße 1', ['support@shop.test', 'sales@shop.test']);
  await send('Grüße 2', ['support@shop.test']);
  await until(async () => expect(await shop.events()).toHaveLength(3));
  transport.close();
  const bodies = await Promise.all((await shop.events()).map(shop.bodyOf));
  expect(bodies.map(({ subject, envelope }) => `${subject} ${envelope.to}`).sort()).toEqual([
    'Grüße 1 sales@shop.test',
    'Grüße 1 support@shop.test',
    'Grüße 2 support@shop.test',
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

test.skipIf(!isSwaksInstalled)('swaks delivers mail, and is refused for another domain', async () => {
  const shop = await openShop();
  const bring = (to: string) =>
    run('swaks', [
      ...['--server', '127.0.0.1', '--port', String(shop.port), '--from', 'ann@example.net', '--to', to],
      ...['--header', 'Subject: From swaks', '--body', 'Hello'],
    ]);
  expect((await bring('support@shop.test')).stdout).toMatch(/<-\s+250 2\.0\.0 Ok/);
  await expect(bring('support@other.test')).rejects.toMatchObject({ stdout: expect.stringMatching(/550 5\.1\.1/) });
  const [event, ...others] = await shop.events();
  expect(others).toEqual([]);
  if (event === undefined) throw new Error('nothing was received');
  expect(await shop.bodyOf(event)).toMatchObject({ subject: 'From swaks', text: expect.stringContaining('Hello') });
});

test('the extensions that senders use are offered', async () => {
  const shop = await openShop();
  const talk = await talkSmtp(shop.port);
  const offered = await talk.ask('EHLO mx.example.net\r\n');
  talk.close();
  for (const extension of ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'SIZE ']) expect(offered).toContain(extension);
  expect(offered).not.toContain('AUTH');
});
