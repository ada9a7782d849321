import { describe, expect, test } from 'vitest';
import { createAuthenticator } from '../../../src/adapters/inbound/authenticate.ts';
import { ResolverUnavailable } from '../../../src/lib/smtp/smtp.ts';
import { createInMemoryResolver, type InMemoryRecords } from '../../support/in-memory/dns.ts';
import { silentLogger } from '../../support/logger.ts';

const RECORDS: Readonly<Record<string, string>> = {
  'example.net': 'v=spf1 ip4:192.0.2.1 -all',
  '_dmarc.example.net': 'v=DMARC1; p=reject',
};
const MAIL = 'From: ann@example.net\r\nSubject: a\r\n\r\nHello\r\n';
const CLIENT = { address: '192.0.2.1', helo: 'mx.example.net' };

const authenticate = (records: InMemoryRecords, raw: string, address = CLIENT.address) =>
  createAuthenticator({ resolver: createInMemoryResolver(records), logger: silentLogger })(Buffer.from(raw), {
    from: 'ann@example.net',
    client: { ...CLIENT, address },
  });

const published: InMemoryRecords = { txt: (host) => [RECORDS[host] ?? []].flat() };

describe('an inbound mail', () => {
  test('passes SPF and DMARC from a host of its domain', async () => {
    const { verdicts } = await authenticate(published, MAIL);
    expect(verdicts).toEqual({ spf: 'pass', dkim: 'none', dmarc: 'pass', arc: 'none' });
  });

  test('fails them from another host, and the policy of its domain is known', async () => {
    expect(await authenticate(published, MAIL, '203.0.113.9')).toMatchObject({
      verdicts: { spf: 'fail', dmarc: 'fail' },
      dmarcPolicy: 'reject',
    });
  });

  test('that did not come by SMTP is not checked by SPF, and cannot pass DMARC by it', async () => {
    const txt = (host: string) => [RECORDS[host]?.replace('ip4:192.0.2.1 -all', '+all') ?? []].flat();
    const check = createAuthenticator({ resolver: createInMemoryResolver({ txt }), logger: silentLogger });
    const { verdicts } = await check(Buffer.from(MAIL), { from: 'ann@example.net', client: null });
    expect(verdicts).toEqual({ spf: 'none', dkim: 'none', dmarc: 'fail', arc: 'none' });
  });

  test('is temperror while the DNS does not answer', async () => {
    const txt = (): never => {
      throw new ResolverUnavailable('no answer');
    };
    expect((await authenticate({ txt }, MAIL)).verdicts).toMatchObject({ spf: 'temperror', dmarc: 'temperror' });
  });

  test('with a broken signature fails DKIM', async () => {
    const signature =
      'DKIM-Signature: v=1; a=rsa-sha256; d=example.net; s=a; c=relaxed/relaxed; h=from; bh=AAAA; b=AAAA\r\n';
    expect((await authenticate(published, signature + MAIL)).verdicts.dkim).not.toBe('pass');
  });

  test.each([
    ['too many signatures', 'DKIM-Signature: v=1\r\n'.repeat(11) + MAIL],
    ['a header without an end', `X-A: ${'a'.repeat(300_000)}`],
  ])('with %s is not checked', async (_name, raw) => {
    let asked = 0;
    const txt = (): readonly string[] => {
      asked += 1;
      return [];
    };
    expect((await authenticate({ txt }, raw)).verdicts.dkim).toBe('permerror');
    expect(asked).toBe(0);
  });
});
