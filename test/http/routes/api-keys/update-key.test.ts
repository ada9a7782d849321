import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type KeyTenant, makeDomain, openKeyTenant } from '../../support/key-tenant.ts';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let tenant: KeyTenant;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  tenant = await openKeyTenant(service);
});
afterAll(() => service.close());

describe('PATCH /v1/api-keys/{id}', () => {
  test('changes the given fields, leaves the rest, and returns the updated key', async () => {
    const { id } = await tenant.make();
    const before = (await tenant.ask('GET', `/${id}`)).body;
    const changes = {
      name: 'Other',
      permissions: ['read', 'send', 'read'],
      allowed_cidrs: ['192.0.2.0/24', '2001:db8::/32'],
      expires_at: '2099-01-01T00:00:00.000Z',
      rate_limits: { send: 7 },
    };
    const { status, body, headers } = await tenant.update(id, changes);
    expect(status).toBe(200);
    expect(headers.etag).toBe('"1"');
    expect(body).toEqual({
      ...before,
      ...changes,
      permissions: ['read', 'send'],
      rate_limits: { ...before.rate_limits, send: 7 },
    });
    expect((await tenant.ask('GET', `/${id}`)).body).toEqual(body);
  });

  test('restores the default of a limit with null', async () => {
    const { id } = await tenant.make();
    expect((await tenant.update(id, { rate_limits: { send: null } })).body.rate_limits).toMatchObject({ send: 100 });
  });

  test('that changes nothing leaves the revision unchanged', async () => {
    const { id } = await tenant.make();
    const { status, headers } = await tenant.update(id, { name: 'test', permissions: ['send'], expires_at: null });
    expect([status, headers.etag]).toEqual([200, '"0"']);
  });

  test('honours If-Match', async () => {
    const { id } = await tenant.make();
    const stale = await tenant.ask('PATCH', `/${id}`, { payload: { name: 'x' }, headers: { 'if-match': '"4"' } });
    expect([stale.status, stale.code]).toEqual([412, 'precondition_failed']);
    const current = await tenant.ask('PATCH', `/${id}`, { payload: { name: 'x' }, headers: { 'if-match': '"0"' } });
    expect([current.status, current.headers.etag]).toEqual([200, '"1"']);
  });

  test('lets manage change any key without admin, but not grant admin or set limits', async () => {
    const { id } = await tenant.make();
    const other = await tenant.make({});
    expect((await tenant.update(id, { name: 'x', permissions: ['manage'] }, tenant.manager.value)).status).toBe(200);
    for (const [target, payload] of [
      [id, { permissions: ['admin'] }],
      [id, { rate_limits: { send: 1 } }],
      [id, { rate_limits: { send: null } }],
      [other.id, { name: 'x' }],
    ] as const) {
      const refused = await tenant.update(target, payload, tenant.manager.value);
      expect([refused.status, refused.code]).toEqual([403, 'permission_missing']);
      expect(refused.body.error.message).toContain("API key lacks 'admin' permission");
    }
  });

  test('hides live keys from test keys, and lets test keys change each other', async () => {
    const tester = await tenant.make({ environment: 'test', permissions: ['manage'] });
    const simulated = await tenant.make({ environment: 'test', permissions: ['send'] });
    const { id } = await tenant.make();
    expect((await tenant.update(id, { name: 'x' }, tester.value)).code).toBe('not_found');
    expect((await tenant.update(simulated.id, { name: 'x' }, tester.value)).status).toBe(200);
    expect((await tenant.update(simulated.id, { name: 'y' })).status).toBe(200);
  });

  test('takes effect at once: networks, permissions and expiry', async () => {
    const { id, value } = await tenant.make({ permissions: ['manage'] });
    await tenant.update(id, { allowed_cidrs: ['192.0.2.0/24'] });
    expect([await tenant.opens(value), await tenant.opens(value, '192.0.2.9')]).toEqual([false, true]);
    await tenant.update(id, { allowed_cidrs: [], permissions: ['read'] });
    expect((await tenant.ask('GET', '', { by: value })).code).toBe('permission_missing');
    await tenant.update(id, { expires_at: new Date(Date.now() + 300).toISOString() });
    expect(await tenant.opens(value)).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 320));
    expect(await tenant.opens(value)).toBe(false);
    expect((await tenant.ask('GET', `/${id}`)).body.status).toBe('expired');
    expect((await tenant.update(id, { name: 'x' })).code).toBe('key_not_active');
    expect((await tenant.ask('POST', `/${id}/rotate`)).code).toBe('key_not_active');
    expect((await tenant.update(id, { expires_at: null })).body.status).toBe('active');
    expect(await tenant.opens(value)).toBe(true);
  });

  test('is refused for revoked keys, and not found for deleted ones', async () => {
    const { id } = await tenant.make();
    await tenant.ask('POST', `/${id}/revoke`);
    expect((await tenant.update(id, { name: 'x' })).code).toBe('key_not_active');
    await tenant.ask('DELETE', `/${id}`);
    expect((await tenant.update(id, { name: 'x' })).code).toBe('not_found');
  });

  test('gives no key more than the ceilings of its organization', async () => {
    const bounded = await service.makeOrganization({ send: 10 });
    const domain = await makeDomain(service, bounded);
    const own = await service.makeKey(bounded, domain);
    const limits = { rate_limits: { send: 11, read: 5_000 } };
    const refused = await tenant.update(own.id, limits, own.value);
    expect([refused.status, refused.body.error.details]).toEqual([
      400,
      { rate_limits: ["rate_limits.send must be at most 10, your organization's ceiling"] },
    ]);
    expect((await tenant.update(own.id, { rate_limits: { send: 10 } }, own.value)).body.rate_limits.send).toBe(10);
  });

  test('of the last admin key requires that its networks include the address of the request', async () => {
    const { id, value } = await tenant.make({});
    const [first] = (await tenant.ask('GET', `/${id}/history`)).body.data;
    expect(first.type).toBe('api_key.created');
    expect((await tenant.update(id, { allowed_cidrs: ['192.0.2.1'] }, value)).status).toBe(200);
    const own = await service.makeOrganization();
    const alone = await service.makeKey(own, await makeDomain(service, own));
    const refused = await tenant.update(alone.id, { allowed_cidrs: ['192.0.2.1'] }, alone.value);
    expect([refused.status, refused.code]).toEqual([409, 'last_admin_key']);
    expect((await tenant.update(alone.id, { allowed_cidrs: ['127.0.0.0/8'] }, alone.value)).status).toBe(200);
  });

  test('reports all problems of a body at once', async () => {
    const { id } = await tenant.make();
    const { status, body } = await tenant.update(id, {
      name: 'two\r\nlines',
      permissions: ['root'],
      rate_limits: { send: 0, burst: 1 },
      colour: 'red',
      allowed_cidrs: ['300.1.1.1', '10/8', '10.0.0.0/33', 7],
      expires_at: '2001-01-01T00:00:00Z',
    });
    expect(status).toBe(400);
    expect(body.error.details).toEqual({
      name: ['name must not contain line breaks or control characters'],
      permissions: ['permissions[0] must be one of send, read, manage, admin'],
      rate_limits: ['rate_limits.send must be at least 1', 'rate_limits.burst is not a known field'],
      allowed_cidrs: [
        'allowed_cidrs[0] must be an address or a network in CIDR notation, such as 192.0.2.0/24',
        'allowed_cidrs[1] must be an address or a network in CIDR notation, such as 192.0.2.0/24',
        'allowed_cidrs[2] must be an address or a network in CIDR notation, such as 192.0.2.0/24',
        'allowed_cidrs[3] must be a string',
      ],
      expires_at: ['expires_at must be in the future'],
      colour: ['colour is not a known field'],
    });
  });

  test.each<[string, object | string, number]>([
    ['nothing', {}, 400],
    ['a list', [], 400],
    ['text', '"x"', 400],
    ['half of JSON', '{"name":', 400],
    ['a name with NUL', { name: 'a\0b' }, 400],
    ['an empty name', { name: '' }, 400],
    ['a name that is too long', { name: 'x'.repeat(201) }, 400],
    ['no permission', { permissions: [] }, 400],
    ['permissions that are text', { permissions: 'send' }, 400],
    ['200 networks', { allowed_cidrs: Array.from({ length: 200 }, (_, index) => `10.0.0.${index}`) }, 400],
    ['an expiry that is a number', { expires_at: 4_102_444_800 }, 400],
    ['another domain', { domain_id: 'dom_aaaaaaaaaaaaaaaaaaaaaaaaaa' }, 400],
    ['another environment', { environment: 'test' }, 400],
    ['a prototype', '{"__proto__":{"name":"x"}}', 400],
    ['10 MB', { name: 'x'.repeat(10_000_000) }, 413],
  ])('refuses %s', async (_what, payload, status) => {
    const { id } = await tenant.make();
    const refused = await tenant.ask('PATCH', `/${id}`, { payload });
    expect(refused.status).toBe(status);
    expect((await tenant.ask('GET', `/${id}`)).headers.etag).toBe('"0"');
  });
});
