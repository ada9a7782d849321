import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { createPublicLookup } from '../../../../src/adapters/webhook-target/guarded-lookup.ts';
import { createStubResolver } from '../../../../src/lib/smtp/dns/stub-resolver.ts';
import { createMtaSts } from '../../../../src/lib/smtp/policy/mta-sts.ts';
import { type IssuedCertificate, issueCertificate } from '../../../support/certificates.ts';
import type { NameData, Zone } from '../../../support/dns-zone.ts';
import { startNameServer } from '../../../support/name-server.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const authority = issueCertificate({ subject: 'Authority' });
const own = issueCertificate({ names: ['mta-sts.example.test'], issuer: authority });

const text = (mode: string, maxAge = 604_800): string =>
  `version: STSv1\r\nmode: ${mode}\r\nmx: mx.example.test\r\nmax_age: ${maxAge}\r\n`;
const enforce = { mode: 'enforce', mx: ['mx.example.test'], maxAgeSeconds: 604_800 };
const record = (id: string, data: NameData = {}): Zone => ({
  '_mta-sts.example.test': { TXT: [`v=STSv1; id=${id};`], ...data },
});

type Serve = (response: ServerResponse, path: string) => void;
const plain =
  (body: string): Serve =>
  (response) =>
    response.setHeader('content-type', 'text/plain; charset=utf-8').end(body);

interface Options {
  readonly zone?: Zone;
  readonly serve?: Serve;
  readonly issued?: IssuedCertificate;
  readonly withLookup?: boolean;
}

/** A real policy host and a real name server. The clock of the cache can be advanced. */
const publishing = async ({ zone = record('1'), serve = plain(text('enforce')), ...options }: Options = {}) => {
  const { issued = own, withLookup = true } = options;
  const state = { serve, gets: 0, aheadMs: 0 };
  const server = createServer({ cert: issued.certificate, key: issued.key }, (request, response) => {
    state.gets += 1;
    state.serve(response, request.url ?? '');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const names = await startNameServer(zone);
  onTestFinished(names.close);
  const real = createSystem();
  const system = { ...real, monotonicMs: () => real.monotonicMs() + state.aheadMs };
  const resolver = createStubResolver({ system, servers: [names], timeoutMs: 250 });
  onTestFinished(resolver.close);
  const mtaSts = createMtaSts({
    resolver,
    system,
    fetch: {
      port: (server.address() as AddressInfo).port,
      ca: authority.certificate,
      timeoutMs: 500,
      lookup: withLookup
        ? (_host, { all }, found) =>
            all ? found(null, [{ address: '127.0.0.1', family: 4 }]) : found(null, '127.0.0.1', 4)
        : createPublicLookup(resolver),
    },
  });
  onTestFinished(mtaSts.close);
  return { state, names, mtaSts, policy: () => mtaSts.policyOf('Example.test') };
};

describe('the policy of a domain', () => {
  test('is fetched once, and cached', async () => {
    const { policy, state } = await publishing();
    expect(await Promise.all([policy(), policy(), policy()])).toEqual([enforce, enforce, enforce]);
    expect(await policy()).toEqual(enforce);
    expect(state.gets).toBe(1);
  });

  test('is not fetched without a record, or with several', async () => {
    const none = await publishing({ zone: {} });
    expect(await none.policy()).toBeNull();
    const two = await publishing({ zone: { '_mta-sts.example.test': { TXT: ['v=STSv1; id=1;', 'v=STSv1; id=2;'] } } });
    expect(await two.policy()).toBeNull();
    expect(none.state.gets + two.state.gets).toBe(0);
  });

  test.each<[string, Serve]>([
    ['a redirection', (response) => response.writeHead(301, { location: '/elsewhere' }).end()],
    ['not found', (response) => response.writeHead(404, { 'content-type': 'text/plain' }).end(text('enforce'))],
    ['html', (response) => response.setHeader('content-type', 'text/html').end(text('enforce'))],
    ['no type', (response) => response.end(text('enforce'))],
    ['no policy', plain('hello')],
    ['more than 64 kB', plain(`${text('enforce')}${'x: y\r\n'.repeat(20_000)}`)],
    ['10 MB', plain('x'.repeat(10_000_000))],
    ['a broken connection', (response) => response.destroy()],
    ['nothing', () => undefined],
    [
      'half a policy, and then nothing',
      (response) => response.setHeader('content-type', 'text/plain').write(text('enforce')),
    ],
  ])('is absent when its host answers with %s, and not requested again for 5 min', async (_, serve) => {
    const { policy, state } = await publishing({ serve });
    expect(await policy()).toBeNull();
    const { gets } = state;
    state.serve = plain(text('enforce'));
    expect(await policy()).toBeNull();
    expect(state.gets).toBe(gets);
    state.aheadMs += 5 * 60 * 1000 + 1;
    expect(await policy()).toEqual(enforce);
  });

  test('that could not be fetched is requested again as soon as the record has another id', async () => {
    const { policy, names, state } = await publishing({ serve: plain('no policy') });
    expect(await policy()).toBeNull();
    state.serve = plain(text('enforce'));
    names.change(record('2'));
    state.aheadMs += 61_000; // the first record is no longer cached
    expect(await policy()).toEqual(enforce);
  });

  test.each([
    ['signed by an unknown authority', issueCertificate({ names: ['mta-sts.example.test'] })],
    ['is for another name', issueCertificate({ names: ['example.test'], issuer: authority })],
    ['has ended', issueCertificate({ names: ['mta-sts.example.test'], issuer: authority, isExpired: true })],
  ])('is absent when its host presents a certificate that %s', async (_, issued) => {
    const { policy, state } = await publishing({ issued });
    expect(await policy()).toBeNull();
    expect(state.gets).toBe(0);
  });

  test('is not fetched from an address that is not public', async () => {
    const { policy, state } = await publishing({
      withLookup: false,
      zone: { ...record('1'), 'mta-sts.example.test': { A: ['127.0.0.1'] } },
    });
    expect(await policy()).toBeNull();
    expect(state.gets).toBe(0);
  });

  test.each(['', 'a/b', 'x@example.test', 'a b', 'localhost', 'x\r\ny.test', 'é.test', `${'a.'.repeat(200)}test`])(
    'is absent if it is invalid (%j)',
    async (domain) => {
      const { mtaSts, state } = await publishing();
      expect(await mtaSts.policyOf(domain)).toBeNull();
      expect(state.gets).toBe(0);
    },
  );
});

describe('a cached policy', () => {
  test('stays in force when the domain no longer has a record, or DNS fails', async () => {
    const { policy, names, state } = await publishing();
    await policy();
    names.change({ '_mta-sts.example.test': null });
    state.aheadMs += 2 * 60 * 60 * 1000;
    expect(await policy()).toEqual(enforce);
    names.change({ '_mta-sts.example.test': { wrong: 'SERVFAIL' } });
    state.aheadMs += 2 * 60 * 60 * 1000;
    expect(await policy()).toEqual(enforce);
    expect(state.gets).toBe(1);
  });

  test('stays in force until it expires when a new one cannot be fetched', async () => {
    const { policy, names, state } = await publishing();
    await policy();
    names.change(record('2'));
    state.serve = (response) => response.writeHead(500).end();
    state.aheadMs += 2 * 60 * 60 * 1000;
    expect(await policy()).toEqual(enforce);
    expect(state.gets).toBe(2);
    state.aheadMs += 7 * DAY_MS;
    expect(await policy()).toBeNull();
  });

  test('is replaced as soon as the record has another id', async () => {
    const { policy, names, state } = await publishing();
    await policy();
    state.serve = plain(text('none'));
    state.aheadMs += 2 * 60 * 60 * 1000;
    expect(await policy()).toEqual(enforce);
    names.change(record('2'));
    state.aheadMs += 2 * 60 * 60 * 1000;
    expect(await policy()).toMatchObject({ mode: 'none' });
  });

  test('is fetched again after a day, long before it expires', async () => {
    const { policy, state } = await publishing();
    await policy();
    state.aheadMs += DAY_MS + 1;
    expect(await policy()).toEqual(enforce);
    expect(state.gets).toBe(2);
  });

  test('is cached for a minute at least, so that it is not fetched for each message', async () => {
    const { policy, state } = await publishing({ serve: plain(text('enforce', 0)) });
    for (let count = 0; count < 10; count += 1) expect(await policy()).toMatchObject({ mode: 'enforce' });
    expect(state.gets).toBe(1);
  });
});

test('closing aborts fetches', async () => {
  const { policy, mtaSts, state } = await publishing({ serve: () => undefined });
  const asked = policy();
  while (state.gets < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  await mtaSts.close();
  expect(await asked).toBeNull();
});
