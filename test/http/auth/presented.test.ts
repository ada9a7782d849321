import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { formatSecret } from '../../../src/domain/api-key/secret.ts';
import { sha256Hex } from '../../../src/domain/kernel/digest.ts';
import {
  type AuthContext,
  authenticateRequest,
  BROWSER_COOKIE,
  cookieOf,
  cookiesIn,
  OIDC_COOKIE,
  SESSION_COOKIE,
} from '../../../src/http/auth/authenticate.ts';
import { callerWith } from '../../support/controls/api-key.ts';
import { createSteppableSystem } from '../../support/system.ts';

const KEY = formatSecret('live', randomBytes(32));
const SECRET = formatSecret('session', randomBytes(32));

const PUBLIC_URL = 'https://mail.example.test';
const LOOPBACK_URL = 'http://localhost:3000';
const SESSION = '__Host-outbox_session';

type RequestParts = Pick<FastifyRequest, 'protocol' | 'host' | 'hostname' | 'headers' | 'method' | 'query'>;

const request = (headers: RequestParts['headers'], more: Partial<RequestParts> = {}): RequestParts => ({
  ...{ protocol: 'https', host: 'mail.example.test', hostname: 'mail.example.test', method: 'GET', query: {} },
  ...more,
  headers,
});

/** A service that knows a key and a session. @returns how it takes a request, or the error. */
const ask = async (asked: RequestParts, publicUrl = PUBLIC_URL, tokenHeader?: string) => {
  const system = createSteppableSystem();
  const far = '9999-01-01T00:00:00.000Z';
  let isAlive = false;
  const found = new Map<string, object>([
    [sha256Hex(KEY), { holder: { kind: 'key', key: { keyId: 'key_1', rateLimits: {} } }, carrier: 'bearer' }],
    [
      sha256Hex(SECRET),
      { holder: { kind: 'session', session: { startedAt: far, expiresAt: far } }, carrier: 'cookie', endsAt: far },
    ],
  ]);
  const auth = {
    ...{ system, publicUrl, catchUpLimit: { take: () => true }, usageMarks: { mark: () => undefined } },
    keyCache: {
      isFresh: () => true,
      find: (hash: string) => ({ endsAt: null, ranges: [], ...found.get(hash) }),
      settingsOf: () => ({ sessionIdleMinutes: 60, sessionHours: 8 }),
      callerOf: (_: object, environment: 'live' | 'test') => callerWith({ environment }),
      changes: () => 0,
      ceilingsOf: () => null,
    },
    sessionActivity: {
      isIdle: async () => false,
      note: () => {
        isAlive = true;
      },
    },
    rateLimiter: {
      take: async () => ({ allowed: true, limit: 1, remaining: 1, resetSeconds: 1, retryAfterSeconds: 0 }),
    },
    ownersOf: async () => [],
  } as unknown as AuthContext;
  const reply = { header: () => reply } as unknown as FastifyReply;
  const given = { ...asked, ip: '192.0.2.1' } as unknown as FastifyRequest;
  const rule = { kind: 'read', ...(tokenHeader !== undefined && { tokenHeader }) } as Parameters<
    typeof authenticateRequest
  >[1];
  const error: unknown = await authenticateRequest(auth, rule, given, reply).catch((thrown: unknown) => thrown);
  const authenticated = given.authenticated ?? null;
  return {
    error: error as { readonly code: string; readonly details?: object } | undefined,
    by: authenticated?.presented.carrier ?? null,
    environment: authenticated?.caller.environment ?? null,
    isAlive,
  };
};

const OWN = { 'sec-fetch-site': 'same-origin' } as const;

const UNAUTHORIZED = { code: 'unauthorized' };

describe('a key in `Authorization`', () => {
  test.each([`Bearer ${KEY}`, `bearer   ${KEY}  `])('is accepted as %j', async (authorization) => {
    expect(await ask(request({ authorization }))).toMatchObject({
      by: 'bearer',
      environment: 'live',
      error: undefined,
    });
  });

  test.each([
    ['Bearer', 'is malformed'],
    [`Basic ${KEY}`, 'is malformed'],
    [`Bearer ${KEY} x`, 'is malformed'],
    [KEY, 'is malformed'],
    [undefined, 'is required'],
  ])('is refused as %j: it %s', async (authorization, problem) => {
    const { error, by } = await ask(request(authorization === undefined ? {} : { authorization }));
    expect([by, error?.code]).toEqual([null, 'unauthorized']);
    expect(JSON.stringify(error?.details)).toContain(`Authorization ${problem}`);
  });

  test('is accepted even if cookies of other services are sent', async () => {
    const headers = { authorization: `Bearer ${KEY}`, cookie: 'other=1' };
    expect(await ask(request(headers))).toMatchObject({ by: 'bearer', error: undefined });
  });

  test('may be in a header of its own, once', async () => {
    const header = 'x-token';
    expect(await ask(request({ [header]: KEY }), PUBLIC_URL, header)).toMatchObject({ by: 'bearer' });
    for (const headers of [{}, { [header]: [KEY, KEY] }, { authorization: `Bearer ${KEY}` }])
      expect((await ask(request(headers), PUBLIC_URL, header)).error).toMatchObject(UNAUTHORIZED);
  });
});

describe('the cookie of a session', () => {
  const COOKIE = `${SESSION}=${SECRET}`;

  test.each([
    [COOKIE, PUBLIC_URL, 'https', 'cookie'],
    [COOKIE, PUBLIC_URL, 'http', 'cookie'], // a proxy speaks TLS
    [COOKIE, LOOPBACK_URL, 'https', 'cookie'],
    [`outbox_session=${SECRET}`, LOOPBACK_URL, 'http', 'cookie'],
    [`outbox_session=${SECRET}`, PUBLIC_URL, 'https', null], // any host could have set it
    [COOKIE, LOOPBACK_URL, 'http', null],
  ] as const)(
    'has the prefix where browsers reach the service by TLS (%#)',
    async (cookie, publicUrl, protocol, by) => {
      expect((await ask(request({ cookie }, { protocol }), publicUrl)).by).toBe(by);
    },
  );

  test('is found by its exact name among others', async () => {
    const cookie = `a=1; x${SESSION}=no; ${SESSION}=abc=; b=${SESSION}=no`;
    expect(cookiesIn(request({ cookie }), SESSION_COOKIE, true)).toEqual(['abc=']);
    expect((await ask(request({ cookie: `a=${SESSION}=x; ${COOKIE}` }))).by).toBe('cookie');
  });

  test('is ignored if there are two: another site or page has set one', async () => {
    for (const other of ['x', SECRET])
      expect(await ask(request({ cookie: `${COOKIE}; ${SESSION}=${other}` }))).toMatchObject({
        ...{ by: null, error: UNAUTHORIZED },
      });
  });

  test('is refused together with a key', async () => {
    const { error } = await ask(request({ cookie: COOKIE, authorization: `Bearer ${KEY}` }));
    expect(error).toMatchObject({ code: 'invalid_request' });
  });

  test.each([
    [{ limit: '1' }, 'live', undefined, { limit: '1' }],
    [{ environment: 'test', limit: '1' }, 'test', undefined, { limit: '1' }],
    [{ environment: 'other' }, 'live', 'invalid_request', {}],
  ])('has an environment in the query, which routes do not see: %j', async (query, environment, code, left) => {
    const answer = await ask(request({ cookie: COOKIE }, { query }));
    expect([answer.environment, answer.error?.code, query]).toEqual([environment, code, left]);
  });

  test.each([
    ['1', false],
    ['0', true],
    [undefined, true],
  ])('is kept alive with X-Unattended %s: %s', async (value, isAlive) => {
    const headers = { cookie: COOKIE, ...(value !== undefined && { 'x-unattended': value }) };
    expect((await ask(request(headers))).isAlive).toBe(isAlive);
  });

  const change = (headers: RequestParts['headers'], method: string) =>
    ask(request({ cookie: COOKIE, ...headers }, { method }));

  test.each([[OWN], [{ origin: 'https://mail.example.test' }], [{ ...OWN, origin: 'https://mail.example.test' }]])(
    'allows changes by pages of this service: %j',
    async (headers) => {
      expect(await change(headers, 'POST')).toMatchObject({ by: 'cookie', error: undefined });
    },
  );

  test.each([
    [{}],
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site' }],
    [{ 'sec-fetch-site': 'none' }],
    [{ 'sec-fetch-site': 'cross-site', origin: 'https://mail.example.test' }],
    [{ ...OWN, origin: 'null' }],
    [{ origin: 'null' }],
    [{ origin: 'https://evil.example' }],
    [{ origin: 'http://mail.example.test' }],
    [{ origin: 'https://mail.example.test.evil.example' }],
  ])('allows no changes with %j, and reading', async (headers) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect((await change(headers, method)).error).toMatchObject({ code: 'cross_site_request' });
    for (const method of ['GET', 'HEAD', 'OPTIONS'])
      expect(await change(headers, method)).toMatchObject({ by: 'cookie', error: undefined });
  });
});

test.each([
  [SESSION_COOKIE, true, '__Host-outbox_session=v; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=60'],
  [SESSION_COOKIE, false, 'outbox_session=v; HttpOnly; SameSite=Strict; Path=/; Max-Age=60'],
  [BROWSER_COOKIE, true, '__Host-outbox_browser=v; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=60'],
  [OIDC_COOKIE, true, '__Host-outbox_oidc=v; HttpOnly; Secure; SameSite=Lax; Path=/; Max-Age=60'],
] as const)('the cookie %s, by TLS %s, is %s', (cookie, secure, text) => {
  expect(cookieOf(cookie, secure, 'v', 60)).toBe(text);
});
