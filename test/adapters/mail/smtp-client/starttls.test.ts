import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSmtpSession, type SessionTarget, type SmtpConnectFailed } from '../../../../src/lib/smtp/smtp.ts';
import { certificateFor } from '../../../support/scripted-smtp-server/certificate.ts';
import { type Script, startScriptedServer } from '../../../support/scripted-smtp-server/scripted-server.ts';

const HOST = 'mx.b.test';
const certificate = certificateFor(HOST);
const opportunistic = { required: false, check: 'none' } as const;
const required = { required: true, check: 'none' } as const;
const offering = (first: string, second = '250-x\r\n250 PIPELINING'): Script => ({
  EHLO: (_, times) => (times === 0 ? first : second),
});
const OFFERED = offering('250-x\r\n250-STARTTLS\r\n250-SMTPUTF8\r\n250 DSN');

const start = async (script: Script, parts: Partial<SessionTarget> = {}) => {
  const server = await startScriptedServer(script, { certificate, strict: true });
  const target: SessionTarget = {
    host: HOST,
    address: '127.0.0.1',
    port: server.port,
    implicitTls: false,
    credentials: null,
    tls: opportunistic,
    ...parts,
  };
  onTestFinished(server.close);
  const open = async () => {
    const options = { target, ehloName: 'a.test', onEnd: () => undefined, connectMs: 400 };
    const session = await openSmtpSession({ ...options, tls: { ca: certificate.cert } }, new AbortController().signal);
    onTestFinished(async () => session.close());
    return session;
  };
  return {
    server,
    open,
    failed: () =>
      open().then(
        () => null,
        (error: SmtpConnectFailed) => error,
      ),
  };
};

describe('after STARTTLS', () => {
  it('the server is greeted again, and its plaintext offers are discarded', async () => {
    const { server, open } = await start(OFFERED);
    const session = await open();
    expect(session.peer).toMatchObject({ tls: 'TLSv1.3', policy: 'opportunistic' });
    expect(session.acceptsUtf8()).toBe(false);
    expect(server.lines).toEqual(['EHLO a.test', 'STARTTLS', 'EHLO a.test']);
    const message = { sizeBytes: 3, chunks: () => [Buffer.from('a\r\n')] };
    const envelope = { from: 'from@a.test', to: ['to@b.test'], messageId: '<1@a.test>' };
    await session.transmit(envelope, { message, mayFinish: () => true }, new AbortController().signal);
    expect(server.lines[3]).toBe('MAIL FROM:<from@a.test>');
  });

  it.each([
    ['a whole reply', '220 Go on\r\n250-evil\r\n250 SMTPUTF8'],
    ['the beginning of one', '220 Go on\r\n250-SMTPUTF8\r\n25'],
    ['a reply without its end', '220 Go on\r\n250-evil\r\n250-SMTPUTF8'],
    ['a refusal', '220 Go on\r\n554 5.7.1 Go away'],
  ])('%s that was injected in plaintext is ignored', async (_, STAR) => {
    const { server, open } = await start({ ...OFFERED, STAR: () => STAR });
    const session = await open();
    expect([session.acceptsUtf8(), session.peer.tls]).toEqual([false, 'TLSv1.3']);
    expect(server.lines).toEqual(['EHLO a.test', 'STARTTLS', 'EHLO a.test']);
  });

  it('HELO is used if EHLO fails', async () => {
    const { server, open } = await start(offering('250-x\r\n250 STARTTLS', '500 What?'));
    expect((await open()).peer.tls).toBe('TLSv1.3');
    expect(server.lines.slice(2)).toEqual(['EHLO a.test', 'HELO a.test']);
  });

  it('a certificate is checked against the name, not the address', async () => {
    const ca = { required: true, check: 'ca' } as const;
    const { open } = await start(OFFERED, { tls: ca });
    expect((await open()).peer).toMatchObject({ mx: HOST, policy: 'required' });
    const other = await start(OFFERED, { tls: ca, host: 'other.b.test' });
    expect(await other.failed()).toMatchObject({
      reply: { code: 0, enhanced: '4.7.5', text: expect.stringContaining('other.b.test') },
    });
  });
});

describe('TLS that fails', () => {
  const STRIPPED = offering('250-x\r\n250 SMTPUTF8');
  const REFUSED: Script = { ...OFFERED, STAR: () => '454 4.7.0 Not now' };
  const BROKEN: Script = { ...OFFERED, STAR: () => '502 5.5.1 What?' };

  it.each([
    ['stripped', STRIPPED],
    ['refused for now', REFUSED],
    ['offered and not known', BROKEN],
  ])('because it is %s: mail is sent in plaintext, and marked so', async (_, script) => {
    const { open } = await start(script);
    const session = await open();
    expect(session.peer).toMatchObject({ tls: null, cipher: null, policy: 'opportunistic' });
    expect(session.acceptsUtf8()).toBe(true);
  });

  it.each([
    ['stripped', { ...STRIPPED, STAR: () => '502 5.5.1 What?' }, 'offers no TLS'],
    ['not offered, and the server ends the connection', { ...STRIPPED, STAR: () => 'drop' }, 'offers no TLS'],
    ['refused for now', REFUSED, 'did not start TLS'],
    ['not known to a server without EHLO', { EHLO: () => '500 What?' }, 'offers no TLS'],
  ])('because it is %s: no mail is sent if TLS is required', async (_, script, finding) => {
    const { server, failed } = await start(script, { tls: required });
    expect(await failed()).toMatchObject({
      reply: { code: 0, enhanced: '4.7.10', text: expect.stringContaining(`the server ${finding}, and the settings`) },
      peer: { tls: null, policy: 'required' },
      tlsFault: 'absent',
    });
    expect(server.lines.some((line) => /^(?:MAIL|AUTH)/.test(line))).toBe(false);
  });

  it.each([
    ['454 4.7.0 No certificate', 'It replied: 454 4.7.0 No certificate'],
    ['drop', 'It ended the connection.'],
  ])('after it was offered is reported with the reply of the server (%s)', async (STAR, said) => {
    const dane = { required: true, check: () => undefined, policy: 'dane' } as const;
    const { failed } = await start({ ...OFFERED, STAR: () => STAR }, { tls: dane });
    const text = `the server did not start TLS, and the DNS of its domain requires it (DANE). ${said}`;
    expect((await failed())?.reply).toEqual({ code: 0, enhanced: '4.7.10', text });
  });

  it('because the server is closing is reported as that reply', async () => {
    const { failed } = await start({ ...OFFERED, STAR: () => '421 4.3.2 Closing' }, { tls: required });
    expect(await failed()).toMatchObject({ reply: { code: 421, enhanced: '4.3.2' }, isAboutTls: false });
  });

  it('if garbage follows STARTTLS the session is dropped, and if nothing does it times out', async () => {
    const { failed } = await start({ ...OFFERED, STAR: () => '220 Go on\r\n\0\0\xff garbage' });
    expect(await failed()).toBeNull(); // data from before the handshake is dropped
    const silent = await start({ ...OFFERED, STAR: () => 'silence' });
    expect(await silent.failed()).toMatchObject({ isTlsBroken: false, reply: { code: 0 } });
  });

  it('a server that ends the connection at the login is noticed at once', async () => {
    const credentials = { user: 'me', pass: 'secret' };
    const EHLO = (): string => '250-scripted\r\n250 AUTH PLAIN';
    const { failed } = await start({ EHLO, AUTH: () => 'drop' }, { credentials });
    expect((await failed())?.reply).toMatchObject({ code: 0, text: expect.stringMatching(/closed/i) });
  });

  it('credentials are not sent in plaintext if a server drops TLS', async () => {
    const credentials = { user: 'me', pass: 'secret' };
    const EHLO = (): string => '250-x\r\n250-STARTTLS\r\n250 AUTH PLAIN';
    const { server, failed } = await start({ EHLO, STAR: () => '454 4.7.0 Not now' }, { credentials });
    expect(await failed()).toMatchObject({ reply: { text: 'the server offers no authentication' } });
    expect(server.lines.some((line) => line.startsWith('AUTH'))).toBe(false);
  });
});

describe('setting up a session', () => {
  const credentials = { user: 'me', pass: 'secret' };
  const WITH_AUTH = (): string => '250-x\r\n250 AUTH PLAIN';

  it.each<[string, Script]>([
    ['a greeting of 100 kB', { connect: () => `220 ${'x'.repeat(100_000)}` }],
    ['an EHLO of 100 kB', { EHLO: () => `${'250-x\r\n'.repeat(15_000)}250 x` }],
    ['binary garbage', { connect: () => '\0\x01\xff\xfe\x80' }],
    ['a second greeting', { connect: () => '220 one\r\n220 two' }],
    ['a third line for EHLO', { EHLO: () => '250 x\r\n250 y\r\n250 z' }],
    ['a login that is refused', { EHLO: WITH_AUTH, AUTH: () => '535 5.7.8 Wrong' }],
    ['a login that is not answered', { EHLO: WITH_AUTH, AUTH: () => 'drop' }],
    ['a login that is asked on and on', { EHLO: WITH_AUTH, AUTH: () => '334 ' }],
  ])('%s ends it or is ignored, and nothing is left open', async (name, script) => {
    const wantsLogin = name.includes('login');
    const { server, open } = await start(script, wantsLogin ? { credentials } : {});
    const controller = new AbortController();
    const found = await Promise.race([
      open().then(
        (session) => session,
        () => null,
      ),
      sleep(3_000, null),
    ]);
    controller.abort();
    if (found !== null) {
      await sleep(50);
      const message = { sizeBytes: 3, chunks: () => [Buffer.from('a\r\n')] };
      const outgoing = { message, mayFinish: () => true };
      const { end } = await found.transmit({ from: 'a@a.test', to: ['to@b.test'] }, outgoing, controller.signal);
      expect(end.kind === 'accepted').toBe(server.copies.length === 1);
    }
    expect(server.copies.length).toBeLessThanOrEqual(1);
  });
});
