import { afterEach, describe, expect, test } from 'vitest';
import { ResolverUnavailable } from '../../../src/lib/smtp/smtp.ts';
import { createInMemoryResolver } from '../../support/in-memory/dns.ts';
import { createShiftableSystem } from '../../workers/shiftable-system.ts';
import { type Overrides, type Service, startService } from '../support/service.ts';

const DAY_MS = 86_400_000;

type DnsTexts = Readonly<Record<string, readonly string[]>>;

let service: Service;
afterEach(() => service.close());

/** A service whose DNS returns the records of `zone`, with an admin key and its own domain. */
const start = async (context: Overrides['context'] = {}) => {
  const zone: { now: DnsTexts | 'away' } = { now: {} };
  const system = createShiftableSystem();
  const txt = (host: string): readonly string[] => {
    if (zone.now === 'away') throw new ResolverUnavailable('away');
    return zone.now[host] ?? [];
  };
  service = await startService({
    context: { system, capturing: false, resolver: createInMemoryResolver({ txt }), ...context },
  });
  const organizationId = await service.makeOrganization();
  const { value: key } = await service.makeKey(
    organizationId,
    await service.makeDomain(organizationId, 'first.example.test'),
  );
  const call = async (method: 'GET' | 'POST', url: string, more: object = {}) => {
    const answer = await service.request({ method, url, key, ...more });
    return { status: answer.statusCode, body: answer.json(), etag: answer.headers.etag };
  };
  const register = async (name: unknown) => call('POST', '/v1/domains', { payload: { name } });
  return { zone, system, organizationId, key, call, register };
};

interface ShownRecord {
  readonly purpose: string;
  readonly name: string;
  readonly value: string;
  readonly required: boolean;
  readonly state: string;
}
const publishing = (records: readonly ShownRecord[]): DnsTexts =>
  Object.fromEntries(records.map(({ name, value }) => [name, [value]]));

describe('a domain that was registered', () => {
  test('lists the records to publish, which of them are required, and the time of the next check', async () => {
    const { register } = await start();
    const { status, body } = await register('mail.example.test');
    expect(status).toBe(201);
    expect(body).toMatchObject({ status: 'pending', verification: null, fails_at: null });
    expect(Date.parse(body.next_check_at) - Date.parse(body.created_at)).toBe(60_000);
    const shown = body.records.map(({ purpose, type, name, required, state }: ShownRecord & { type: string }) =>
      [purpose, type, name.replace(/-\w{6}\./, '-….'), required, state].join(' '),
    );
    expect(shown).toEqual([
      'ownership TXT _outbox.mail.example.test true unknown',
      'dkim TXT ob-r-…._domainkey.mail.example.test true unknown',
      'dkim TXT ob-e-…._domainkey.mail.example.test false unknown',
      'spf TXT mail.example.test false unknown',
      'dmarc TXT _dmarc.mail.example.test false unknown',
    ]);
    expect(body.records[1].value).toMatch(/^v=DKIM1; k=rsa; p=MIIB/);
    expect(body.records[1].advice).toMatch(/split it into strings: "v=DKIM1; .{239,}" ".+"/);
    expect(body.records[2].value).toMatch(/^v=DKIM1; k=ed25519; p=.{43}=$/);
    expect(body.dkim).toMatchObject([{ status: 'pending', signing: [], safe_to_remove_at: null, removable: false }]);
  });

  test('lists the return path if there is a bounce domain', async () => {
    const { register } = await start({ bounceDomain: 'bounce.service.test' });
    const { body } = await register('mail.example.test');
    expect(body.records).toContainEqual(
      expect.objectContaining({
        purpose: 'return_path',
        type: 'CNAME',
        required: false,
        name: 'bounces.mail.example.test',
        value: 'bounce.service.test',
      }),
    );
  });

  test.each([
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['Straße.example', 'xn--strae-oqa.example'],
    ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
    ['MAIL.Example.COM', 'mail.example.com'],
  ])('%s is stored and looked up as %s', async (written, name) => {
    const { register } = await start();
    const { status, body } = await register(written);
    expect([status, body.name]).toEqual([201, name]);
    for (const record of body.records) expect(record.name.endsWith(name)).toBe(true);
    expect((await register(name)).body.error.code).toBe('domain_already_exists');
  });

  test.each(['co.uk', 'CO.UK', '公司.cn', 'xn--55qx5d.cn'])(
    'is refused under a name where anyone can register names: %s',
    async (name) => {
      const { register } = await start();
      const { status, body } = await register(name);
      expect([status, body.error.code]).toEqual([422, 'domain_is_public_suffix']);
      expect(body.error.message).toMatch(/ is a public suffix: add a domain below it/);
      expect((await register(`example.${name}`)).status).toBe(201);
    },
  );

  test.each([
    ['a line break', 'a\r\n.example.com'],
    ['NUL', 'a\0.example.com'],
    ['a list', ['example.com']],
    ['a number', 5],
    ['an object', { toString: 'x' }],
    ['one label', 'localhost'],
    ['a dot at its end', 'example.com.'],
    ['an empty label', 'a..example.com'],
    ['an underscore', '_outbox.example.com'],
    ['an address', '192.0.2.1'],
    ['a wildcard', '*.example.com'],
    ['60 kB', 'a.'.repeat(30_000)],
    ['254 characters', `${'a'.repeat(50)}.`.repeat(4) + 'b'.repeat(50)],
  ])('is not %s', async (_what, name) => {
    const { register } = await start();
    expect((await register(name)).status).toBe(400);
  });
});

describe('verifying a domain', () => {
  test('reports the result for every record, and is `verified` once the required ones are valid', async () => {
    const { register, call, zone } = await start();
    const { body: pending } = await register('mail.example.test');
    const url = `/v1/domains/${pending.id}`;
    zone.now = { ...publishing(pending.records), [pending.records[1].name]: ['v=DKIM1; p='] };
    const { body: wrong } = await call('POST', `${url}/verify`);
    expect(wrong).toMatchObject({
      status: 'pending',
      authentication: { spf: 'valid', dkim: 'invalid', dmarc: 'valid' },
    });
    expect(wrong.records[1]).toMatchObject({
      state: 'invalid',
      status: 'pending',
      seen: ['v=DKIM1; p='],
      problem: 'The record is wrong: p= is empty, which revokes the key: publish the value again.',
    });
    zone.now = publishing(pending.records.filter(({ required }: ShownRecord) => required));
    const { body: verified } = await call('POST', `${url}/verify`);
    expect(verified).toMatchObject({ status: 'verified', verification: { method: 'dns' } });
    expect(verified.records.map(({ state }: ShownRecord) => state)).toEqual([
      'valid',
      'valid',
      'missing',
      'missing',
      'missing',
    ]);
    expect(verified.dkim).toMatchObject([{ status: 'active', signing: [expect.stringMatching(/^ob-r-/)] }]);
    expect((await call('GET', url)).body).toEqual(verified);
  });

  test('is answered, and changes nothing, if the DNS is unavailable', async () => {
    const { register, call, zone } = await start();
    const { body: pending } = await register('mail.example.test');
    zone.now = 'away';
    const { status, body } = await call('POST', `/v1/domains/${pending.id}/verify`);
    expect([status, body.status]).toEqual([200, 'pending']);
    expect(new Set(body.records.map(({ state }: ShownRecord) => state))).toEqual(new Set(['unknown']));
    expect(body.records[0].problem).toMatch(/could not be checked: it is checked again/);
  });
});

describe('a domain that lost a record', () => {
  test('sends until it fails, and then nothing until it is verified again', async () => {
    const { organizationId, register, call, zone, system } = await start();
    const { body: pending } = await register('mail.example.test');
    const url = `/v1/domains/${pending.id}`;
    zone.now = publishing(pending.records);
    await call('POST', `${url}/verify`);
    const { value: key } = await service.makeKey(organizationId, pending.id);
    const payload = { from: 'a@mail.example.test', to: 'b@example.org', subject: 'S', text: 'T' };
    const send = async () => {
      const answer = await service.request({ method: 'POST', url: '/v1/messages/send', key, payload });
      return [answer.statusCode, answer.json().error?.code];
    };
    zone.now = {};
    const { body: degraded } = await call('POST', `${url}/verify`);
    expect(degraded).toMatchObject({ status: 'degraded', verification: { method: 'dns' } });
    expect(Math.round((Date.parse(degraded.fails_at) - system.now().getTime()) / DAY_MS)).toBe(3);
    expect(await send()).toEqual([202, undefined]);
    system.shift(3 * DAY_MS);
    const { body: failed } = await call('POST', `${url}/verify`);
    expect(failed).toMatchObject({ status: 'failed', verification: null, fails_at: null });
    expect(await send()).toEqual([422, 'domain_not_verified']);
    zone.now = publishing(pending.records);
    expect((await call('POST', `${url}/verify`)).body.status).toBe('verified');
    expect(await send()).toEqual([202, undefined]);
  });
});

describe('rotating DKIM keys', () => {
  test('shows both pairs, and when the records of the old one may go', async () => {
    const { register, call, zone, system } = await start();
    const { body: pending } = await register('mail.example.test');
    const url = `/v1/domains/${pending.id}`;
    zone.now = publishing(pending.records);
    const { body: first } = await call('POST', `${url}/verify`);
    const { status, body: rotating, etag } = await call('POST', `${url}/dkim/rotate`, { payload: {} });
    expect([status, rotating.status]).toEqual([200, 'verified']);
    expect(rotating.dkim.map(({ status }: { status: string }) => status)).toEqual(['active', 'pending']);
    expect(
      rotating.records.filter(({ purpose, required }: ShownRecord) => purpose === 'dkim' && required),
    ).toHaveLength(1);
    const stale = { headers: { 'if-match': '"0"' }, payload: {} };
    expect((await call('POST', `${url}/dkim/rotate`, stale)).status).toBe(412);
    zone.now = publishing(rotating.records);
    const { body: rotated } = await call('POST', `${url}/verify`, { headers: { 'if-match': etag } });
    expect(rotated.dkim).toMatchObject([
      { status: 'active', hosts: rotating.dkim[1].hosts },
      { status: 'retired', hosts: first.dkim[0].hosts, removable: false },
    ]);
    expect(rotated.records.map(({ name }: ShownRecord) => name)).not.toContain(first.dkim[0].hosts[0]);
    system.shift(7 * DAY_MS);
    expect((await call('GET', url)).body.dkim[1].removable).toBe(true);
  });

  test('accepts neither a body nor a test key', async () => {
    const { organizationId, register, call } = await start();
    const { body: pending } = await register('mail.example.test');
    const url = `/v1/domains/${pending.id}/dkim/rotate`;
    expect((await call('POST', url, { payload: { selector: 'mine' } })).status).toBe(400);
    const { value: key } = await service.makeKey(organizationId, pending.id, { environment: 'test' });
    expect((await service.request({ method: 'POST', url, key, payload: {} })).statusCode).toBe(403);
  });
});

test('while mail is captured a domain has its keys, needs no record and is not checked', async () => {
  const { register, call } = await start({ capturing: true });
  const { body } = await register('mail.example.test');
  expect(body).toMatchObject({ status: 'verified', verification: { method: 'capture' }, next_check_at: null });
  expect(new Set(body.records.map(({ status }: { status: string }) => status))).toEqual(new Set(['not_needed']));
  const { body: rotated } = await call('POST', `/v1/domains/${body.id}/dkim/rotate`, { payload: {} });
  expect(rotated.dkim).toMatchObject([{ status: 'pending' }]);
  expect(rotated.dkim[0].hosts).not.toEqual(body.dkim[0].hosts);
});
