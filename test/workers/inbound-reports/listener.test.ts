import { once } from 'node:events';
import { connect } from 'node:net';
import { createTransport } from 'nodemailer';
import { describe, expect, test } from 'vitest';
import { talkSmtp } from '../../submission/support/smtp-talk.ts';
import { makeTlsPair } from '../../submission/support/tls-pair.ts';
import { statuses, until } from '../delivering.ts';
import { BOUNCE_DOMAIN, complaintReport, deliveryReport, openReceiving } from './receiving.ts';
import { envelopeOf, named, openReturning, send } from './returning.ts';

const ANN = 'ann@example.org';

describe('the listener', () => {
  test.each([
    'postmaster@elsewhere.test',
    `b123@${BOUNCE_DOMAIN}`,
    `e${'0'.repeat(48)}@${BOUNCE_DOMAIN}`,
    `b${'0'.repeat(48)}@elsewhere.test`,
    'fbl@bounces.elsewhere.test',
  ])('receives nothing for %s', async (address) => {
    const service = await openReturning();
    expect(await service.bring(address, deliveryReport({ address: ANN }))).toBe(550);
  });

  test('receives for the return path of a customer’s domain', async () => {
    const service = await openReturning();
    const { id, from } = await send(service, ANN);
    const alias = from.replace(BOUNCE_DOMAIN, 'bounces.shop.example');
    expect(await service.bring(alias, deliveryReport({ address: ANN }))).toBe(250);
    expect(await statuses(service, id)).toEqual(['bounced']);
  });

  test('has twenty sessions for one host, and refuses others with a reason', async () => {
    const { port } = await openReturning();
    const talks = await Promise.all(Array.from({ length: 25 }, () => talkSmtp(port)));
    const greetings = talks.map(({ greeting }) => greeting.slice(0, 3)).sort();
    expect(greetings).toEqual([...Array(20).fill('220'), ...Array(5).fill('421')]);
    for (const talk of talks) talk.close();
    await until(async () => expect((await talkSmtp(port)).greeting).toMatch(/^220/));
  });

  test('ends a refused session, whatever the client does', async () => {
    const { port } = await openReturning();
    const talks = await Promise.all(Array.from({ length: 20 }, () => talkSmtp(port)));
    const refused = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    refused.resume();
    const [hadError] = await once(refused, 'end');
    expect(hadError).toBeUndefined();
    const typing = setInterval(() => refused.write('x'), 100);
    await once(refused, 'error'); // reset: nobody is there any more
    clearInterval(typing);
    for (const talk of talks) talk.close();
  });
});

describe('STARTTLS of the listener', () => {
  test('is not offered without a certificate', async () => {
    const { port } = await openReturning();
    const talk = await talkSmtp(port);
    expect(await talk.ask('EHLO mx.example.org\r\n')).not.toContain('STARTTLS');
    expect(await talk.ask('STARTTLS\r\n')).toMatch(/^50/);
    talk.close();
  });

  test('encrypts reports, and accepts plaintext too', async () => {
    const service = await openReturning();
    const { id, from } = await send(service, ANN);
    const { port, outcomes } = await openReceiving(service, {}, { tls: await makeTlsPair() });
    const transport = createTransport({
      host: '127.0.0.1',
      port,
      requireTLS: true,
      tls: { rejectUnauthorized: false },
    });
    const sent = await transport.sendMail({
      envelope: { from: '', to: [from] },
      raw: deliveryReport({ address: ANN }),
    });
    transport.close();
    expect(sent.response).toMatch(/^250/);
    expect(await statuses(service, id)).toEqual(['bounced']);
    const talk = await talkSmtp(port);
    await talk.ask('EHLO mx.example.org\r\n');
    expect(await talk.ask('MAIL FROM:<>\r\n')).toMatch(/^250/);
    talk.close();
    expect(outcomes).toEqual(['bounced_late']);
  });

  test('drops plaintext sent behind it, and survives a client that leaves in the middle', async () => {
    const service = await openReturning();
    const { id, from } = await send(service, ANN);
    const { port, bring } = await openReceiving(service, {}, { tls: await makeTlsPair() });
    const talk = await talkSmtp(port);
    await talk.ask('EHLO mx.example.org\r\n');
    const behind = `EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<${from}>\r\nDATA\r\n${deliveryReport({ address: ANN })}\r\n.\r\n`;
    expect(await talk.ask(`STARTTLS\r\n${behind}`)).toBe('220 Ready to start TLS');
    talk.socket.resetAndDestroy();
    for (let at = 0; at < 5; at += 1) {
      const another = await talkSmtp(port);
      await another.ask('EHLO x\r\n');
      await another.ask('STARTTLS\r\n');
      another.socket.write(Buffer.from([0x16, 0x03, 0x01]));
      another.close();
    }
    expect(await statuses(service, id)).toEqual(['delivered']);
    expect(await bring(from, deliveryReport({ address: ANN }))).toBe(250);
  });
});

describe('the metrics of inbound reports', () => {
  test('count them by outcome', async () => {
    const service = await openReturning();
    const { from } = await send(service, [ANN, 'bob@example.org']);
    const envelopeId = await envelopeOf(service, from);
    const mails = [
      deliveryReport({ address: ANN }),
      named(deliveryReport({ address: ANN }), envelopeId),
      named(deliveryReport({ address: ANN }), envelopeId),
      deliveryReport({ address: ANN, action: 'delayed', status: '4.4.1' }),
      deliveryReport({ address: 'stranger@example.net' }),
      complaintReport('Subject: x', 'Original-Rcpt-To: <bob@example.org>\n'),
      'Subject: Out of office\r\n\r\nI am away.\r\n',
      'Subject: Hello\r\n\r\nHow are you?\r\n',
    ];
    for (const mail of mails) expect(await service.bring(from, mail)).toBe(250);
    await service.bring(`b${'0'.repeat(48)}@${BOUNCE_DOMAIN}`, deliveryReport({ address: ANN }));
    expect(service.outcomes).toEqual([
      ...['unconfirmed', 'bounced_late', 'unchanged', 'not_given_up', 'unmatched', 'unconfirmed', 'automatic_reply'],
      ...['not_a_report', 'forged'],
    ]);
    expect(service.logger.outcomes()).toEqual(service.outcomes);
  });
});
