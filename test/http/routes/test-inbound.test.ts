import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

let service: DatabaseService;
let organizationId: string;
let domainId: string;
let secondId: string;
const keys: Record<string, string> = {};

beforeAll(async () => {
  service = await startDatabaseService();
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  secondId = await service.makeDomain(organizationId, 'second.test');
  const make = async (of: string, id: string, more: object) => (await service.makeKey(of, id, more)).value;
  keys.admin = await make(organizationId, domainId, {});
  keys.sender = await make(organizationId, domainId, { permissions: ['send'] });
  keys.reader = await make(organizationId, domainId, { permissions: ['read'] });
  keys.test = await make(organizationId, domainId, { environment: 'test' });
  const other = await service.makeOrganization();
  keys.other = await make(other, await service.makeDomain(other, 'other.test'), {});
});
afterAll(() => service.close());

const ask = async (method: 'GET' | 'POST' | 'PATCH', url: string, payload?: object, by = 'admin') => {
  const answer = await service.request({ method, url, key: keys[by] ?? '', ...(payload ? { payload } : {}) });
  return { status: answer.statusCode, headers: answer.headers, body: answer.json() };
};
const bring = (payload: object, by = 'admin') => ask('POST', '/v1/inbound/test', payload, by);

let mails = 0;
const newMail = (more = ''): string => {
  mails += 1;
  return `From: Ann <ann@example.net>\r\nTo: support@example.test\r\nSubject: Order ${mails}\r\n${more}\r\nThanks!\r\n\r\n> Hello\r\n`;
};
const eventsOf = async (id: string, by = 'admin'): Promise<readonly string[]> => {
  const { body } = await ask('GET', '/v1/events?limit=100', undefined, by);
  return body.data
    .filter(({ data }: { data: { inbound_id?: string } }) => data.inbound_id === id)
    .map(({ type }: { type: string }) => type);
};

describe('a test message', () => {
  test('is received as by SMTP, without SPF, and shown as GET shows it', async () => {
    const raw = newMail();
    const { status, headers, body } = await bring({ raw, to: 'Support@Example.test', from: 'bounce@example.net' });
    expect([status, body]).toEqual([201, expect.objectContaining({ object: 'inbound_message', environment: 'live' })]);
    expect(headers.location).toBe(`/v1/inbound/${body.id}`);
    expect(body).toMatchObject({
      ...{ domain_id: domainId, envelope: { from: 'bounce@example.net', to: 'Support@example.test' } },
      ...{ from: [{ name: 'Ann', address: 'ann@example.net' }], reply: 'Thanks!', problems: [] },
      verdicts: { spf: 'none', dkim: 'none' },
    });
    expect((await ask('GET', `/v1/inbound/${body.id}`)).body).toEqual(body);
    const source = await service.request({ url: `/v1/inbound/${body.id}/raw`, key: keys.admin ?? '' });
    expect(source.body).toBe(raw);
    expect(await eventsOf(body.id)).toEqual(['inbound.received']);
  });

  test('needs the permission send', async () => {
    expect((await bring({ raw: newMail(), to: 'a@example.test' }, 'sender')).status).toBe(201);
    expect((await bring({ raw: newMail(), to: 'a@example.test' }, 'reader')).status).toBe(403);
  });

  test('belongs to the environment of the key', async () => {
    const raw = newMail();
    const { body: live } = await bring({ raw, to: 'a@example.test' });
    const { body } = await bring({ raw, to: 'a@example.test' }, 'test');
    expect([body.environment, body.id === live.id]).toEqual(['test', false]);
    expect((await ask('GET', `/v1/inbound/${body.id}`)).status).toBe(404);
    expect(await eventsOf(body.id, 'test')).toEqual(['inbound.received']);
  });

  test('has an empty return path by default', async () => {
    expect((await bring({ raw: newMail(), to: 'a@example.test' })).body.envelope.from).toBe('');
  });

  test('has the same id when it is repeated, also twice at once, and one event', async () => {
    const mail = { raw: newMail(), to: 'a@example.test', from: 'ann@example.net' };
    const first = await Promise.all([bring(mail), bring(mail)]);
    const again = await bring(mail);
    expect([...first, again].map(({ status, body }) => [status, body])).toEqual(Array(3).fill([201, again.body]));
    expect(await eventsOf(again.body.id)).toEqual(['inbound.received']);
    const another = await bring({ ...mail, to: 'b@example.test' });
    expect(another.body.id).not.toBe(again.body.id);
  });

  test('whose content was removed is 410 when it is repeated', async () => {
    const mail = { raw: newMail(), to: 'a@example.test' };
    await bring(mail);
    const { contents } = service.deps.context;
    const gone = { kind: 'expired', at: '2026-01-01T00:00:00.000Z' } as const;
    const reads = vi.spyOn(contents, 'get').mockImplementation(async (ids) => new Map(ids.map((id) => [id, gone])));
    const { status, body } = await bring(mail);
    reads.mockRestore();
    expect([status, body.error.code]).toEqual([410, 'content_gone']);
  });
});

const refusalOf = async (mail: object, field: string, by = 'admin'): Promise<string> => {
  const { status, body } = await bring(mail, by);
  expect([status, body.error?.code]).toEqual([400, 'invalid_request']);
  return body.error.details[field].join();
};

describe('the recipient of a test message', () => {
  test('is at a domain of the organization, with inbound mail unless it is the domain of the key', async () => {
    const raw = newMail();
    const none = 'to must be an address at a domain of your organization';
    expect(await refusalOf({ raw, to: 'a@other.test' }, 'to')).toBe(none);
    expect(await refusalOf({ raw, to: 'a@nobody.test' }, 'to')).toBe(none);
    expect(await refusalOf({ raw, to: 'a@example.test' }, 'to', 'other')).toBe(none);
    expect(await refusalOf({ raw, to: 'a@second.test' }, 'to')).toBe(
      `to must be an address that receives mail, and second.test receives none: PATCH /v1/domains/${secondId} with {"inbound": {"mx": true}}`,
    );
    await ask('PATCH', `/v1/domains/${secondId}`, { inbound: { mx: true } });
    expect((await bring({ raw, to: 'a@second.test' })).body.domain_id).toBe(secondId);
    expect(await refusalOf({ raw, to: 'a@second.test' }, 'to', 'sender')).toContain('the domain of the key');
  });

  test('follows the routes of its domain', async () => {
    const route = { domain_id: domainId, match: 'no-*', action: 'refuse' };
    const { body: refusing } = await ask('POST', '/v1/inbound-routes', route);
    const { body: storing } = await ask('POST', '/v1/inbound-routes', { ...route, match: 'kept', action: 'store' });
    expect(await refusalOf({ raw: newMail(), to: 'NO-reply@example.test' }, 'to')).toBe(
      `to is refused by the inbound route ${refusing.id}: change its action, or use another address`,
    );
    const { body } = await bring({ raw: newMail(), to: 'kept@example.test' });
    expect([body.route_id, body.action]).toEqual([storing.id, 'store']);
  });

  test.each([
    ['a header of another line', 'a@example.test\r\nBcc: b@example.net'],
    ['a line feed', 'a\n@example.test'],
    ['a NUL', 'a\u0000@example.test'],
    ['no domain', 'a'],
    ['two addresses', 'a@example.test, b@example.test'],
    ['too many characters', `${'a'.repeat(400)}@example.test`],
    ['a number', 1],
    ['a list', ['a@example.test']],
    ['an object', {}],
    ['nothing', ''],
  ])('with %s is refused, as is such a return path', async (_what, address) => {
    expect(await refusalOf({ raw: newMail(), to: address }, 'to')).toMatch(/^to/);
    if (address !== '')
      expect(await refusalOf({ raw: newMail(), to: 'a@example.test', from: address }, 'from')).toMatch(/^from/);
  });
});

describe('the source of a test message', () => {
  test.each([[1], [['x']], [{}], [''], [null], [true]])('that is %j is refused', async (raw) => {
    expect(await refusalOf({ raw, to: 'a@example.test' }, 'raw')).toMatch(/^raw/);
  });

  test('is refused when it is too large, before it is read', async () => {
    const { status, body } = await bring({ raw: 'x'.repeat(26_000_000), to: 'a@example.test' });
    expect([status, body.error.code]).toEqual([413, 'body_too_large']);
  });

  test('is refused when too many servers passed it on', async () => {
    const raw = newMail('Received: from a by b; Mon, 1 Jan 2026 10:00:00 +0000\r\n'.repeat(31));
    expect(await refusalOf({ raw, to: 'a@example.test' }, 'raw')).toContain('remove some of its Received fields');
  });

  test('is refused when it fails DMARC and the organization refuses such mail', async () => {
    const { receiving } = service.deps;
    const verdicts = { spf: 'none', dkim: 'none', dmarc: 'fail', arc: 'none' } as const;
    const checks = vi.spyOn(receiving, 'authenticate').mockResolvedValue({ verdicts, dmarcPolicy: 'reject' });
    const mail = { raw: newMail(), to: 'a@example.test' };
    await ask('PATCH', '/v1/organization', { inbound_dmarc: 'refuse' });
    const refusal = await refusalOf(mail, 'raw');
    await ask('PATCH', '/v1/organization', { inbound_dmarc: 'mark' });
    expect((await bring(mail)).body.marked).toBe(true);
    checks.mockRestore();
    expect(refusal).toContain('set inbound_dmarc to mark');
    expect(checks).not.toHaveBeenCalledWith(expect.anything(), expect.objectContaining({ client: expect.anything() }));
  });

  test('can be anything else: what cannot be read is stored with its problems', async () => {
    for (const raw of [
      'x',
      'Subject: a\u0000b\r\n\r\n\u0000',
      '\r\n',
      '\ud800',
      'Subject: =?utf-8?q?=00=0d=0a?=\r\n\r\n',
    ])
      expect([raw, (await bring({ raw, to: 'a@example.test' })).status]).toEqual([raw, 201]);
  });
});
