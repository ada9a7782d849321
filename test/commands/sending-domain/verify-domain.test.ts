import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sendingDomainStream } from '../../../src/domain/kernel/streams.ts';
import { lifeOf } from '../../../src/domain/sending-domain/sending-domain.ts';
import type { NameData } from '../../support/dns-zone.ts';
import { BOUNCE_DOMAIN, openZoneWorld, recordOf, seenOf, type ZoneWorld, zoneOf } from './zone-world.ts';

const HOUR_MS = 3_600_000;

let world: ZoneWorld;
let made = 0;
beforeEach(async () => {
  world = await openZoneWorld();
});
afterEach(() => world.close());

const pendingDomain = () => {
  made += 1;
  return world.register('org_a', `mail${made}.example.test`);
};
const verifiedDomain = async () => {
  const domain = await pendingDomain();
  world.server.change(zoneOf(domain));
  return (await world.verify(domain)).domain;
};
const typesOf = async (domainId: string): Promise<readonly string[]> =>
  (await world.context.store.readStream(sendingDomainStream(domainId))).map(({ type }) => type);

describe('verifying a domain by its DNS', () => {
  test('succeeds when all records are published, and says so for each', async () => {
    const pending = await pendingDomain();
    world.server.change(zoneOf(pending));
    const { domain, records } = await world.verify(pending);
    expect(lifeOf(domain, false)).toBe('verified');
    expect(records.records.map(({ kind, state, problem }) => ({ kind, state, problem }))).toEqual(
      ['ownership', 'dkim', 'dkim', 'return_path', 'tracking', 'spf', 'dmarc'].map((kind) => ({
        kind,
        state: 'valid',
        problem: null,
      })),
    );
    expect(records).toMatchObject({ spf: 'valid', dkim: 'valid', dmarc: 'valid' });
    expect(await typesOf(domain.domainId)).toEqual(['DomainRegistered', 'DomainVerified', 'DkimKeysActivated']);
    expect(domain.dkim.active?.signing).toHaveLength(2);
  });

  test('needs only the proof of ownership and the RSA key', async () => {
    const pending = await pendingDomain();
    const [ownership, dkim] = [recordOf(pending, 'ownership'), recordOf(pending, 'dkim')];
    world.server.change({ [pending.name]: {}, [ownership.host]: { TXT: [ownership.value] } });
    expect(lifeOf((await world.verify(pending)).domain, false)).toBe('pending');
    world.server.change({ [dkim.host]: { TXT: [dkim.value] } });
    const { domain } = await world.verify(pending);
    expect(lifeOf(domain, false)).toBe('verified');
    expect(domain.dkim.active?.signing).toEqual([dkim.key?.selector]);
  });

  test('bypasses the DNS cache', async () => {
    const pending = await pendingDomain();
    world.server.change({ [pending.name]: {} });
    await world.verify(pending);
    world.server.change(zoneOf(pending));
    expect(lifeOf((await world.verify(pending)).domain, false)).toBe('verified');
  });

  test('finds a DMARC policy of a parent domain', async () => {
    const pending = await pendingDomain();
    const zone = { ...zoneOf(pending) };
    delete zone[`_dmarc.${pending.name}`];
    world.server.change({ ...zone, '_dmarc.example.test': { TXT: ['v=DMARC1; p=reject'] } });
    expect((await world.verify(pending)).records.dmarc).toBe('valid');
  });

  test('reports that a name does not exist', async () => {
    const pending = await pendingDomain();
    const checked = await world.verify(pending);
    for (const kind of ['ownership', 'dkim', 'spf'] as const) {
      expect(seenOf(checked, recordOf(pending, kind))).toMatchObject({
        state: 'missing',
        problem: expect.stringContaining('does not exist in the DNS (NXDOMAIN)'),
      });
    }
  });
});

describe('a wrong record in real DNS', () => {
  const cases: readonly [string, (host: string, value: string, name: string) => Record<string, NameData>, RegExp][] = [
    [
      'split into records',
      (host, value) => ({ [host]: { TXT: [value.slice(0, 200), value.slice(200)] } }),
      /split into 2/,
    ],
    ['in quotes', (host, value) => ({ [host]: { TXT: [`"${value}"`] } }), /quotes or backslashes/],
    ['beside another', (host, value) => ({ [host]: { TXT: [value, 'v=DKIM1; p=AAAA'] } }), /2 records/],
    ['revoked', (host) => ({ [host]: { TXT: ['v=DKIM1; p='] } }), /revokes the key/],
    [
      'doubled',
      (host, value, name) => ({ [`${host}.${name}`]: { TXT: [value] } }),
      /automatically: enter ob-r-\w{6}\._domainkey as/,
    ],
    [
      'doubled by the zone',
      (host, value) => ({ [`${host}.example.test`]: { TXT: [value] } }),
      /appends example\.test automatically/,
    ],
    [
      'behind a CNAME',
      (host) => ({ [host]: { CNAME: 'parked.test' }, 'parked.test': { A: ['192.0.2.1'] } }),
      /leads to parked\.test/,
    ],
    [
      'a wildcard',
      (host, _value, name) => ({ [host]: { TXT: ['any'] }, [`_outbox-nobody._domainkey.${name}`]: { TXT: ['any'] } }),
      /wildcard/,
    ],
  ];
  test.each(cases)('is reported: %s', async (_what, zone, problem) => {
    const pending = await pendingDomain();
    const { host, value } = recordOf(pending, 'dkim');
    const { [host]: _, ...others } = zoneOf(pending);
    world.server.change({ ...others, ...zone(host, value, pending.name) });
    const checked = await world.verify(pending);
    expect(lifeOf(checked.domain, false)).toBe('pending');
    expect(seenOf(checked, recordOf(pending, 'dkim')).problem).toMatch(problem);
    expect(checked.records.records.filter(({ state }) => state !== 'valid')).toHaveLength(1);
  });

  test('of a return path that points elsewhere is reported but does not prevent verification', async () => {
    const pending = await pendingDomain();
    world.server.change({ ...zoneOf(pending), [`bounces.${pending.name}`]: { CNAME: 'elsewhere.test' } });
    const checked = await world.verify(pending);
    expect(lifeOf(checked.domain, false)).toBe('verified');
    expect(seenOf(checked, recordOf(pending, 'return_path'))).toMatchObject({
      state: 'invalid',
      seen: ['elsewhere.test'],
      problem: expect.stringContaining(`should be a CNAME to ${BOUNCE_DOMAIN}`),
    });
  });
});

describe('the SPF record', () => {
  const look = async (zone: Record<string, NameData>, text?: string) => {
    const pending = await pendingDomain();
    const { host, value } = recordOf(pending, 'spf');
    world.server.change({ ...zoneOf(pending), ...zone, [host]: { TXT: [text ?? value] } });
    const checked = await world.verify(pending);
    expect(lifeOf(checked.domain, false)).toBe('verified');
    return { seen: seenOf(checked, recordOf(pending, 'spf')), records: checked.records };
  };

  test('is incomplete while the included name has no record, which only the operator can fix', async () => {
    const { seen, records } = await look({ [BOUNCE_DOMAIN]: { MX: [[10, 'mx.service.test']] } });
    expect(seen).toMatchObject({
      state: 'include_broken',
      problem: expect.stringContaining('the operator of this service'),
    });
    expect(records.spf).toBe('include_broken');
  });

  test('may include the service indirectly, within the limit of look-ups that receivers apply', async () => {
    const chain = Array.from({ length: 30 }, (_, at) => [
      `n${at}.test`,
      { TXT: [`v=spf1 include:n${at + 1}.test -all`] },
    ]);
    const through = { 'n2.test': { TXT: [`v=spf1 include:${BOUNCE_DOMAIN} -all`] } };
    const zone = { ...Object.fromEntries(chain), ...through };
    expect((await look(zone, 'v=spf1 include:n0.test -all')).seen).toMatchObject({ state: 'valid' });
    expect((await look(zone, 'v=spf1 include:n10.test -all')).seen).toMatchObject({
      state: 'invalid',
      problem: expect.stringContaining('more than the 10 DNS look-ups'),
    });
    expect(world.server.asked.filter(({ name }) => name === 'n19.test')).toHaveLength(1);
    expect(world.server.asked.filter(({ name }) => name === 'n20.test')).toHaveLength(0);
  });

  test('is invalid if it only forbids, and unknown if an included name does not answer', async () => {
    expect((await look({}, 'v=spf1 -all')).seen).toMatchObject({ state: 'invalid' });
    const silent = await look({ [BOUNCE_DOMAIN]: { wrong: 'SERVFAIL' } });
    expect(silent.seen).toMatchObject({ state: 'unknown' });
  });
});

describe('a DNS that does not answer', () => {
  test.each(['silence', 'SERVFAIL', 'REFUSED', 'garbage'] as const)('changes nothing: %s', async (wrong) => {
    const domain = await verifiedDomain();
    const broken = Object.fromEntries(Object.entries(zoneOf(domain)).map(([host, data]) => [host, { ...data, wrong }]));
    world.server.change(broken);
    const { domain: after, records } = await world.verify(domain);
    expect(lifeOf(after, false)).toBe('verified');
    expect(new Set(records.records.map(({ state }) => state))).toEqual(new Set(['unknown']));
    expect(await typesOf(domain.domainId)).toHaveLength(3);
  });
});

describe('a verified domain whose record disappears', () => {
  test('is degraded, fails after three days, and can be verified again', async () => {
    const domain = await verifiedDomain();
    const { host } = recordOf(domain, 'ownership');
    world.server.change({ [host]: null });
    const degraded = await world.checkWhenDue(domain);
    expect([lifeOf(degraded, false), degraded.trouble]).toMatchObject(['degraded', { status: 'degraded' }]);
    world.system.shift(71 * HOUR_MS);
    expect(lifeOf(await world.checkWhenDue(domain), false)).toBe('degraded');
    world.system.shift(2 * HOUR_MS);
    expect(lifeOf(await world.checkWhenDue(domain), false)).toBe('failed');
    world.server.change(zoneOf(domain));
    expect(lifeOf(await world.checkWhenDue(domain), false)).toBe('verified');
    expect((await typesOf(domain.domainId)).slice(3)).toEqual(['DomainDegraded', 'DomainFailed', 'DomainVerified']);
  });

  test('is checked again and again without an event while nothing changes', async () => {
    const domain = await verifiedDomain();
    const head = await world.context.store.head();
    for (let times = 0; times < 3; times += 1) await world.checkWhenDue(domain);
    expect(await world.context.store.head()).toBe(head);
  });
});
