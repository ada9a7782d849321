import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { plain, talkSmtp } from './support/smtp-talk.ts';
import { type Submitting, startSubmitting } from './support/submitting.ts';
import { makeTlsPair, type TlsPair } from './support/tls-pair.ts';

let submitting: Submitting;
/** A listener that treats every client as remote. */
let remote: Submitting;
let tls: TlsPair;
beforeAll(async () => {
  tls = await makeTlsPair();
  submitting = await startSubmitting({ tls });
  remote = await startSubmitting({ tls, plaintextNetworks: [] });
});
afterAll(async () => {
  await submitting.close();
  await remote.close();
});

const EHLO = 'EHLO client.test\r\n';
const MAIL = 'MAIL FROM:<ann@example.test>\r\n';

const auth = async (key: string): Promise<string> => {
  const talk = await talkSmtp(submitting.port);
  await talk.ask(EHLO);
  const reply = await talk.ask(plain(key));
  talk.close();
  return reply;
};

describe('without TLS', () => {
  test('AUTH is not offered beyond loopback, and mail is refused', async () => {
    const talk = await talkSmtp(remote.port);
    const features = await talk.ask(EHLO);
    expect(features).toContain('STARTTLS');
    expect(features).not.toContain('AUTH');
    expect(await talk.ask(plain(remote.key))).toMatch(/^500 /);
    expect(await talk.ask(MAIL)).toBe('530 5.7.0 Must issue a STARTTLS command first');
    talk.close();
  });

  test('clients beyond loopback are refused at once if there is no certificate', async () => {
    const bare = await startSubmitting({ plaintextNetworks: [] });
    const talk = await talkSmtp(bare.port);
    expect(talk.greeting).toMatch(/^554 5\.7\.0 only clients on this machine/);
    talk.close();
    await bare.close();
  });

  test('a client on loopback authenticates by PLAIN or LOGIN, once', async () => {
    expect(await auth(submitting.key)).toMatch(/^235 /);
    const talk = await talkSmtp(submitting.port);
    expect(await talk.ask(EHLO)).toContain('AUTH PLAIN LOGIN');
    expect(await talk.ask(MAIL)).toBe('530 5.7.0 Authentication required');
    await talk.ask('AUTH LOGIN\r\n');
    await talk.ask(`${Buffer.from('anybody').toString('base64')}\r\n`);
    expect(await talk.ask(`${Buffer.from(submitting.key).toString('base64')}\r\n`)).toMatch(/^235 /);
    expect(await talk.ask(plain(submitting.key))).toMatch(/^503 /);
    talk.close();
  });
});

describe('STARTTLS', () => {
  test('lets clients beyond loopback authenticate', async () => {
    const transport = createTransport({
      host: '127.0.0.1',
      port: remote.port,
      requireTLS: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'outbox', pass: remote.key },
    });
    const { response } = await transport.sendMail({
      from: 'ann@example.test',
      to: 'b@example.org',
      subject: 'x',
      text: 'Hi',
    });
    expect(response).toMatch(/^250 2\.0\.0 Ok: queued as msg_/);
  });

  test('without a complete handshake is closed within the time to authenticate', async () => {
    const hasty = await startSubmitting({ tls, times: { authMs: 300 } });
    const talk = await talkSmtp(hasty.port);
    await talk.ask(EHLO);
    await talk.ask('STARTTLS\r\n');
    talk.socket.write(Buffer.from('1603010200010001fc0303', 'hex'));
    expect(await talk.next()).toBe('');
    expect((await talkSmtp(hasty.port)).greeting).toMatch(/^220/);
    await hasty.close();
  });

  test('discards plaintext sent after the command', async () => {
    const before = await submitting.accepted();
    const talk = await talkSmtp(submitting.port);
    await talk.ask(EHLO);
    const behind = `${EHLO}${plain(submitting.key)}${MAIL}RCPT TO:<b@example.org>\r\nDATA\r\nSubject: x\r\n\r\nHi\r\n.\r\n`;
    expect(await talk.ask(`STARTTLS\r\n${behind}`)).toBe('220 Ready to start TLS');
    talk.socket.end();
    expect(await talk.next()).toBe('');
    expect(await submitting.accepted()).toBe(before);
  });
});

describe('implicit TLS', () => {
  let implicit: Submitting;
  beforeAll(async () => {
    implicit = await startSubmitting({ tls, tlsBegins: 'implicit', plaintextNetworks: [], times: { authMs: 500 } });
  });
  afterAll(() => implicit.close());

  test('lets clients beyond loopback authenticate', async () => {
    const transport = createTransport({
      host: '127.0.0.1',
      port: implicit.port,
      secure: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'outbox', pass: implicit.key },
    });
    const mail = { from: 'ann@example.test', to: 'b@example.org', subject: 'x', text: 'Hi' };
    expect((await transport.sendMail(mail)).response).toMatch(/^250 2\.0\.0 Ok: queued as msg_/);
  });

  test('sends nothing to plaintext clients, and survives silent clients, half a handshake and missing authentication', async () => {
    const half = (bytes: string): Promise<void> =>
      new Promise((resolve) => {
        const socket = connect(implicit.port, '127.0.0.1', () => socket.write(Buffer.from(bytes, 'hex')));
        socket.on('error', () => undefined);
        socket.on('data', (chunk) => expect(chunk.toString('latin1')).not.toMatch(/^\d{3} /));
        socket.once('close', () => resolve());
      });
    const keyless = connectTls({ port: implicit.port, host: '127.0.0.1', rejectUnauthorized: false });
    keyless.on('error', () => undefined).resume();
    await Promise.all([half(''), half('160301'), half('16030100'), half(Buffer.from(EHLO).toString('hex'))]);
    await new Promise<void>((resolve) => (keyless.closed ? resolve() : keyless.once('close', () => resolve())));
    const transport = createTransport({
      host: '127.0.0.1',
      port: implicit.port,
      secure: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'outbox', pass: implicit.key },
    });
    expect(await transport.verify()).toBe(true);
    transport.close();
  });
});

describe('a key', () => {
  test.each([
    ['unknown', `ob_live_${'A'.repeat(49)}`],
    ['malformed', 'swordfish'],
    ['with a line break', 'ob_live\r\nAUTH'],
    ['with NUL', 'ob\0live'],
    ['empty', ''],
    ['of 3 kB', 'k'.repeat(3_000)],
  ])('that is %s is refused without a reason', async (_what, key) => {
    expect(await auth(key)).toMatch(/^(?:535 5\.7\.8 invalid or missing API key|501 )/);
  });

  test('without the permission to send is refused', async () => {
    const { value } = await submitting.makeKey({ permissions: ['read'] });
    expect(await auth(value)).toBe("535 5.7.8 API key lacks 'send' permission");
  });

  test('from a network that it does not allow is refused', async () => {
    const { value } = await submitting.makeKey({ allowedCidrs: ['192.0.2.0/24'] });
    expect(await auth(value)).toMatch(/^535 5\.7\.8 API key is not allowed from this address/);
    const { value: here } = await submitting.makeKey({ allowedCidrs: ['127.0.0.0/8'] });
    expect(await auth(here)).toMatch(/^235 /);
  });

  test('that is revoked ends sessions within a second', async () => {
    const { id, value } = await submitting.makeKey({ permissions: ['send'] });
    const talk = await submitting.talk(value);
    await talk.ask(MAIL);
    await talk.ask('RCPT TO:<b@example.org>\r\n');
    await talk.ask('DATA\r\n');
    const revoked = await submitting.service.request({
      method: 'POST',
      url: `/v1/api-keys/${id}/revoke`,
      key: submitting.key,
    });
    expect(revoked.statusCode).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await talk.ask('From: ann@example.test\r\nSubject: x\r\n\r\nHi\r\n.\r\n')).toBe(
      '550 5.7.1 invalid or missing API key',
    );
    expect(await talk.ask(MAIL)).toBe('550 5.7.1 invalid or missing API key');
    talk.close();
  });

  test('sends from its own domain only, whatever MAIL FROM is', async () => {
    const reply = await submitting.sendRaw('From: ann@other.test\r\nSubject: x\r\n\r\nHi');
    expect(reply).toBe("550 5.7.1 from must be an address on example.test, the key's domain");
  });

  test('has the same rate limit as over HTTP, applied before the message is sent', async () => {
    const { value } = await submitting.makeKey({ rateLimits: { send: 2 } as never });
    const talk = await submitting.talk(value);
    expect(await talk.ask(MAIL)).toMatch(/^250/);
    await talk.ask('RSET\r\n');
    expect(await talk.ask(MAIL)).toMatch(/^250/);
    await talk.ask('RSET\r\n');
    expect(await talk.ask(MAIL)).toMatch(/^451 4\.7\.0 rate limit of 2 send requests per minute exceeded/);
    const byHttp = await submitting.service.request({
      method: 'POST',
      url: '/v1/messages/send',
      key: value,
      payload: { from: 'ann@example.test', to: 'b@example.org', subject: 'x', text: 'Hi' },
    });
    expect(byHttp.statusCode).toBe(429);
    talk.close();
  });

  test('for an unverified domain sends nothing', async () => {
    const away = await startSubmitting({}, { context: { capturing: false } });
    const reply = await away.sendRaw('From: ann@example.test\r\nSubject: x\r\n\r\nHi');
    expect(reply).toMatch(/^550 5\.7\.1 /);
    await away.close();
  });
});

test('wrong keys are refused each time, and do not lock out other clients at the address', async () => {
  const guessed = await startSubmitting();
  for (let turn = 0; turn < 3; turn += 1) {
    const talk = await talkSmtp(guessed.port);
    await talk.ask(EHLO);
    for (let guess = 0; guess < 7; guess += 1) expect(await talk.ask(plain('swordfish'))).toMatch(/^535 5\.7\.8 /);
    talk.close();
  }
  const talk = await talkSmtp(guessed.port);
  await talk.ask(EHLO);
  expect(await talk.ask(plain(guessed.key))).toMatch(/^235 /);
  talk.close();
  const { statusCode } = await guessed.service.request({ url: '/v1/messages/msg_nosuch', key: guessed.key });
  expect(statusCode).toBe(404);
  await guessed.close();
});
