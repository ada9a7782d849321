import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type KeyTenant, openKeyTenant } from '../../support/key-tenant.ts';
import { type Service, startService } from '../../support/service.ts';

const SOON = '2098-01-01T00:00:00.000Z';
const LATER = '2099-01-01T00:00:00.000Z';
const OWN = ['127.0.0.0/8', '192.0.2.0/24'];

let service: Service;
let tenant: KeyTenant;
/** A key with allowed networks and an expiry. */
let bound: { id: string; value: string };

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  tenant = await openKeyTenant(service);
  bound = await tenant.make({ permissions: ['manage'], allowedCidrs: OWN, expiresAt: SOON });
});
afterAll(() => service.close());

const create = (fields: object, by = bound.value) =>
  tenant.ask('POST', '', {
    payload: { name: 'child', domain_id: tenant.domainId, permissions: ['send'], ...fields },
    by,
  });
const rotate = (id: string, by = bound.value) => tenant.ask('POST', `/${id}/rotate`, { payload: {}, by });

const tooWide = (...fields: readonly string[]) => ({
  status: 403,
  code: 'wider_than_own_key',
  body: { error: { details: Object.fromEntries(fields.map((field) => [field, [expect.any(String)]])) } },
});

describe('a key with allowed networks and an expiry', () => {
  test('makes keys with the same bounds unless others are given', async () => {
    expect(await create({})).toMatchObject({ status: 201, body: { allowed_cidrs: OWN, expires_at: SOON } });
  });

  test('makes narrower keys', async () => {
    const narrower = { allowed_cidrs: ['192.0.2.16/28', '127.0.0.1'], expires_at: '2030-01-01T00:00:00.000Z' };
    expect(await create(narrower)).toMatchObject({ status: 201, body: narrower });
  });

  test.each<[string, object, readonly string[]]>([
    ['any address', { allowed_cidrs: [] }, ['allowed_cidrs']],
    ['a network around its own', { allowed_cidrs: ['192.0.0.0/16'] }, ['allowed_cidrs']],
    ['another network beside its own', { allowed_cidrs: ['192.0.2.1', '2001:db8::/32'] }, ['allowed_cidrs']],
    ['no expiry', { expires_at: null }, ['expires_at']],
    ['a later expiry', { expires_at: LATER }, ['expires_at']],
    ['neither', { allowed_cidrs: [], expires_at: null }, ['allowed_cidrs', 'expires_at']],
  ])('makes no key with %s', async (_what, fields, named) => {
    expect(await create(fields)).toMatchObject(tooWide(...named));
  });

  test('does not widen another key beyond its own bounds', async () => {
    const { id } = await tenant.make({ permissions: ['send'], allowedCidrs: ['192.0.2.1'], expiresAt: SOON });
    const update = (payload: object) => tenant.update(id, payload, bound.value);
    expect(await update({ allowed_cidrs: [] })).toMatchObject(tooWide('allowed_cidrs'));
    expect(await update({ expires_at: null })).toMatchObject(tooWide('expires_at'));
    expect((await update({ allowed_cidrs: ['192.0.2.0/25'], permissions: ['send', 'read'] })).status).toBe(200);
  });

  test('does not widen itself', async () => {
    const update = (payload: object) => tenant.update(bound.id, payload, bound.value);
    expect(await update({ allowed_cidrs: [] })).toMatchObject(tooWide('allowed_cidrs'));
    expect(await update({ expires_at: LATER })).toMatchObject(tooWide('expires_at'));
    expect((await update({ allowed_cidrs: ['127.0.0.1'] })).status).toBe(200);
    expect(await update({ allowed_cidrs: OWN })).toMatchObject(tooWide('allowed_cidrs'));
  });

  test('gives no permission to a key with wider bounds, but may narrow, rename and end it', async () => {
    const { id } = await tenant.make({ permissions: ['send'] });
    const update = (payload: object) => tenant.update(id, payload, bound.value);
    expect(await update({ permissions: ['send', 'read'] })).toMatchObject(tooWide('allowed_cidrs', 'expires_at'));
    expect((await update({ name: 'other', allowed_cidrs: ['198.51.100.0/24'], expires_at: LATER })).status).toBe(200);
    expect((await tenant.ask('POST', `/${id}/revoke`, { by: bound.value })).status).toBe(200);
  });

  test('rotates itself and narrower keys, and never learns the value of a wider one', async () => {
    const wide = await tenant.make({ permissions: ['send'] });
    const narrow = await tenant.make({ permissions: ['send'], allowedCidrs: ['192.0.2.1'], expiresAt: SOON });
    expect(await rotate(wide.id)).toMatchObject(tooWide('allowed_cidrs', 'expires_at'));
    expect(await rotate(narrow.id)).toMatchObject({ status: 200 });
    expect(await rotate(bound.id)).toMatchObject({ status: 200, body: { allowed_cidrs: OWN, expires_at: SOON } });
    const [refusal] = (await tenant.ask('GET', `/${wide.id}/history`)).body.data;
    expect(refusal).toMatchObject({ type: 'api_key.change_refused', actor: { id: bound.id } });
  });

  test('is bound by them with admin too', async () => {
    const admin = await tenant.make({ permissions: ['admin'], allowedCidrs: OWN, expiresAt: SOON });
    expect(await create({ permissions: ['admin'], expires_at: null }, admin.value)).toMatchObject(
      tooWide('expires_at'),
    );
    expect(await tenant.update(admin.id, { allowed_cidrs: [] }, admin.value)).toMatchObject(tooWide('allowed_cidrs'));
    expect(await rotate(tenant.admin.id, admin.value)).toMatchObject(tooWide('allowed_cidrs', 'expires_at'));
  });
});

describe('a manage key with low limits', () => {
  test('makes keys with the same limits, and rotates none with higher ones', async () => {
    const slow = await tenant.make({ permissions: ['manage'], rateLimits: { send: 5, manage: 50 } });
    const child = await create({}, slow.value);
    expect(child).toMatchObject({ status: 201, body: { rate_limits: { send: 5, read: 1000, manage: 50 } } });
    const quick = await tenant.make({ permissions: ['send'], rateLimits: { send: 6, manage: 1 } });
    expect(await rotate(quick.id, slow.value)).toMatchObject(tooWide('rate_limits'));
    expect((await rotate(child.body.id, slow.value)).status).toBe(200);
  });

  test('passes on its low limits only, and admin passes on none', async () => {
    const quick = await tenant.make({ permissions: ['manage'], rateLimits: { send: 5, read: 5_000 } });
    expect(await create({}, quick.value)).toMatchObject({
      status: 201,
      body: { rate_limits: { send: 5, read: 1000 } },
    });
    const admin = await tenant.make({ permissions: ['admin'], rateLimits: { read: 5 } });
    expect(await create({}, admin.value)).toMatchObject({ status: 201, body: { rate_limits: { read: 1000 } } });
  });

  test('sets none, while admin does so up to the ceilings, whatever its own are', async () => {
    const slow = await tenant.make({ permissions: ['manage'], rateLimits: { send: 5 } });
    expect(await create({ rate_limits: { send: 4 } }, slow.value)).toMatchObject({ code: 'permission_missing' });
    const admin = await tenant.make({ permissions: ['admin'], rateLimits: { send: 5 } });
    expect(await create({ rate_limits: { send: 500 } }, admin.value)).toMatchObject({ status: 201 });
  });
});
