import { describe, expect, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { ResolverUnavailable } from '../../../../src/lib/smtp/dns/resolver.ts';
import { createStubResolver } from '../../../../src/lib/smtp/dns/stub-resolver.ts';
import { daneOf } from '../../../../src/lib/smtp/policy/dane.ts';
import type { Zone } from '../../../support/dns-zone.ts';
import { createInMemoryResolver } from '../../../support/in-memory/dns.ts';
import { startNameServer } from '../../../support/name-server.ts';

const DIGEST = 'ab'.repeat(32);
const signed = { authenticated: true } as const;
const record = { usage: 3, selector: 1, matchingType: 1, data: DIGEST };

const asking = async (zone: Zone, host = 'mx.test') => {
  const server = await startNameServer(zone);
  const resolver = createStubResolver({ system: createSystem(), servers: [server], timeoutMs: 250 });
  try {
    return { dane: await daneOf(resolver, host, 25), asked: server.asked.map(({ type, name }) => `${type} ${name}`) };
  } finally {
    await resolver.close();
    await server.close();
  }
};

describe('a mail host', () => {
  test('with authenticated addresses and TLSA records must match them', async () => {
    const { dane } = await asking({
      'mx.test': { A: ['192.0.2.1'], ...signed },
      '_25._tcp.mx.test': { TLSA: [`3 1 1 ${DIGEST}`, `1 1 1 ${DIGEST}`, '3 1 1 abcd', '3 1 9 abcd'], ...signed },
    });
    expect(dane).toEqual({ kind: 'required', records: [record], baseName: 'mx.test' });
  });

  test('without usable records is only required to use TLS', async () => {
    const { dane } = await asking({
      'mx.test': { A: ['192.0.2.1'], ...signed },
      '_25._tcp.mx.test': { TLSA: [`0 0 1 ${DIGEST}`], ...signed },
    });
    expect(dane).toEqual({ kind: 'required', records: [], baseName: 'mx.test' });
  });

  test.each<[string, Zone]>([
    ['its records are not authenticated', { '_25._tcp.mx.test': { TLSA: [`3 1 1 ${DIGEST}`] } }],
    ['it has none', { '_25._tcp.mx.test': signed }],
    ['their name does not exist', {}],
  ])('has no requirements if %s', async (_, zone) => {
    const { dane } = await asking({ 'mx.test': { A: ['192.0.2.1'], ...signed }, ...zone });
    expect(dane).toEqual({ kind: 'none' });
  });

  test('whose addresses are not authenticated is not queried for TLSA', async () => {
    const { dane, asked } = await asking({
      'mx.test': { A: ['192.0.2.1'] },
      '_25._tcp.mx.test': { wrong: 'SERVFAIL' },
    });
    expect(dane).toEqual({ kind: 'none' });
    expect(asked.filter((each) => each.startsWith('TLSA'))).toEqual([]);
  });

  test.each(['SERVFAIL', 'silence'] as const)('is unknown if the query for records fails: %s', async (wrong) => {
    const zone = { 'mx.test': { A: ['192.0.2.1'], ...signed }, '_25._tcp.mx.test': { wrong } };
    await expect(asking(zone)).rejects.toThrow(ResolverUnavailable);
  });

  test('that is an alias is looked up at its end, then under its own name', async () => {
    const alias = {
      'mx.test': { CNAME: 'real.test', ...signed },
      'real.test': { A: ['192.0.2.1'], ...signed },
    };
    const tlsa = { TLSA: [`3 1 1 ${DIGEST}`], ...signed };
    const both = await asking({ ...alias, '_25._tcp.real.test': tlsa, '_25._tcp.mx.test': { wrong: 'SERVFAIL' } });
    expect(both.dane).toMatchObject({ kind: 'required', baseName: 'real.test' });
    const own = await asking({ ...alias, '_25._tcp.mx.test': tlsa });
    expect(own.dane).toMatchObject({ kind: 'required', baseName: 'mx.test' });
  });

  test('may have its records under an alias', async () => {
    const { dane } = await asking({
      'mx.test': { AAAA: ['2001:db8::1'], ...signed },
      '_25._tcp.mx.test': { CNAME: '_dane.test', ...signed },
      '_dane.test': { TLSA: [`3 1 1 ${DIGEST}`], ...signed },
    });
    expect(dane).toMatchObject({ kind: 'required', records: [record] });
  });

  test('has no requirements from a resolver that does not validate', async () => {
    const resolver = createInMemoryResolver({
      addresses: () => [{ address: '192.0.2.1', family: 4 }],
      tlsa: () => [record],
    });
    expect(await daneOf(resolver, 'mx.test', 25)).toEqual({ kind: 'none' });
  });
});
