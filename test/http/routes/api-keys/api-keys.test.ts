import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { apiKeyStream } from '../../../../src/domain/kernel/streams.ts';
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

describe('POST /v1/api-keys', () => {
  test('reports a past expiry and a limit above the ceiling together with all other problems', async () => {
    const bounded = await service.makeOrganization({ send: 10 });
    const own = await service.makeKey(bounded, await makeDomain(service, bounded));
    const payload = { name: '', expires_at: '2001-01-01', rate_limits: { send: 11 } };
    const { status, body } = await tenant.ask('POST', '', { payload, by: own.value });
    expect(status).toBe(400);
    expect(body.error.details).toEqual({
      name: ['name must not be empty'],
      domain_id: ['domain_id is required'],
      permissions: ['permissions is required'],
      rate_limits: ["rate_limits.send must be at most 10, your organization's ceiling"],
      expires_at: ['expires_at must be in the future'],
    });
  });

  test('reads ::ffff:192.0.2.0/120 as the IPv4 network that it is', async () => {
    const payload = {
      name: 'n',
      domain_id: tenant.domainId,
      permissions: ['read'],
      allowed_cidrs: ['::ffff:192.0.2.0/120'],
    };
    const { body } = await tenant.ask('POST', '', { payload });
    expect([await tenant.opens(body.key, '192.0.2.77'), await tenant.opens(body.key, '192.0.3.1')]).toEqual([
      true,
      false,
    ]);
  });
});

describe('DELETE /v1/api-keys/{id}', () => {
  test('ends the key with all its values, and leaves only its history', async () => {
    const { id, value } = await tenant.make();
    const { body: rotated } = await tenant.ask('POST', `/${id}/rotate`);
    const { status, body } = await tenant.ask('DELETE', `/${id}`, { by: tenant.manager.value });
    expect([status, body]).toEqual([204, undefined]);
    expect([await tenant.opens(value), await tenant.opens(rotated.key)]).toEqual([false, false]);
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/rotate'],
      ['POST', '/revoke'],
    ] as const) {
      expect((await tenant.ask(method, `/${id}${path}`)).status).toBe(404);
    }
    const { body: history } = await tenant.ask('GET', `/${id}/history`);
    expect(history.data.map(({ type }: { type: string }) => type)).toEqual([
      'api_key.deleted',
      'api_key.rotated',
      'api_key.created',
    ]);
  });

  test('accepts revoked keys too, honours If-Match, and refuses admin keys to manage', async () => {
    const { id } = await tenant.make();
    await tenant.ask('POST', `/${id}/revoke`);
    expect((await tenant.ask('DELETE', `/${id}`, { headers: { 'if-match': '"0"' } })).status).toBe(412);
    expect((await tenant.ask('DELETE', `/${id}`, { headers: { 'if-match': '"1"' } })).status).toBe(204);
    const other = await tenant.make({});
    expect((await tenant.ask('DELETE', `/${other.id}`, { by: tenant.manager.value })).code).toBe('permission_missing');
    expect((await tenant.ask('DELETE', `/${other.id}`, { payload: { force: true } })).status).toBe(400);
  });
});

describe('a key of another organization', () => {
  test('is refused by every operation, and one that never existed is not found', async () => {
    const { id } = await tenant.make();
    const foreign = await service.makeOrganization();
    const stranger = await service.makeKey(foreign, await makeDomain(service, foreign));
    const operations = [
      ['GET', '', undefined],
      ['PATCH', '', { name: 'mine' }],
      ['DELETE', '', undefined],
      ['GET', '/history', undefined],
      ['POST', '/rotate', {}],
      ['POST', '/revoke', {}],
    ] as const;
    for (const [method, path, payload] of operations) {
      const more = { by: stranger.value, ...(payload === undefined ? {} : { payload }) };
      const refused = await tenant.ask(method, `/${id}${path}`, more);
      expect([refused.status, refused.code]).toEqual([403, 'other_organization']);
      expect((await tenant.ask(method, `/key_${'a'.repeat(26)}${path}`, more)).status).toBe(404);
      expect((await tenant.ask(method, `/..%2f${id}${path}`, more)).status).toBe(404);
    }
    expect((await tenant.ask('GET', `/${id}`)).headers.etag).toBe('"0"');
    const refusals = await service.deps.context.store.readStream(`apiKeyRefusal-${id}`);
    expect(refusals).toEqual([]);
  });
});

describe('a key', () => {
  test('says when and from where it was last used', async () => {
    const { id, value } = await tenant.make();
    expect((await tenant.ask('GET', `/${id}`)).body).toMatchObject({ last_used_at: null, last_used_address: null });
    await tenant.opens(value, '198.51.100.7');
    expect((await tenant.ask('GET', `/${id}`)).body).toMatchObject({
      last_used_at: expect.stringMatching(/Z$/),
      last_used_address: '198.51.100.7',
    });
    const types = (await service.deps.context.store.readStream(apiKeyStream(id))).map(({ type }) => type);
    expect(types).toEqual(['KeyCreated']);
  });

  test('never has three earlier values that work, however many rotations arrive at once', async () => {
    const { id } = await tenant.make();
    const rotate = (payload: object = {}) => tenant.ask('POST', `/${id}/rotate`, { payload });
    const answers = await Promise.all(Array.from({ length: 8 }, () => rotate()));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(2);
    expect(new Set(statuses.filter((status) => status !== 200))).toEqual(new Set([409]));
    const { body } = await tenant.ask('GET', `/${id}`);
    expect(body.earlier_secrets.length).toBeLessThanOrEqual(2);
    const working = await Promise.all(
      answers.filter(({ status }) => status === 200).map((answer) => tenant.opens(answer.body.key)),
    );
    expect(working.every((works) => works)).toBe(true);
    const forced = await rotate({ grace_period_minutes: 0 });
    expect(forced.status).toBe(200);
    expect(forced.body.previous_key_expires_at <= new Date().toISOString()).toBe(true);
  });

  test.each([-1, 10_081, 1.5, '60'])('is not rotated with a grace of %j', async (grace) => {
    const { id } = await tenant.make();
    const { status, body } = await tenant.ask('POST', `/${id}/rotate`, { payload: { grace_period_minutes: grace } });
    expect(status).toBe(400);
    expect(Object.keys(body.error.details)).toEqual(['grace_period_minutes']);
  });

  test('keeps each earlier value for its own grace period: a day, unless another is given', async () => {
    const { id } = await tenant.make();
    const first = (await tenant.ask('POST', `/${id}/rotate`)).body;
    const second = (await tenant.ask('POST', `/${id}/rotate`, { payload: { grace_period_minutes: 10_080 } })).body;
    const minutes = (until: string) => Math.round((Date.parse(until) - Date.now()) / 60_000);
    expect([minutes(first.previous_key_expires_at), minutes(second.previous_key_expires_at)]).toEqual([1440, 10_080]);
    expect(second.earlier_secrets.map(({ expires_at }: { expires_at: string }) => minutes(expires_at))).toEqual([
      1440, 10_080,
    ]);
    const third = await tenant.ask('POST', `/${id}/rotate`, { payload: { grace_period_minutes: 1 } });
    expect([third.status, third.code]).toEqual([409, 'too_many_live_secrets']);
    const all = await tenant.ask('POST', `/${id}/rotate`, { payload: { revoke_previous: true } });
    expect([all.status, all.body.earlier_secrets]).toEqual([200, []]);
  });
});
