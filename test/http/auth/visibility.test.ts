import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../support/service.ts';

let service: Service;
const keys: Record<string, string> = {};
const ids: Record<string, string> = {};

const post = (url: string, key: string, payload: object = {}) => service.request({ method: 'POST', url, key, payload });

beforeAll(async () => {
  service = await startService();
  const own = await service.makeOrganization();
  const domain = await service.makeDomain(own, 'example.test');
  const second = await service.makeDomain(own, 'second.test');
  const foreign = await service.makeOrganization();
  const foreignDomain = await service.makeDomain(foreign, 'foreign.test');
  const make = async (name: string, ...args: Parameters<Service['makeKey']>): Promise<void> => {
    const made = await service.makeKey(...args);
    keys[name] = made.value;
    ids[`key-${name}`] = made.id;
  };
  await make('admin', own, domain);
  await make('test', own, domain, { environment: 'test' });
  await make('reader', own, domain, { permissions: ['read', 'send'] });
  await make('secondReader', own, second, { permissions: ['read'] });
  await make('manager', own, domain, { permissions: ['manage'] });
  await make('foreign', foreign, foreignDomain);
  const sent = await post('/v1/messages/send', keys.admin ?? '', {
    from: 'a@example.test',
    to: 'b@example.org',
    subject: 'x',
    text: 'x',
  });
  const hook = await post('/v1/webhooks', keys.admin ?? '', { url: 'http://127.0.0.1:9/', events: ['message.*'] });
  Object.assign(ids, { message: sent.json().id, domain, webhook: hook.json().id, foreignDomain });
});
afterAll(() => service.close());

const statusOf = async (key: string, url: string): Promise<number> =>
  (await service.request({ url, key: keys[key] ?? '' })).statusCode;

describe('a resource', () => {
  test.each([
    '/v1/messages/$message',
    '/v1/messages/$message/content',
    '/v1/messages/$message/preview',
    '/v1/messages/$message/raw',
    '/v1/messages/$message/events',
    '/v1/messages/$message/explain',
    '/v1/api-keys/$key-admin',
    '/v1/domains/$domain',
    '/v1/webhooks/$webhook',
    '/v1/webhooks/$webhook/deliveries',
  ])('%s is 200 for its organization and 403 for another', async (pattern) => {
    const url = pattern.replace(/\$([\w-]+)/, (_, name: string) => ids[name] ?? '');
    expect(await statusOf('admin', url)).toBe(200);
    const answer = await service.request({ url, key: keys.foreign ?? '' });
    expect([answer.statusCode, answer.json().error.code]).toEqual([403, 'other_organization']);
  });

  test('of one environment is 404 in the other', async () => {
    expect(await statusOf('test', `/v1/messages/${ids.message}`)).toBe(404);
    expect(await statusOf('test', `/v1/webhooks/${ids.webhook}`)).toBe(404);
    expect(await statusOf('test', `/v1/api-keys/${ids['key-admin']}`)).toBe(404);
    expect(await statusOf('admin', `/v1/api-keys/${ids['key-test']}`)).toBe(200);
    expect(await statusOf('test', `/v1/domains/${ids.domain}`)).toBe(200);
  });

  test('of another domain is 404 for keys that see only their own', async () => {
    expect(await statusOf('reader', `/v1/messages/${ids.message}`)).toBe(200);
    expect(await statusOf('secondReader', `/v1/messages/${ids.message}`)).toBe(404);
  });
});

describe('API keys', () => {
  const create = (by: string, more: object = {}) =>
    post('/v1/api-keys', keys[by] ?? '', { name: 'new', domain_id: ids.domain, permissions: ['send'], ...more });

  test('are created with their value, shown once and never again', async () => {
    const answer = await create('manager', { allowed_cidrs: ['10.0.0.0/8'], expires_at: '2999-01-01T00:00:00Z' });
    expect(answer.statusCode).toBe(201);
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', etag: '"0"' });
    const { key, ...rest } = answer.json();
    expect(key).toMatch(/^ob_live_[0-9A-Za-z]{49}$/);
    expect(rest).toMatchObject({
      object: 'api_key',
      status: 'active',
      rate_limits: { send: 100, read: 1000, manage: 100 },
    });
    const read = await service.request({ url: answer.headers.location ?? '', key: keys.admin ?? '' });
    expect(read.json()).toEqual(rest);
  });

  test.each([
    ['an unknown domain', { domain_id: `dom_${'a'.repeat(26)}` }, 404, 'not_found'],
    ['a domain of another organization', () => ({ domain_id: ids.foreignDomain }), 403, 'other_organization'],
    ['admin', { permissions: ['admin'] }, 403, 'permission_missing'],
    ['limits', { rate_limits: { send: 5 } }, 403, 'permission_missing'],
    ['an expiry in the past', { expires_at: '2001-01-01' }, 400, 'invalid_request'],
    ['no such permission', { permissions: ['root'] }, 400, 'invalid_request'],
    ['a list that is no list of networks', { allowed_cidrs: ['10.0.0.0/99'] }, 400, 'invalid_request'],
  ])('are refused to a manager with %s', async (_what, fields, status, code) => {
    const answer = await create('manager', typeof fields === 'function' ? fields() : fields);
    expect([answer.statusCode, answer.json().error.code]).toEqual([status, code]);
  });

  test('of the live environment are refused to a test key', async () => {
    expect((await create('test', { environment: 'live' })).json().error.code).toBe('environment_not_allowed');
    expect((await create('test')).json().environment).toBe('test');
  });

  test('with admin can be changed by admin only, and the last one of an organization cannot be revoked', async () => {
    const answer = await post(`/v1/api-keys/${ids['key-admin']}/revoke`, keys.manager ?? '');
    expect([answer.statusCode, answer.json().error.code]).toEqual([403, 'permission_missing']);
    const last = await post(`/v1/api-keys/${ids['key-foreign']}/revoke`, keys.foreign ?? '');
    expect([last.statusCode, last.json().error.code]).toEqual([409, 'last_admin_key']);
  });

  test('are changed only at the revision that If-Match names', async () => {
    const { id } = (await create('admin')).json();
    const rotate = (match: string) =>
      service.request({
        method: 'POST',
        url: `/v1/api-keys/${id}/rotate`,
        key: keys.admin ?? '',
        headers: { 'if-match': match },
      });
    expect((await rotate('"7"')).json().error.code).toBe('precondition_failed');
    const rotated = await rotate('"0"');
    expect([rotated.statusCode, rotated.headers.etag]).toEqual([200, '"1"']);
    expect((await rotate('"0"')).statusCode).toBe(412);
    for (const match of ['', 'W/"1"', '1', '"01"', '"no-stream"']) expect((await rotate(match)).statusCode).toBe(412);
    expect((await rotate('"7", "1"')).headers.etag).toBe('"2"');
    expect((await rotate('*')).json().error.code).toBe('too_many_live_secrets');
  });

  test.each(['rotate', 'revoke'])(
    'are changed once by two concurrent requests to %s at one revision',
    async (change) => {
      const { id } = (await create('admin')).json();
      const ask = () =>
        service.request({
          method: 'POST',
          url: `/v1/api-keys/${id}/${change}`,
          key: keys.admin ?? '',
          headers: { 'if-match': '"0"' },
        });
      const answers = await Promise.all([ask(), ask(), ask()]);
      expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 412, 412]);
    },
  );

  test('have at most two earlier secrets', async () => {
    const { id } = (await create('admin')).json();
    const rotate = (payload: object = {}) => post(`/v1/api-keys/${id}/rotate`, keys.admin ?? '', payload);
    expect([(await rotate()).statusCode, (await rotate()).statusCode]).toEqual([200, 200]);
    expect((await rotate()).json().error.code).toBe('too_many_live_secrets');
    expect((await rotate({ grace_period_minutes: 0 })).statusCode).toBe(200);
    expect((await rotate({ grace_period_minutes: -1, x: 1 })).json().error.details).toEqual({
      grace_period_minutes: ['grace_period_minutes must be at least 0'],
      x: ['x is not a known field'],
    });
  });
});

describe('domains and webhooks', () => {
  test('are changed only at the revision that If-Match names, and a refused change leaves nothing behind', async () => {
    const domain = (await post('/v1/domains', keys.admin ?? '', { name: 'matched.test' })).json();
    const hook = (
      await post('/v1/webhooks', keys.admin ?? '', { url: 'http://127.0.0.1:9/', events: ['domain.*'] })
    ).json();
    const ask = (method: 'POST' | 'DELETE', url: string, match: string) =>
      service.request({ method, url, key: keys.admin ?? '', headers: { 'if-match': match } });
    const { store } = service.deps.context;
    const head = await store.head();
    for (const [method, url] of [
      ['POST', `/v1/domains/${domain.id}/verify`],
      ['DELETE', `/v1/webhooks/${hook.id}`],
    ] as const) {
      expect((await ask(method, url, '"9"')).json().error.code).toBe('precondition_failed');
    }
    expect(await store.head()).toBe(head);
    expect((await ask('POST', `/v1/domains/${domain.id}/verify`, '"1"')).headers.etag).toBe('"1"');
    const deletions = await Promise.all([1, 2].map(() => ask('DELETE', `/v1/webhooks/${hook.id}`, '"0"')));
    expect(deletions.map(({ statusCode }) => statusCode).sort()).toEqual([204, 412]);
  });

  test('a domain is registered once, under its name in A-labels', async () => {
    const first = await post('/v1/domains', keys.admin ?? '', { name: 'Bücher.example' });
    expect(first.statusCode).toBe(201);
    expect(first.json()).toMatchObject({ name: 'xn--bcher-kva.example', status: 'verified' });
    const second = await post('/v1/domains', keys.admin ?? '', { name: 'bücher.example' });
    expect([second.statusCode, second.json().error.code]).toEqual([409, 'domain_already_exists']);
    const bad = await post('/v1/domains', keys.admin ?? '', { name: 'a b' });
    expect(bad.json().error.details).toEqual({ name: ['name is not a domain name'] });
  });

  test('a webhook shows its secret once, and is gone when it is deleted', async () => {
    const made = await post('/v1/webhooks', keys.admin ?? '', { url: 'http://127.0.0.1:9/x', events: ['domain.*'] });
    expect(made.statusCode).toBe(201);
    const { secret, verification_key: verificationKey, ...rest } = made.json();
    expect(secret).toMatch(/^whsec_/);
    expect(verificationKey).toBeNull();
    const url = `/v1/webhooks/${rest.id}`;
    expect((await service.request({ url, key: keys.admin ?? '' })).json()).toEqual(rest);
    const deleted = await service.request({ method: 'DELETE', url, key: keys.admin ?? '' });
    expect([deleted.statusCode, deleted.body]).toEqual([204, '']);
    expect(await statusOf('admin', url)).toBe(404);
  });

  test.each([
    [{ url: 'ftp://127.0.0.1/', events: ['message.*'] }, 'url'],
    [{ url: 'http://127.0.0.1/', events: ['message.nothing'] }, 'events'],
    [{ url: 'http://127.0.0.1/', events: [] }, 'events'],
  ])('a webhook is refused: %j', async (payload, field) => {
    const answer = await post('/v1/webhooks', keys.admin ?? '', payload);
    expect(answer.statusCode).toBe(400);
    expect(Object.keys(answer.json().error.details)).toEqual([field]);
  });
});
