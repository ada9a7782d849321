import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { rotateKey } from '../../../src/commands/api-key.ts';
import { createKeyCacheProjection } from '../../../src/domain/api-key/key-cache-projection.ts';
import { formatSecret } from '../../../src/domain/api-key/secret.ts';
import { createSteppableSystem } from '../../support/system.ts';
import { operator, type Service, startService } from '../support/service.ts';

let service: Service;
let organizationId: string;
let domainId: string;

const start = async (overrides: Parameters<typeof startService>[0] = {}): Promise<void> => {
  service = await startService(overrides);
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
};
afterEach(() => service.close());

const statusOf = async (key: string, more: object = {}): Promise<number> =>
  (await service.request({ url: '/v1/organization', key, ...more })).statusCode;

describe('a rotated key', () => {
  beforeEach(() => start());

  test('accepts both secrets during the grace period, and only its new one without', async () => {
    const { id, value } = await service.makeKey(organizationId, domainId);
    const rotated = await service.request({ method: 'POST', url: `/v1/api-keys/${id}/rotate`, key: value });
    expect(rotated.statusCode).toBe(200);
    expect(rotated.headers['cache-control']).toBe('no-store');
    const second = rotated.json();
    expect(second.earlier_secrets).toEqual([
      { expires_at: second.previous_key_expires_at, last_used_at: expect.any(String), last4: value.slice(-4) },
    ]);
    expect(await statusOf(value)).toBe(200);
    expect(await statusOf(second.key)).toBe(200);
    const again = await service.request({
      method: 'POST',
      url: `/v1/api-keys/${id}/rotate`,
      key: second.key,
      payload: { revoke_previous: true },
    });
    expect(await statusOf(value)).toBe(401);
    expect(await statusOf(second.key)).toBe(401);
    expect(await statusOf(again.json().key)).toBe(200);
  });

  test('shares one limit among its secrets', async () => {
    const { id, value } = await service.makeKey(organizationId, domainId, { rateLimits: { read: 3 } });
    const { value: next } = await rotateKey(service.deps.context, operator(organizationId), {
      by: 'operator',
      keyId: id,
      gracePeriodMinutes: 5,
      revokePrevious: false,
      loadKeyCache: async () => createKeyCacheProjection(),
    });
    expect([await statusOf(value), await statusOf(next), await statusOf(value), await statusOf(next)]).toEqual([
      200, 200, 200, 429,
    ]);
  });
});

describe('a key', () => {
  test('works from the moment it is in the log, wherever it was made', async () => {
    await start();
    const { value } = await service.makeKey(organizationId, domainId);
    expect(await statusOf(value)).toBe(200);
  });

  test('ends at its expiry', async () => {
    const system = createSteppableSystem();
    await start({ context: { system } });
    const expiresAt = new Date(system.now().getTime() + 60_000).toISOString();
    const { value } = await service.makeKey(organizationId, domainId, { expiresAt });
    expect(await statusOf(value)).toBe(200);
    await system.advance(60_000);
    expect(await statusOf(value)).toBe(401);
  });

  test('is refused from an address outside its list, and accepted from one inside', async () => {
    await start();
    const { value } = await service.makeKey(organizationId, domainId, {
      allowedCidrs: ['192.0.2.0/24', '2001:db8::/32'],
    });
    const outside = await service.request({ url: '/v1/organization', key: value, remoteAddress: '198.51.100.1' });
    expect(outside.statusCode).toBe(403);
    expect(outside.json().error.code).toBe('address_not_allowed');
    for (const remoteAddress of ['192.0.2.77', '::ffff:192.0.2.77', '2001:db8::1']) {
      expect(await statusOf(value, { remoteAddress })).toBe(200);
    }
  });

  test('has its address taken from X-Forwarded-For through trusted proxies only', async () => {
    await start({ trustedProxies: ['10.0.0.0/8'] });
    const { value } = await service.makeKey(organizationId, domainId, { allowedCidrs: ['192.0.2.1'] });
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    expect(await statusOf(value, { headers, remoteAddress: '10.1.2.3' })).toBe(200);
    expect(await statusOf(value, { headers, remoteAddress: '203.0.113.9' })).toBe(403);
  });
});

describe('authentication', () => {
  /** A service with a key. Its log can be made unavailable, and reads of it are counted. */
  const startWithLog = async () => {
    const system = createSteppableSystem();
    const log = { away: false, reads: 0 };
    await start({ context: { system } });
    const { value } = await service.makeKey(organizationId, domainId);
    await service.server.close();
    const { store } = service.deps.context;
    service = await startService({
      ...service.deps,
      keyStore: {
        head: () => {
          log.reads += 1;
          return log.away ? new Promise(() => undefined) : store.head();
        },
        readAll: (options) => store.readAll(options),
      },
    });
    return { system, log, value };
  };

  const unknown = (): string => formatSecret('live', randomBytes(32));

  describe('with another client at the same address that presents wrong keys', () => {
    test('answers every one of them 401, and still accepts valid keys', async () => {
      const { value } = await startWithLog();
      for (let turn = 0; turn < 30; turn += 1) {
        expect(await statusOf('wrong')).toBe(401);
        if (turn < 20) expect(await statusOf(unknown())).toBe(401);
        expect(await statusOf(value)).toBe(200);
      }
      expect(await statusOf(value, { remoteAddress: '203.0.113.9' })).toBe(200);
    });

    test('reads the log for 20 of them a minute, and answers the others by the next regular read', async () => {
      const { system, log, value } = await startWithLog();
      const before = log.reads;
      for (let turn = 0; turn < 20; turn += 1) expect(await statusOf(unknown())).toBe(401);
      expect(log.reads - before).toBe(20);
      const asked = Promise.all(Array.from({ length: 50 }, () => statusOf(unknown())));
      await system.advance(250);
      expect(await asked).toEqual(Array(50).fill(401));
      expect(log.reads - before).toBe(21);
      expect(await statusOf(value)).toBe(200);
      expect(await statusOf(unknown(), { remoteAddress: '203.0.113.9' })).toBe(401);
      await system.advance(60_000);
      const later = log.reads;
      expect(await statusOf(unknown())).toBe(401);
      expect(log.reads - later).toBe(1);
    });

    test('accepts a key that was made elsewhere a moment ago', async () => {
      const { system } = await startWithLog();
      for (let turn = 0; turn < 20; turn += 1) expect(await statusOf(unknown())).toBe(401);
      const { value } = await service.makeKey(organizationId, domainId);
      const asked = statusOf(value);
      await system.advance(250);
      expect(await asked).toBe(200);
    });
  });

  test('answers 503 when the log has not been read for 900 ms, and recovers on its own', async () => {
    const { system, log, value } = await startWithLog();
    expect(await statusOf(value)).toBe(200);
    log.away = true;
    await system.advance(800);
    expect(await statusOf(value)).toBe(200);
    await system.advance(200);
    const asked = service.request({ url: '/v1/organization', key: value });
    await system.advance(1_000);
    const answer = await asked;
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('1');
    log.away = false;
    await system.advance(3_000);
    expect(await statusOf(value)).toBe(200);
  });

  test('refuses a bad checksum without a look-up, even while the log is unavailable', async () => {
    const { system, log, value } = await startWithLog();
    log.away = true;
    await system.advance(1_000);
    const before = log.reads;
    const misspelt = `${value.slice(0, -1)}${value.endsWith('0') ? '1' : '0'}`;
    for (let turn = 0; turn < 30; turn += 1) expect(await statusOf(misspelt)).toBe(401);
    expect(log.reads).toBe(before);
    log.away = false;
    await system.advance(3_000);
  });

  test('distinguishes an unknown path from an unknown method for authenticated requests', async () => {
    await start();
    const { value } = await service.makeKey(organizationId, domainId);
    const nowhere = await service.request({ url: '/v1/nothing', key: value });
    expect([nowhere.statusCode, nowhere.json().error.code]).toEqual([404, 'not_found']);
    const method = await service.request({ method: 'DELETE', url: '/v1/api-keys', key: value });
    expect([method.statusCode, method.json().error.code]).toEqual([405, 'method_not_allowed']);
    expect(method.headers.allow).toBe('POST, GET');
    expect((await service.request({ url: '/v1/nothing' })).statusCode).toBe(401);
    expect((await service.request({ url: '/nothing' })).statusCode).toBe(404);
  });

  test('refuses the (limit + 1)th request of a minute with the time to wait', async () => {
    await start();
    const { value } = await service.makeKey(organizationId, domainId, { rateLimits: { read: 2 } });
    const first = await service.request({ url: '/v1/organization', key: value });
    expect(first.headers).toMatchObject({
      'ratelimit-policy': '"read";q=2;w=60',
      ratelimit: expect.stringMatching(/^"read";r=1;t=\d+$/),
      'ratelimit-limit': '2',
      'ratelimit-remaining': '1',
      'ratelimit-reset': expect.stringMatching(/^\d+$/),
    });
    await service.request({ url: '/v1/organization', key: value });
    const third = await service.request({ url: '/v1/organization', key: value });
    expect(third.statusCode).toBe(429);
    const { code, retry_after } = third.json().error;
    expect(code).toBe('rate_limit_exceeded');
    expect(retry_after).toBeGreaterThanOrEqual(1);
    expect(third.headers).toMatchObject({
      'retry-after': String(retry_after),
      'ratelimit-reset': String(retry_after),
      ratelimit: `"read";r=0;t=${retry_after}`,
    });
  });

  test('never allows a key more than its organization', async () => {
    await start();
    const bounded = await service.makeOrganization({ read: 1 });
    const domain = await service.makeDomain(bounded, 'bounded.test');
    const { value } = await service.makeKey(bounded, domain);
    expect([await statusOf(value), await statusOf(value)]).toEqual([200, 429]);
  });
});
