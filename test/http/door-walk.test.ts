import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Permission } from '../../src/domain/api-key/permissions.ts';
import { formatSecret, readSecret } from '../../src/domain/api-key/secret.ts';
import { formatId, type IdPrefix } from '../../src/domain/ids.ts';
import { isRouteName, methodAndUrl, ROUTES, type RouteName, type RouteRule } from '../../src/http/route-table.ts';
import { type Service, startService } from './support/service.ts';

const PERMISSIONS: readonly Permission[] = ['send', 'read', 'manage', 'admin'];

const guarded = Object.keys(ROUTES)
  .filter(isRouteName)
  .flatMap((name) => {
    const rule: RouteRule = ROUTES[name];
    return rule.permission === null ? [] : [{ name, rule }];
  });

const PREFIXES: Readonly<Record<string, IdPrefix>> = {
  messages: 'msg',
  'api-keys': 'key',
  domains: 'dom',
  webhooks: 'whk',
};

let service: Service;
let organizationId: string;
let domainId: string;
let addresses = 0;

/** Failures are counted by address: each request of the walk comes from another. */
const nextAddress = (): string => {
  addresses += 1;
  return `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`;
};

/** The route, asked for something that does not exist. */
const ask = (name: RouteName, headers: Record<string, string>) => {
  const { method, url } = methodAndUrl(name);
  const prefix = PREFIXES[url.split('/')[2] ?? ''] ?? 'msg';
  return service.request({
    method: method as 'GET',
    url: url.replace(':id', formatId(prefix, new Uint8Array(16))),
    headers,
    remoteAddress: nextAddress(),
    ...(method === 'POST' ? { payload: {} } : {}),
  });
};

const withKey = (value: string): Record<string, string> => ({ authorization: `Bearer ${value}` });

beforeAll(async () => {
  service = await startService();
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
});
afterAll(() => service.close());

const unknownKey = formatSecret('live', new Uint8Array(32).fill(7));
const REFUSED: Readonly<Record<string, Record<string, string>>> = {
  'no Authorization header': {},
  'a header that is not Bearer': { authorization: `Basic ${unknownKey}` },
  'a Bearer without a value': { authorization: 'Bearer ' },
  'a value that does not start with ob_': withKey(`sk_live_${unknownKey.slice(8)}`),
  'a value with a bad checksum': withKey(`${unknownKey.slice(0, -1)}${unknownKey.endsWith('0') ? '1' : '0'}`),
  'a value that was never issued': withKey(unknownKey),
};

describe.each(guarded)('$name', ({ name, rule }) => {
  test.each(Object.entries(REFUSED))('answers %s with 401', async (_what, headers) => {
    const answer = await ask(name, headers);
    expect(answer.statusCode).toBe(401);
    expect(answer.json()).toEqual({ error: { message: 'invalid or missing API key', code: 'unauthorized' } });
    expect(answer.headers['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/);
  });

  test('answers a revoked key with 401', async () => {
    const admin = await service.makeKey(organizationId, domainId);
    const { id, value } = await service.makeKey(organizationId, domainId);
    const revoked = await service.request({ method: 'POST', url: `/v1/api-keys/${id}/revoke`, key: admin.value });
    expect(revoked.statusCode).toBe(200);
    expect((await ask(name, withKey(value))).statusCode).toBe(401);
  });

  test.each(PERMISSIONS)('tells a key with %s alone whether that is enough', async (permission) => {
    const { value } = await service.makeKey(organizationId, domainId, { permissions: [permission] });
    const answer = await ask(name, withKey(value));
    if (permission === rule.permission || permission === 'admin') {
      expect(answer.json()?.error?.code).not.toBe('permission_missing');
    } else {
      expect(answer.statusCode).toBe(403);
      expect(answer.json().error.message).toBe(`API key lacks '${rule.permission}' permission`);
    }
    expect(answer.headers['ratelimit-policy']).toMatch(new RegExp(`^"${rule.kind}";q=\\d+;w=60$`));
    expect(answer.headers['ratelimit-limit']).toBe('1000000');
  });

  test('tells a test key whether its environment is accepted', async () => {
    const { value } = await service.makeKey(organizationId, domainId, { environment: 'test' });
    expect(readSecret(value)).toBe('test');
    const answer = await ask(name, withKey(value));
    const code = answer.statusCode < 300 ? null : answer.json().error.code;
    if (rule.environments.length === 1) expect(code).toBe('environment_not_allowed');
    else expect(code).not.toBe('environment_not_allowed');
  });

  test('refuses the Idempotency-Key unless it takes it', async () => {
    const { value } = await service.makeKey(organizationId, domainId);
    const answer = await ask(name, { ...withKey(value), 'idempotency-key': 'once' });
    if (rule.idempotent === true) expect(answer.json().error.code).not.toBe('header_not_allowed');
    else
      expect(answer.json().error).toMatchObject({
        code: 'header_not_allowed',
        details: { 'Idempotency-Key': expect.any(Array) },
      });
  });

  if (name.includes(':id'))
    test('answers an id that cannot exist with 404', async () => {
      const { value } = await service.makeKey(organizationId, domainId);
      const { method, url } = methodAndUrl(name);
      const answer = await service.request({ method: method as 'GET', url: url.replace(':id', 'nothing'), key: value });
      expect(answer.statusCode).toBe(404);
      expect(answer.json().error.code).toBe('not_found');
    });
});
