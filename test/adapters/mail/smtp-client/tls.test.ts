import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createSmtpTransport,
  parseSmarthost,
  type SmtpTransportOptions,
} from '../../../../src/adapters/mail/smarthost.ts';
import { createSystem } from '../../../../src/adapters/system.ts';
import { outgoingMail } from '../outgoing-mail.ts';

const system = createSystem();
/** A server with the self-signed certificate of its package. */
const listen = async (options: SMTPServerOptions = {}): Promise<number> => {
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    onAuth: ({ username, password }, _session, callback) =>
      username === 'us er' && password === 'p@ss'
        ? callback(null, { user: username })
        : callback(Object.assign(new Error('5.7.8 wrong'), { responseCode: 535 })),
    onData: (stream, _session, callback) => stream.resume().on('end', () => callback()),
    ...options,
  });
  server.on('error', () => undefined);
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  return (listening.address() as AddressInfo).port;
};

const sendTo = async (url: string, options: Partial<SmtpTransportOptions> = {}) => {
  const transport = createSmtpTransport({ url, ehloName: 'x.test', system, ...options });
  onTestFinished(transport.close);
  const [outcome] = await transport.send(outgoingMail(), { deadlineMs: system.monotonicMs() + 5_000 });
  return outcome;
};

describe('TLS', () => {
  it('is used if offered, and its version is reported', async () => {
    const port = await listen();
    expect(await sendTo(`smtp://127.0.0.1:${port}`)).toMatchObject({ outcome: 'delivered', tls: 'TLSv1.3' });
  });

  it('is null if not offered', async () => {
    const port = await listen({ disabledCommands: ['STARTTLS'] });
    expect(await sendTo(`smtp://127.0.0.1:${port}`)).toMatchObject({ outcome: 'delivered', tls: null });
  });

  it('implicit TLS refuses self-signed certificates unless configured otherwise', async () => {
    const port = await listen({ secure: true });
    const url = `smtps://127.0.0.1:${port}`;
    expect(await sendTo(url)).toMatchObject({ outcome: 'deferred', code: 0, tls: null });
    const trusting = { tls: { rejectUnauthorized: false } };
    expect(await sendTo(url, trusting)).toMatchObject({ outcome: 'delivered', tls: 'TLSv1.3' });
  });
});

describe('credentials', () => {
  it('are sent to a server that requires them', async () => {
    const port = await listen({ authOptional: false });
    expect(await sendTo(`smtp://us%20er:p%40ss@127.0.0.1:${port}`)).toMatchObject({ outcome: 'delivered' });
  });

  it('that are wrong or missing defer the mail', async () => {
    const port = await listen({ authOptional: false });
    expect(await sendTo(`smtp://us%20er:wrong@127.0.0.1:${port}`)).toMatchObject({ outcome: 'deferred', code: 535 });
    expect(await sendTo(`smtp://127.0.0.1:${port}`)).toMatchObject({ outcome: 'deferred', code: 530 });
  });

  it('are not sent without TLS beyond loopback, and a server without AUTH defers the mail', async () => {
    let logins = 0;
    const onAuth = (): void => {
      logins += 1;
    };
    const port = await listen({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true, onAuth });
    // Another spelling of 127.0.0.1: an address that is not clearly local is treated as remote.
    expect(await sendTo(`smtp://us%20er:p%40ss@[::ffff:127.0.0.1]:${port}`)).toMatchObject({ outcome: 'deferred' });
    expect(logins).toBe(0);
    const without = await listen({ disabledCommands: ['AUTH'] });
    expect(await sendTo(`smtp://us%20er:p%40ss@127.0.0.1:${without}`)).toMatchObject({ outcome: 'deferred', code: 0 });
  });
});

describe('a mail URL', () => {
  it.each([
    ['smtp://relay.test', { host: 'relay.test', port: 25, secure: false, credentials: null }],
    ['smtp://u:p@relay.test', { host: 'relay.test', port: 587, secure: false, credentials: { user: 'u', pass: 'p' } }],
    ['smtps://u:p@relay.test', { host: 'relay.test', port: 465, secure: true, credentials: { user: 'u', pass: 'p' } }],
    ['smtp://[::1]:2525', { host: '::1', port: 2525, secure: false, credentials: null }],
  ])('%s', (url, smarthost) => {
    expect(parseSmarthost(url)).toEqual(smarthost);
  });

  it.each(['', 'relay.test', 'http://relay.test', 'smtp://', 'smtp://relay.test:99999'])('%j is refused', (url) => {
    expect(() => parseSmarthost(url)).toThrow(/mail URL/);
  });
});
