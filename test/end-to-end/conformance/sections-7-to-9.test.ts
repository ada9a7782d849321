import { describe, expect, test } from 'vitest';
import type { AnyBody } from '../../support/api-client.ts';
import { conforming, MESSAGE } from './service.ts';

const { service } = conforming();
const post = (path: string, body: unknown, key?: string) =>
  service().ask({ method: 'POST', path, body, ...(key === undefined ? {} : { key }) });
const get = (path: string, key?: string) => service().ask({ path, ...(key === undefined ? {} : { key }) });

describe('§7 Errors', () => {
  test('every error response is JSON of the form {error: {message, …}}', async () => {
    const authorization = `Bearer ${service().admin}`;
    const json = { authorization, 'content-type': 'application/json' };
    const refused = await Promise.all([
      service().raw('/v1/messages'),
      service().raw('/nowhere'),
      service().raw('/v1/nowhere', { headers: { authorization } }),
      service().raw('/v1/messages', { method: 'DELETE', headers: { authorization } }),
      service().raw('/v1/messages/%zz', { headers: { authorization } }),
      service().raw('/v1/messages/send', { method: 'POST', headers: json, body: '{' }),
      service().raw('/v1/messages/send', {
        method: 'POST',
        headers: { ...json, 'content-type': 'text/plain' },
        body: 'x',
      }),
      service().raw('/v1/domains', { method: 'POST', headers: json, body: `"${'x'.repeat(100_000)}"` }),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([401, 404, 404, 405, 400, 400, 415, 413]);
    for (const answer of refused) {
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      const body: AnyBody = await answer.json();
      expect(Object.keys(body)).toEqual(['error']);
      expect(body.error).toMatchObject({
        message: expect.stringMatching(/./),
        code: expect.stringMatching(/^[a-z_]+$/),
      });
    }
  });

  test('200: a request succeeded', async () => {
    expect((await get('/v1/messages')).status).toBe(200);
  });

  test('201: a resource was created', async () => {
    expect((await post('/v1/domains', { name: 'created.test' })).status).toBe(201);
  });

  test('202: an asynchronous operation was queued', async () => {
    expect((await post('/v1/messages/send', MESSAGE)).status).toBe(202);
  });

  test('400: invalid parameters; a validation failure carries error.details', async () => {
    const { status, body } = await get('/v1/messages?limit=many');
    expect(status).toBe(400);
    expect(body.error.details).toEqual({ limit: ['limit must be an integer between 1 and 100'] });
  });

  test('401: the message is: invalid or missing API key', async () => {
    const { status, body } = await get('/v1/messages', 'ob_live_nothing');
    expect([status, body.error.message]).toEqual([401, 'invalid or missing API key']);
  });

  test.each(['send', 'read', 'manage', 'admin'] as const)(
    '403: the message names the missing permission %s',
    async (permission) => {
      const others = ['send', 'read', 'manage'].filter((each) => each !== permission);
      const { value } = await service().makeKey({ permissions: others });
      const act = {
        send: () => post('/v1/messages/send', MESSAGE, value),
        read: () => get('/v1/messages', value),
        manage: () => get('/v1/domains', value),
        admin: () => get('/v1/billing', value),
      }[permission];
      const { status, body } = await act();
      expect([status, body.error.message]).toEqual([403, `API key lacks '${permission}' permission`]);
    },
  );

  test('404: a resource does not exist, for example a message', async () => {
    const { status, body } = await get('/v1/messages/msg_aaaaaaaaaaaaaaaaaaaaaaaaaa');
    expect([status, body.error.message]).toEqual([404, 'message not found']);
  });

  test('409: a resource already exists, for example a domain', async () => {
    const { status, body } = await post('/v1/domains', { name: 'example.test' });
    expect([status, body.error.code]).toEqual([409, 'domain_already_exists']);
    expect(body.error.message).toContain('already exists');
  });

  test('422: syntax valid, semantics wrong', async () => {
    const { status, body } = await post('/v1/messages/send', { ...MESSAGE, scheduled_at: '2020-01-01T00:00:00Z' });
    expect([status, body.error.code]).toEqual([422, 'schedule_not_possible']);
  });

  test('429: the body has code rate_limit_exceeded and retry_after, and headers state the wait too', async () => {
    const { value } = await service().makeKey({ permissions: ['read'], rate_limits: { read: 1 } });
    await get('/v1/messages', value);
    const { status, body, headers } = await get('/v1/messages', value);
    expect([status, body.error.code]).toEqual([429, 'rate_limit_exceeded']);
    expect(body.error.retry_after).toBeGreaterThanOrEqual(1);
    expect(body.error.retry_after).toBeLessThanOrEqual(60);
    expect(headers.get('retry-after')).toBe(String(body.error.retry_after));
  });

  test('client rule 4: a retry with the Idempotency-Key is safe', async () => {
    const retry = () =>
      service().ask({
        method: 'POST',
        path: '/v1/messages/send',
        body: MESSAGE,
        headers: { 'idempotency-key': 'retry' },
      });
    const [first, second] = await Promise.all([retry(), retry()]);
    expect(second.body).toEqual(first.body);
  });

  test('client rule 5: responses carry a request identifier in their headers', async () => {
    const answers = [await get('/v1/messages'), await get('/v1/messages/nothing'), await get('/v1/messages', 'x')];
    const ids = answers.map(({ headers }) => headers.get('x-request-id'));
    for (const id of ids) expect(id).toMatch(/^req_/);
    expect(new Set(ids).size).toBe(3);
  });
});

describe('§8 Limits', () => {
  test.each([
    ['send', 'Send email', 100],
    ['read', 'Read endpoints', 1000],
    ['manage', 'Management', 100],
  ] as const)('%s (%s): %i per minute by default', async (permission, _action, limit) => {
    const made = await post('/v1/api-keys', { name: 'x', domain_id: service().domainId, permissions: [permission] });
    const { key } = made.body;
    const act = {
      send: () => post('/v1/messages/send', {}, key),
      read: () => get('/v1/stats?from=x', key),
      manage: () => post('/v1/domains', {}, key),
    }[permission];
    const statuses: number[] = [];
    for (let asked = 0; asked < limit + 5; asked += 25) {
      const rest = Math.min(25, limit + 5 - asked);
      statuses.push(...(await Promise.all(Array.from({ length: rest }, async () => (await act()).status))));
    }
    expect(statuses.filter((status) => status !== 429)).toHaveLength(limit);
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
  });

  test('different kinds of action are counted separately', async () => {
    const { value } = await service().makeKey({ permissions: ['send', 'read'], rate_limits: { send: 1, read: 1 } });
    expect((await post('/v1/messages/send', MESSAGE, value)).status).toBe(202);
    expect((await get('/v1/messages', value)).status).toBe(200);
    expect((await post('/v1/messages/send', MESSAGE, value)).status).toBe(429);
    expect((await get('/v1/messages', value)).status).toBe(429);
  });

  test('responses state the limit and the remaining requests, in both generations of headers', async () => {
    const { value } = await service().makeKey({ permissions: ['read'], rate_limits: { read: 10 } });
    const { headers } = await get('/v1/messages', value);
    expect(headers.get('ratelimit-policy')).toBe('"read";q=10;w=60');
    expect(headers.get('ratelimit')).toMatch(/^"read";r=9;t=\d+$/);
    const older = ['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`ratelimit-${name}`)));
    expect(older).toEqual([10, 9, expect.any(Number)]);
  });
});

describe('§9 Versioning', () => {
  test('the API version is in the path prefix /v1/', async () => {
    const { paths }: AnyBody = await (await service().raw('/openapi.json')).json();
    const guarded = Object.entries<Record<string, { security?: unknown[] }>>(paths).filter(([, operations]) =>
      Object.values(operations).some(({ security }) => (security ?? []).length > 0),
    );
    expect(guarded.length).toBeGreaterThan(10);
    for (const [path] of guarded) expect(path).toMatch(/^\/v1\//);
    expect((await get('/v2/messages')).status).toBe(404);
  });
});
