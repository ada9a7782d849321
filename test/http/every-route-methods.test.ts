import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { methodsOf } from '../../src/http/route-table.ts';
import { type Service, startService } from './support/service.ts';
import { expectAnswer, HOLDERS, openWalkTenant, requestOf, type WalkTenant } from './support/walk.ts';
import {
  expectedOf,
  GUARDED,
  type Holder,
  type Kind,
  OPEN_ROUTES,
  UNAUTHORIZED,
  unauthorizedFor,
} from './support/walk-routes.ts';
import { bearer } from './support/walk-strangers.ts';

const ADMIN: Holder = { permission: 'admin', environment: 'live' };
/** Methods that few or no routes of the table have. */
const OTHER_METHODS = ['OPTIONS', 'TRACE', 'PUT', 'QUERY', 'PROPFIND'] as const;

let service: Service;
let own: WalkTenant;
let other: WalkTenant;

beforeAll(async () => {
  // The document describes no HEAD responses. They are compared with those of GET instead.
  service = await startService({}, () => undefined);
  own = await openWalkTenant(service);
  other = await openWalkTenant(service);
});
afterAll(() => service.close());

const idOf = async (tenant: WalkTenant, kind: Kind | null): Promise<string> =>
  kind === null ? '' : tenant.make(kind, 'live');

describe.each(GUARDED.filter(({ method }) => method === 'GET'))('HEAD instead of $name', (route) => {
  const ask = (method: 'GET' | 'HEAD', id: string, headers: Readonly<Record<string, string>>) =>
    service.request({ ...requestOf(route, own, id), method, headers });

  test.each(HOLDERS)('answers a $environment key with $permission as GET does, without a body', async (holder) => {
    for (const tenant of [own, other]) {
      const id = await idOf(tenant, route.kind);
      const headers = bearer(own.keyOf(holder));
      const [got, head] = [await ask('GET', id, headers), await ask('HEAD', id, headers)];
      const { error, status } = expectedOf(route.rule, holder);
      if (error !== null) expect(head.statusCode).toBe(status);
      expect([head.statusCode, head.body, head.headers.etag]).toEqual([got.statusCode, '', got.headers.etag]);
    }
  });

  test('never answers 401', async () => {
    const answer = await ask('HEAD', await idOf(own, route.kind), {});
    expect([answer.statusCode, answer.body]).toEqual([UNAUTHORIZED.status, '']);
  });
});

const paths = [...new Map(GUARDED.map((route) => [route.url, route])).values()];

const answerTo = async (route: (typeof paths)[number], method: string, headers: Readonly<Record<string, string>>) => {
  const { url, remoteAddress } = requestOf(route, own, await idOf(own, route.kind));
  const [path = ''] = String(url).split('?');
  const asked = { method: method as 'GET', url: path, headers, ...(remoteAddress ? { remoteAddress } : {}) };
  return { path, answer: await service.request(asked) };
};

describe.each(paths)('$url', (route) => {
  const others = OTHER_METHODS.filter((method) => !methodsOf(route.url).includes(method));

  test.each(others)('answers %s with 405, and with 401 without a key', async (method) => {
    expectAnswer((await answerTo(route, method, {})).answer, unauthorizedFor(undefined));
    const { path, answer } = await answerTo(route, method, bearer(own.keyOf(ADMIN)));
    const allowed = methodsOf(path).join(', ');
    expectAnswer(answer, { status: 405, error: { code: 'method_not_allowed', message: `${path} accepts ${allowed}` } });
    expect(answer.headers.allow).toBe(allowed);
  });
});

describe.each(paths.filter(({ url }) => !methodsOf(url).includes('GET')))('$url, which has no GET', (route) => {
  test('answers HEAD with 405', async () => {
    const { answer } = await answerTo(route, 'HEAD', bearer(own.keyOf(ADMIN)));
    expect([answer.statusCode, answer.body]).toEqual([405, '']);
  });
});

describe('a path that does not exist', () => {
  test.each(['GET', 'POST', ...OTHER_METHODS])('is 404 for %s, under /v1 only with a key', async (method) => {
    const key = own.keyOf(ADMIN);
    const refusal = (url: string) => ({
      status: 404,
      error: { code: 'not_found', message: `no such endpoint: ${method} ${url}` } as const,
    });
    for (const url of ['/v1', '/v1/', '/v1/nothing', '/v1/messages/x/y/z']) {
      const remoteAddress = '192.0.2.1';
      expectAnswer(await service.request({ method: method as 'GET', url, key, remoteAddress }), refusal(url));
    }
    for (const url of ['/nothing', '/metrics'])
      expectAnswer(await service.request({ method: method as 'GET', url }), refusal(url));
    for (const url of ['/V1/messages', '//v1/messages', '/messages']) {
      const { status, error } = refusal(url);
      const message = `${error.message}. Did you mean /v1/messages?`;
      expectAnswer(await service.request({ method: method as 'GET', url }), { status, error: { ...error, message } });
    }
  });

  test.each([
    ['/v1/mesages/send', '/v1/messages/send'],
    ['/v1/message', '/v1/messages'],
    ['/v1/apikeys', '/v1/api-keys'],
    [`/v1/api-keys/key_${'a'.repeat(26)}/rotat`, `/v1/api-keys/key_${'a'.repeat(26)}/rotate`],
    ['/v1/webhoks/whk_1/deliverys', '/v1/webhooks/whk_1/deliveries'],
  ])('suggests for %s the path %s', async (url, similar) => {
    const { body } = await service.request({ method: 'POST', url, key: own.keyOf(ADMIN) });
    expect(JSON.parse(body).error.message).toBe(`no such endpoint: POST ${url}. Did you mean ${similar}?`);
  });

  test('is shown shortened, and compared in bounded time', async () => {
    const url = `/v1/${'a'.repeat(8_000)}`;
    const { body } = await service.request({ url, key: own.keyOf(ADMIN) });
    expect(JSON.parse(body).error.message).toBe(`no such endpoint: GET ${url.slice(0, 100)}…`);
  });
});

describe.each(OPEN_ROUTES)('%s', (name) => {
  test('gives the same response with a key, a bad key or none', async () => {
    const [method, url = ''] = name.split(' ');
    const ask = async (headers: Record<string, string>) => {
      const asked = { method: method as 'GET', url: url.replace(':token', 'none'), headers };
      const { statusCode, body } = await service.request(asked);
      return [statusCode, body.replaceAll(/req_\w+/g, 'req')];
    };
    const answer = await ask({});
    expect(answer[0]).not.toBe(401);
    for (const headers of [bearer(own.keyOf(ADMIN)), bearer('ob_live_x'), { authorization: 'x' }])
      expect(await ask({ ...headers })).toEqual(answer);
  });
});
