import { once } from 'node:events';
import { connect } from 'node:net';
import { createTransport } from 'nodemailer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { talkSmtp } from '../../submission/support/smtp-talk.ts';
import { makeTlsPair } from '../../submission/support/tls-pair.ts';
import { statuses } from '../delivering.ts';
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
  ])('accepts nothing for %s', async (address) => {
    const service = await openReturning();
    expect(await service.bring(address, deliveryReport({ address: ANN }))).toBe(550);
  });

  test('accepts mail for the return path of a customer’s domain', async () => {
    const service = await openReturning();
    const { id, from } = await send(service, ANN);
    const alias = from.replace(BOUNCE_DOMAIN, 'bounces.shop.example');
    expect(await service.bring(alias, deliveryReport({ address: ANN }))).toBe(250);
    expect(await statuses(service, id)).toEqual(['bounced']);
  });

  /** Leaves the connection in the middle of a message. @returns the last reply to the envelope. */
  const enterData = async (port: number, from: string, localAddress: string) => {
    const talk = await talkSmtp(port, '127.0.0.1', localAddress);
    onTestFinished(talk.close);
    if (!talk.greeting.startsWith('220')) return talk.greeting;
    await talk.ask('EHLO mx.example.org\r\n');
    await talk.ask('MAIL FROM:<>\r\n');
    await talk.ask(`RCPT TO:<${from}>\r\n`);
    return talk.ask('DATA\r\n');
  };

  /** Begins twenty messages from one network at once. @returns the last replies. */
  const enterTwenty = (port: number, from: string, localAddress: string) =>
    Promise.all(Array.from({ length: 20 }, () => enterData(port, from, localAddress)));

  /** Opens an idle connection. @returns the greeting. */
  const greet = async (port: number, localAddress: string): Promise<string> => {
    const { greeting, close } = await talkSmtp(port, '127.0.0.1', localAddress);
    onTestFinished(close);
    return greeting;
  };
  const networks = (count: number, first: number) => Array.from({ length: count }, (_, at) => `127.0.${first + at}.1`);

  test('accepts twenty concurrent mails from one network, and defers others', async () => {
    const service = await openReturning();
    const { id, from } = await send(service, ANN);
    for (const reply of await enterTwenty(service.port, from, '127.0.0.2')) expect(reply).toMatch(/^354/);
    const refused = await talkSmtp(service.port, '127.0.0.1', '127.0.0.2');
    expect(refused.greeting).toMatch(/^421 4\.7\.0 too many connections from this network/);
    expect(await service.bring(from, deliveryReport({ address: ANN }))).toBe(250);
    expect(await statuses(service, id)).toEqual(['bounced']);
  });

  test('closes idle connections in favour of new ones, of the same network or another', async () => {
    const service = await openReturning();
    const { from } = await send(service, ANN);
    // Four networks fill their shares at once; the others come one at a time and take the place of an older one each.
    const full = networks(4, 1).flatMap((network) => Array.from({ length: 20 }, () => greet(service.port, network)));
    const greetings = await Promise.all(full);
    for (const network of [...networks(40, 5), ...Array.from({ length: 25 }, () => '127.0.1.1')])
      greetings.push(await greet(service.port, network));
    expect(greetings.filter((greeting) => !greeting.startsWith('220'))).toEqual([]);
    expect(greetings).toHaveLength(145);
    expect(await service.bring(from, deliveryReport({ address: ANN }))).toBe(250);
  });

  test('leaves room for the next network, however many send slowly', async () => {
    const service = await openReturning();
    const { from } = await send(service, ANN);
    for (let network = 1; network <= 6; network += 1) await enterTwenty(service.port, from, `127.0.${network}.1`);
    expect(await service.bring(from, deliveryReport({ address: ANN }))).toBe(250);
  });

  test('ends a refused session, whatever the client does', async () => {
    const service = await openReturning();
    const { from } = await send(service, ANN);
    await enterTwenty(service.port, from, '127.0.0.1');
    const refused = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
    refused.resume();
    const [hadError] = await once(refused, 'end');
    expect(hadError).toBeUndefined();
    const typing = setInterval(() => refused.write('x'), 100);
    await once(refused, 'error'); // reset, as the other side is gone
    clearInterval(typing);
  });
});

describe('STARTTLS in the listener', () => {
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

  test('discards plaintext sent after the command, and survives a client that leaves in the middle', async () => {
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
  test('count reports by outcome', async () => {
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
