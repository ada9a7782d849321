import type { FastifyReply } from 'fastify';
import { describe, expect, test } from 'vitest';
import type { RateLimitResult } from '../../../src/domain/kernel/rate-limits.ts';
import { consumeRateLimit, consumeSignInLimit, createCatchUpLimit } from '../../../src/http/auth/limits.ts';
import { createSteppableSystem } from '../../support/system.ts';

/** Catch-ups that unknown keys of one network may cause in a minute. */
const CATCH_UPS_MAX = 20;
const WINDOW_MS = 60_000;
/** Networks whose catch-ups are counted. */
const NETWORKS_MAX = 10_000;

const takes = (limit: ReturnType<typeof createCatchUpLimit>, address: string, count: number): number =>
  Array.from({ length: count }, () => limit.take(address)).filter(Boolean).length;

describe('the limit of catch-ups', () => {
  test('allows 20 a minute, from the first on', async () => {
    const system = createSteppableSystem();
    const limit = createCatchUpLimit(system);
    expect(takes(limit, '192.0.2.1', 100)).toBe(CATCH_UPS_MAX);
    await system.advance(WINDOW_MS - 1);
    expect(takes(limit, '192.0.2.1', 1)).toBe(0);
    await system.advance(1);
    expect(takes(limit, '192.0.2.1', 100)).toBe(CATCH_UPS_MAX);
  });

  test('is of one network: all addresses of a customer with IPv6 share it', () => {
    const limit = createCatchUpLimit(createSteppableSystem());
    expect(takes(limit, '192.0.2.1', 100)).toBe(CATCH_UPS_MAX);
    expect(takes(limit, '192.0.2.2', 100)).toBe(CATCH_UPS_MAX);
    expect(takes(limit, '2001:db8::1', 10)).toBe(10);
    expect(takes(limit, '2001:db8::2', 100)).toBe(10);
  });

  test('forgets the network that has been counted for longest when there are too many', () => {
    const limit = createCatchUpLimit(createSteppableSystem());
    const addresses = Array.from({ length: NETWORKS_MAX }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
    for (const address of addresses) takes(limit, address, CATCH_UPS_MAX);
    expect(takes(limit, addresses[0] ?? '', 1)).toBe(0);
    takes(limit, '192.0.2.1', 1);
    expect(takes(limit, addresses[1] ?? '', 1)).toBe(0);
    expect(takes(limit, addresses[0] ?? '', 1)).toBe(1);
  });
});

/** A limiter with this result, and the headers of the response. */
const consume = async (result: RateLimitResult, isHttp = true) => {
  const headers: Record<string, unknown> = {};
  const taken: unknown[] = [];
  const reply = {
    header: (name: string, value: unknown) => {
      headers[name] = value;
      return reply;
    },
  } as unknown as FastifyReply;
  const auth = {
    rateLimiter: {
      take: async (...asked: unknown[]) => {
        taken.push(asked);
        return result;
      },
    },
    keyCache: { ceilingsOf: () => null },
  } as unknown as Parameters<typeof consumeRateLimit>[0];
  const authenticated = { caller: { keyId: 'key_1', organizationId: 'org_1' }, rateLimits: { read: 5 } };
  const error = await consumeRateLimit(auth, authenticated, { kind: 'read', count: 2 }, isHttp ? reply : null).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return { headers, taken, error };
};

const ALLOWED: RateLimitResult = { allowed: true, limit: 5, remaining: 3, resetSeconds: 42, retryAfterSeconds: 0 };

describe('a rate limit', () => {
  test('is counted for the key and the kind of request, and shown', async () => {
    const { headers, taken, error } = await consume(ALLOWED);
    expect([taken, error]).toEqual([[['key_1:read', 2, 5]], null]);
    expect(headers).toEqual({
      'ratelimit-policy': '"read";q=5;w=60',
      ratelimit: '"read";r=3;t=42',
      ...{ 'ratelimit-limit': 5, 'ratelimit-remaining': 3, 'ratelimit-reset': 42 },
    });
  });

  test.each([
    [7, 7],
    [0, 1],
  ])('that is used up for %i s names one time in all fields: %i s', async (retryAfterSeconds, named) => {
    const { headers, error } = await consume({ ...ALLOWED, allowed: false, remaining: 0, retryAfterSeconds });
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', retryAfterSeconds: named });
    expect(headers).toMatchObject({ ratelimit: `"read";r=0;t=${named}`, 'ratelimit-reset': named });
  });

  test('works for a protocol without such headers', async () => {
    expect(await consume(ALLOWED, false)).toMatchObject({ headers: {}, error: null });
    const { error } = await consume({ ...ALLOWED, allowed: false, retryAfterSeconds: 3 }, false);
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', retryAfterSeconds: 3 });
  });

  test('of attempts to sign in is counted by network, each way apart', async () => {
    const taken: unknown[] = [];
    let allowed = true;
    const rateLimiter = {
      take: async (...asked: unknown[]) => {
        taken.push(asked);
        return { ...ALLOWED, allowed, retryAfterSeconds: 0 };
      },
    } as unknown as Parameters<typeof consumeSignInLimit>[0]['rateLimiter'];
    await consumeSignInLimit({ rateLimiter }, 'sign-in', '192.0.2.1');
    await consumeSignInLimit({ rateLimiter }, 'oidc', '192.0.2.1');
    expect(taken).toMatchObject([
      [expect.stringMatching(/^sign-in:192\.0\.2\.1/), 1, 20],
      [expect.stringMatching(/^oidc:192\.0\.2\.1/), 1, 20],
    ]);
    allowed = false;
    await expect(consumeSignInLimit({ rateLimiter }, 'sign-in', '192.0.2.1')).rejects.toMatchObject({
      ...{ code: 'rate_limit_exceeded', retryAfterSeconds: 1 },
    });
  });
});
