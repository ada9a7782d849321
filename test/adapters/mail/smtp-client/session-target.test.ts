import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSmtpSession, type SessionTarget, SmtpConnectFailed } from '../../../../src/lib/smtp/smtp.ts';

const listen = async (options: SMTPServerOptions = {}) => {
  const clients: string[] = [];
  const logins: string[] = [];
  const server = new SMTPServer({
    disableReverseLookup: true,
    authOptional: true,
    onConnect: ({ remoteAddress }, callback) => {
      clients.push(remoteAddress);
      callback();
    },
    onAuth: ({ username }, _session, callback) => {
      logins.push(username ?? '');
      callback(null, { user: username });
    },
    ...options,
  });
  server.on('error', () => undefined);
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  return { port: (listening.address() as AddressInfo).port, clients, logins };
};

const open = async (port: number, parts: Partial<SessionTarget> & { readonly connectMs?: number } = {}) => {
  const { connectMs = 2_000, ...rest } = parts;
  const target: SessionTarget = {
    host: 'mx.b.test',
    address: '127.0.0.1',
    port,
    implicitTls: false,
    credentials: null,
    tls: { required: false, check: 'none' },
    ...rest,
  };
  const options = { target, ehloName: 'a.test', onEnd: () => undefined, connectMs };
  const session = await openSmtpSession(options, new AbortController().signal);
  onTestFinished(async () => session.close());
  return session.peer;
};

const failure = (opening: Promise<unknown>): Promise<unknown> => opening.catch((error: unknown) => error);

describe('a session is opened', () => {
  it('to the given address, by its name', async () => {
    const { port } = await listen();
    expect(await open(port)).toEqual({
      mx: 'mx.b.test',
      address: '127.0.0.1',
      tls: 'TLSv1.3',
      policy: 'opportunistic',
      cipher: expect.stringMatching(/^TLS_/),
    });
  });

  it('from the given address', async () => {
    const { port, clients } = await listen();
    await open(port, { localAddress: '127.0.0.9' });
    expect(clients).toEqual(['127.0.0.9']);
  });

  it('in plaintext if TLS must be avoided', async () => {
    const { port } = await listen();
    const tls = { required: false, check: 'none', avoided: true } as const;
    expect(await open(port, { tls })).toMatchObject({ tls: null, cipher: null, policy: 'opportunistic' });
  });

  it('under the given policy', async () => {
    const { port } = await listen();
    const tls = { required: true, check: 'none', policy: 'mta-sts' } as const;
    expect(await open(port, { tls })).toMatchObject({ tls: 'TLSv1.3', policy: 'mta-sts' });
    expect(await open(port, { tls: { required: true, check: 'none' } })).toMatchObject({ policy: 'required' });
  });
});

describe('a certificate', () => {
  const credentials = { user: 'me', pass: 'secret' };

  it.each([false, true])(
    'that no authority signed is refused if it must be valid (TLS at once: %s)',
    async (implicitTls) => {
      const { port, logins } = await listen({ secure: implicitTls });
      const failed = await failure(open(port, { implicitTls, credentials, tls: { required: true, check: 'ca' } }));
      expect(failed).toBeInstanceOf(SmtpConnectFailed);
      expect(failed).toMatchObject({ reply: { code: 0, text: expect.stringContaining('certificate') } });
      expect(logins).toEqual([]);
    },
  );

  it.each([false, true])(
    'is judged by the caller before credentials are given (TLS at once: %s)',
    async (implicitTls) => {
      const { port, logins } = await listen({ secure: implicitTls });
      const seen: string[] = [];
      const check = (socket: TLSSocket): Error | undefined => {
        seen.push(socket.getPeerX509Certificate()?.fingerprint256 ?? '');
        return seen.length > 1 ? new Error('not the one that was published') : undefined;
      };
      const parts = { implicitTls, credentials, tls: { required: true, check, policy: 'dane' } } as const;
      expect(await open(port, parts)).toMatchObject({ tls: 'TLSv1.3', policy: 'dane' });
      expect(await failure(open(port, parts))).toMatchObject({
        reply: { code: 0, enhanced: '4.7.5', text: 'not the one that was published' },
        peer: { mx: 'mx.b.test', policy: 'dane' },
        isTlsBroken: false,
      });
      expect([logins, seen[0]]).toEqual([['me'], expect.stringMatching(/^[0-9A-F:]{95}$/)]);
    },
  );
});

describe('a session that cannot be opened', () => {
  it('because nothing listens names the address', async () => {
    const failed = await failure(open(1));
    expect(failed).toMatchObject({ reply: { code: 0 }, peer: { address: '127.0.0.1', tls: null }, isTlsBroken: false });
  });

  it('because TLS is offered and broken says so', async () => {
    const { port } = await listen({ minVersion: 'TLSv1.3', maxVersion: 'TLSv1.2' } as SMTPServerOptions);
    expect(await failure(open(port))).toMatchObject({ reply: { code: 0, enhanced: null }, isTlsBroken: true });
    const failed = await failure(open(port, { tls: { required: true, check: 'none' } }));
    expect(failed).toMatchObject({ reply: { code: 0, enhanced: '4.7.5' }, tlsFault: 'failed' });
  });

  it('because TLS is required and not offered reports that', async () => {
    const { port } = await listen({ disabledCommands: ['STARTTLS'] });
    const failed = await failure(open(port, { tls: { required: true, check: 'none' } }));
    expect(failed).toMatchObject({ reply: { code: 0, enhanced: '4.7.10' }, isTlsBroken: false, tlsFault: 'absent' });
  });
});
