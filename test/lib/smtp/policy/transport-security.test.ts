import { hash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMtaSts, type StsPolicy } from '../../../../src/lib/smtp/policy/mta-sts.ts';
import { createTransportSecurity } from '../../../../src/lib/smtp/policy/transport-security.ts';
import { createMailWorld, type MailWorld, send, system } from '../../../adapters/mail/mx/mail-world.ts';
import { type IssuedCertificate, issueCertificate } from '../../../support/certificates.ts';
import type { NameData } from '../../../support/dns-zone.ts';
import { silentLogger } from '../../../support/logger.ts';

const ONE = '127.0.0.11';
const TWO = '127.0.0.12';

const authority = issueCertificate({ subject: 'Authority' });
const right = issueCertificate({ names: ['one.b.test'], issuer: authority });
const forAnother = issueCertificate({ names: ['other.test'], issuer: authority });
const unsigned = issueCertificate({ names: ['one.b.test'] });

const as = ({ certificate, key }: IssuedCertificate) => ({ cert: certificate, key });
const IN_CLEAR = { disabledCommands: ['STARTTLS'] };

let world: MailWorld;
beforeEach(async () => {
  world = await createMailWorld();
});
afterEach(() => world.close());

/** Publishes one or more servers of `b.test`. */
const publish = (more: Readonly<Record<string, NameData>> = {}, data: NameData = {}): void =>
  world.dns.change({
    'b.test': { MX: [[10, 'one.b.test']], ...data },
    'one.b.test': { A: [ONE], ...data },
    'two.b.test': { A: [TWO], ...data },
    ...more,
  });

const lines: object[] = [];
const logger = {
  ...silentLogger,
  info: (fields: object, sentence: string) => void lines.push({ ...fields, sentence }),
};

const transportUnder = (policyOf: () => Promise<StsPolicy | null>) => {
  const { resolver, port } = world;
  const security = createTransportSecurity({ resolver, mtaSts: { policyOf }, system, logger, port });
  return world.transport({ security, tls: { ca: authority.certificate } });
};

const policy = (mode: StsPolicy['mode'], mx: readonly string[] = ['one.b.test']) =>
  transportUnder(async () => ({ mode, mx, maxAgeSeconds: 86_400 }));

describe('a domain that enforces MTA-STS', () => {
  it('gets its mail from the server that it names, with a certificate for that name', async () => {
    publish();
    const { taken } = await world.startServer(ONE, as(right));
    expect(await send(policy('enforce'))).toMatchObject([
      { outcome: 'delivered', mx: 'one.b.test', tls: 'TLSv1.3', policy: 'mta-sts' },
    ]);
    expect(taken).toMatchObject([{ secure: true }]);
  });

  it.each([
    ['whose certificate is for another name', as(forAnother), '4.7.5', /altnames/],
    ['with a self-signed certificate', as(unsigned), '4.7.5', /self-signed/],
    ['without TLS', IN_CLEAR, '4.7.10', /^the server offers no TLS, and the MTA-STS policy of its domain requires it$/],
  ])('gets none by a server %s, and none in clear', async (_, options, enhanced, text) => {
    publish();
    const { taken } = await world.startServer(ONE, options);
    const finding = { code: 0, enhanced, text: expect.stringMatching(text), stage: 'session', address: ONE };
    expect(await send(policy('enforce'))).toMatchObject([
      { outcome: 'deferred', policy: 'mta-sts', tls: null, destination: '@b.test', ...finding },
    ]);
    expect(taken).toEqual([]);
  });

  it('has the outcome that its server offers no TLS, at each try, although its next server is down', async () => {
    publish({
      'b.test': {
        MX: [
          [1, 'one.b.test'],
          [2, 'two.b.test'],
        ],
      },
    });
    const server = await world.startServer(ONE, IN_CLEAR);
    const transport = policy('enforce', ['*.b.test']);
    for (const tries of [1, 2]) {
      expect(await send(transport)).toMatchObject([{ outcome: 'deferred', mx: 'one.b.test', enhanced: '4.7.10' }]);
      expect(server.connections()).toBe(tries);
    }
  });

  it('gets none from a server that it does not name', async () => {
    publish();
    const { connections } = await world.startServer(ONE, as(right));
    expect(await send(policy('enforce', ['two.b.test', '*.one.b.test']))).toMatchObject([
      { outcome: 'deferred', text: "the domain's MTA-STS policy does not name one.b.test as one of its mail servers" },
    ]);
    expect(connections()).toBe(0);
  });

  it('gets it from the next server if the first is not named', async () => {
    publish({
      'b.test': {
        MX: [
          [1, 'two.b.test'],
          [2, 'one.b.test'],
        ],
      },
    });
    await world.startServer(ONE, as(right));
    const other = await world.startServer(TWO);
    expect(await send(policy('enforce'))).toMatchObject([{ outcome: 'delivered', mx: 'one.b.test' }]);
    expect(other.connections()).toBe(0);
  });

  it('does not share the sessions of one that does not', async () => {
    publish({ 'c.test': { MX: [[10, 'one.b.test']] } });
    const { taken } = await world.startServer(ONE, as(unsigned));
    let mode: 'enforce' | 'none' = 'none';
    const transport = transportUnder(async () => ({ mode, mx: ['one.b.test'], maxAgeSeconds: 86_400 }));
    expect(await send(transport, { envelopeTo: ['x@c.test'] })).toMatchObject([{ outcome: 'delivered' }]);
    mode = 'enforce';
    expect(await send(transport)).toMatchObject([{ outcome: 'deferred' }]);
    expect(taken).toHaveLength(1);
  });
});

describe('a domain with MTA-STS', () => {
  it('in mode testing gets its mail, and problems are logged', async () => {
    publish();
    await world.startServer(ONE, as(forAnother));
    lines.length = 0;
    expect(await send(policy('testing'))).toMatchObject([{ outcome: 'delivered', policy: 'opportunistic' }]);
    expect(await send(policy('testing', ['two.b.test']))).toMatchObject([{ outcome: 'delivered' }]);
    const sentence = 'an MTA-STS policy in testing mode was not met';
    expect(lines).toEqual([
      { domain: 'b.test', mx: 'one.b.test', reason: 'ERR_TLS_CERT_ALTNAME_INVALID', sentence },
      { domain: 'b.test', mx: 'one.b.test', reason: 'a host that the policy does not name', sentence },
    ]);
  });

  it('of mode none is treated as without a policy', async () => {
    publish();
    await world.startServer(ONE, IN_CLEAR);
    expect(await send(policy('none'))).toMatchObject([{ outcome: 'delivered', tls: null, policy: 'opportunistic' }]);
  });

  it('is found by its record and its policy', async () => {
    const host = issueCertificate({ names: ['mta-sts.b.test'], issuer: authority });
    const https = createServer(as(host), (_, response) =>
      response
        .setHeader('content-type', 'text/plain')
        .end('version: STSv1\nmode: enforce\nmx: one.b.test\nmax_age: 86400\n'),
    );
    await once(https.listen(0, '127.0.0.1'), 'listening');
    publish({ '_mta-sts.b.test': { TXT: ['v=STSv1; id=1;'] } });
    const { resolver } = world;
    const mtaSts = createMtaSts({
      resolver,
      system,
      fetch: {
        lookup: (_host, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
        port: (https.address() as AddressInfo).port,
        ca: authority.certificate,
      },
    });
    const { taken } = await world.startServer(ONE, as(unsigned));
    const transport = transportUnder(() => mtaSts.policyOf('b.test'));
    expect(await send(transport)).toMatchObject([{ outcome: 'deferred', policy: 'mta-sts' }]);
    expect(taken).toEqual([]);
    await mtaSts.close();
    https.closeAllConnections();
    https.close();
  });
});

const keyHash = ({ certificate }: IssuedCertificate): string =>
  hash('sha256', new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' }), 'hex');

describe('a domain with DANE', () => {
  const SIGNED = { authenticated: true };
  const withTlsa = (issued: IssuedCertificate, data: NameData = SIGNED): void =>
    publish({ [`_${world.port}._tcp.one.b.test`]: { TLSA: [`3 1 1 ${keyHash(issued)}`], ...data } }, data);
  const alone = () => transportUnder(async () => null);

  it('gets its mail through the server whose key it names, whichever authority signed it', async () => {
    withTlsa(unsigned);
    const { taken } = await world.startServer(ONE, as(unsigned));
    expect(await send(alone())).toMatchObject([{ outcome: 'delivered', tls: 'TLSv1.3', policy: 'dane' }]);
    expect(taken).toMatchObject([{ secure: true }]);
  });

  it.each([
    ['with another key', as(right)],
    ['without TLS', IN_CLEAR],
  ])('gets none by a server %s, and none in clear', async (_, options) => {
    withTlsa(unsigned);
    const { taken } = await world.startServer(ONE, options);
    expect(await send(alone())).toMatchObject([{ outcome: 'deferred', policy: 'dane' }]);
    expect(taken).toEqual([]);
  });

  it('is not helped by meeting an MTA-STS policy if DANE fails, nor bound by one if DANE is met', async () => {
    withTlsa(unsigned);
    const { taken } = await world.startServer(ONE, as(right));
    expect(await send(policy('enforce'))).toMatchObject([{ outcome: 'deferred', policy: 'dane' }]);
    expect(taken).toEqual([]);
    world.dns.change({ 'c.test': { MX: [[10, 'two.b.test']], ...SIGNED } });
    world.dns.change({ [`_${world.port}._tcp.two.b.test`]: { TLSA: [`3 1 1 ${keyHash(unsigned)}`], ...SIGNED } });
    await world.startServer(TWO, as(unsigned));
    const outcomes = await send(policy('enforce', ['two.b.test']), { envelopeTo: ['x@c.test'] });
    expect(outcomes).toMatchObject([{ outcome: 'delivered', policy: 'dane' }]);
  });

  it('without authenticated records is treated as without DANE', async () => {
    withTlsa(unsigned, {});
    await world.startServer(ONE, as(right));
    expect(await send(alone())).toMatchObject([{ outcome: 'delivered', policy: 'opportunistic' }]);
  });

  it('whose records cannot be looked up waits', async () => {
    withTlsa(unsigned, { ...SIGNED });
    world.dns.change({ [`_${world.port}._tcp.one.b.test`]: { wrong: 'SERVFAIL' } });
    const { connections } = await world.startServer(ONE, as(unsigned));
    expect(await send(alone())).toMatchObject([
      {
        outcome: 'deferred',
        text: expect.stringMatching(/^it is not known whether one\.b\.test has to prove who it is/),
      },
    ]);
    expect(connections()).toBe(0);
  });
});
