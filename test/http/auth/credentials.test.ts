import { randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import type { Caller, CallingMember } from '../../../src/domain/api-key/caller.ts';
import { formatSecret } from '../../../src/domain/api-key/secret.ts';
import { parseRange } from '../../../src/domain/kernel/addresses.ts';
import { sha256Hex } from '../../../src/domain/kernel/digest.ts';
import type { ExistingSession } from '../../../src/domain/member/session.ts';
import { type AuthContext, authenticate, reauthenticate } from '../../../src/http/auth/authenticate.ts';
import type { KeyCache } from '../../../src/http/auth/key-cache.ts';
import type { Credential } from '../../../src/http/auth/key-cache-queries.ts';
import type { GuardedRoute } from '../../../src/http/route-rules.ts';
import { callerWith } from '../../support/controls/api-key.ts';
import { createSteppableSystem } from '../../support/system.ts';

type PresentedCredential = Parameters<typeof authenticate>[1];

const ADDRESS = '192.0.2.1';
/** A check that is younger is not repeated. */
const REAUTHENTICATE_AFTER_MS = 100;
const HOUR_MS = 3_600_000;

const READ: GuardedRoute = { permission: 'read', kind: 'read', environments: ['live'], status: 200, errors: [] };

const MEMBER: CallingMember = {
  ...{ sessionId: 'ses_1', role: 'owner', isOperator: false, presentAt: '2026-01-01T00:00:00.000Z' },
  ...{ withoutContents: false, safeMethodsOnly: false },
};

/** A key cache whose contents a test sets, and what authentication does with it. */
const open = () => {
  const system = createSteppableSystem();
  const at = (ms: number): string => new Date(system.now().getTime() + ms).toISOString();
  const state = {
    ...{ isFresh: true, mayCatchUp: true, isIdle: false, changes: 0, sessionHours: 8 },
    ...{ reads: true, caller: callerWith({ permissions: ['read'] }) as Caller | null },
  };
  const done: string[] = [];
  const credentials = new Map<string, Credential>();
  /** Found only once the log was read. */
  const inLog = new Map<string, Credential>();
  const readLog = async (how: string): Promise<boolean> => {
    done.push(how);
    if (state.reads) for (const [hash, credential] of inLog) credentials.set(hash, credential);
    return state.reads;
  };
  const keyCache = {
    isFresh: () => state.isFresh,
    find: (hash: string) => {
      done.push('find');
      return credentials.get(hash);
    },
    catchUp: () => readLog('catch up'),
    nextRead: () => readLog('next read'),
    settingsOf: () => ({ sessionIdleMinutes: 60, sessionHours: state.sessionHours }),
    callerOf: () => state.caller,
    changes: () => state.changes,
  } as unknown as KeyCache;
  const auth: AuthContext = {
    ...{ keyCache, system, publicUrl: 'https://a.test' },
    catchUpLimit: { take: () => state.mayCatchUp },
    usageMarks: {
      mark: ({ keyId, lastAddress }: { keyId: string; lastAddress: string }) => {
        done.push(`mark ${keyId} ${lastAddress}`);
      },
    } as unknown as AuthContext['usageMarks'],
    sessionActivity: {
      isIdle: async () => state.isIdle,
      note: ({ sessionId }) => void done.push(`note ${sessionId}`),
    },
    rateLimiter: {} as AuthContext['rateLimiter'],
    ownersOf: async () => ['Olga'],
  };
  const credential = (value: string, more: Partial<Credential> = {}): Credential => ({
    holder: { kind: 'key', key: { keyId: 'key_1', rateLimits: { read: 7 } } as never, number: 1 },
    ...{ carrier: 'bearer', secretHash: sha256Hex(value), endsAt: null, ranges: [] },
    ...more,
  });
  const sessionOf = (value: string, more: Partial<Credential> = {}): Credential => {
    const session = { sessionId: 'ses_1', organizationId: 'org_mine', startedAt: at(0), expiresAt: at(24 * HOUR_MS) };
    return credential(value, {
      holder: { kind: 'session', session: session as ExistingSession },
      ...{ carrier: 'cookie', endsAt: at(24 * HOUR_MS) },
      ...more,
    });
  };
  const presented = (value: string | null, more: Partial<PresentedCredential> = {}): PresentedCredential => ({
    ...{ carrier: 'bearer', value, problem: null, environment: 'live', isUnattended: false, refusal: null },
    ...more,
  });
  const put = (one: Credential): void => void credentials.set(one.secretHash, one);
  const check = (one: PresentedCredential, address = ADDRESS) => authenticate(auth, one, address);
  return { system, at, state, done, auth, credential, sessionOf, presented, put, check, inLog };
};

const KEY = formatSecret('live', randomBytes(32));
const COOKIE = formatSecret('session', randomBytes(32));

describe('a credential', () => {
  test('of a key gives its caller, its limits and when it ends, and its use is marked', async () => {
    const { put, credential, check, presented, done, at } = open();
    put(credential(KEY, { endsAt: at(HOUR_MS) }));
    const { caller, rateLimits, endsAtMs } = await check(presented(KEY));
    expect([caller.keyId, rateLimits, endsAtMs]).toEqual(['key_caller', { read: 7 }, Date.parse(at(HOUR_MS))]);
    expect(done).toEqual(['find', `mark key_1 ${ADDRESS}`]);
  });

  test.each([null, 'ob_live_x', `${KEY}x`])(
    'that cannot have been issued is refused without a look-up: %s',
    async (value) => {
      const { check, presented, done } = open();
      await expect(check(presented(value))).rejects.toMatchObject({ code: 'unauthorized' });
      expect(done).toEqual([]);
    },
  );

  test('works in its own part of a request alone', async () => {
    const { put, credential, sessionOf, check, presented } = open();
    put(credential(KEY));
    put(sessionOf(COOKIE));
    for (const [value, carrier] of [
      [KEY, 'cookie'],
      [COOKIE, 'bearer'],
    ] as const)
      await expect(check(presented(value, { carrier }))).rejects.toMatchObject({ code: 'unauthorized' });
    await expect(check(presented(COOKIE, { carrier: 'cookie' }))).resolves.toBeDefined();
  });

  test('ends at its expiry, to the millisecond', async () => {
    const { put, credential, check, presented, at, system } = open();
    put(credential(KEY, { endsAt: at(1_000) }));
    await system.advance(999);
    await expect(check(presented(KEY))).resolves.toBeDefined();
    await system.advance(1);
    await expect(check(presented(KEY))).rejects.toMatchObject({ code: 'unauthorized' });
  });

  test('may have no caller any more: its member or its domain is gone', async () => {
    const { put, credential, check, presented, state } = open();
    put(credential(KEY));
    state.caller = null;
    await expect(check(presented(KEY))).rejects.toMatchObject({ code: 'unauthorized' });
  });

  test('is refused from an address outside its networks, and its use is not marked', async () => {
    const { put, credential, check, presented, done } = open();
    const range = parseRange('192.0.2.0/24');
    put(credential(KEY, { ranges: range === null ? [] : [range] }));
    await expect(check(presented(KEY))).resolves.toBeDefined();
    done.length = 0;
    await expect(check(presented(KEY), '198.51.100.1')).rejects.toMatchObject({ code: 'address_not_allowed' });
    expect(done).toEqual(['find']);
  });

  test('of an auditor is not marked', async () => {
    const { put, credential, check, presented, done } = open();
    put(credential(KEY, { holder: { kind: 'auditor', auditor: {} as never } }));
    expect((await check(presented(KEY))).rateLimits).toEqual({});
    expect(done).toEqual(['find']);
  });
});

describe('a session', () => {
  test('ends after the hours that its organization allows', async () => {
    const { put, sessionOf, check, presented, state, system } = open();
    put(sessionOf(COOKIE));
    const cookie = presented(COOKIE, { carrier: 'cookie' });
    const { endsAtMs } = await check(cookie);
    expect(endsAtMs).toBe(system.now().getTime() + 8 * HOUR_MS);
    await system.advance(8 * HOUR_MS - 1);
    await expect(check(cookie)).resolves.toBeDefined();
    await system.advance(1);
    await expect(check(cookie)).rejects.toMatchObject({ message: 'the session has ended: sign in again' });
    state.sessionHours = 9;
    await expect(check(cookie)).resolves.toBeDefined();
  });

  test('ends when it is idle', async () => {
    const { put, sessionOf, check, presented, state } = open();
    put(sessionOf(COOKIE));
    state.isIdle = true;
    await expect(check(presented(COOKIE, { carrier: 'cookie' }))).rejects.toMatchObject({ code: 'unauthorized' });
  });

  test('is kept alive by its member, and not by automatic requests of a page', async () => {
    const { put, sessionOf, check, presented, done } = open();
    put(sessionOf(COOKIE));
    await check(presented(COOKIE, { carrier: 'cookie', isUnattended: true }));
    expect(done).toEqual(['find']);
    await check(presented(COOKIE, { carrier: 'cookie' }));
    expect(done.slice(2)).toEqual(['note ses_1', `mark ses_1 ${ADDRESS}`]);
  });

  test('of a key is not a matter of pages: each use is marked', async () => {
    const { put, credential, check, presented, done } = open();
    put(credential(KEY));
    await check(presented(KEY, { isUnattended: true }));
    expect(done).toEqual(['find', `mark key_1 ${ADDRESS}`]);
  });
});

describe('an unknown credential', () => {
  test('is looked up once more after the log was read, or after the next regular read', async () => {
    const { inLog, credential, check, presented, done, state } = open();
    inLog.set(sha256Hex(KEY), credential(KEY));
    await expect(check(presented(KEY))).resolves.toBeDefined();
    expect(done.slice(0, 3)).toEqual(['find', 'catch up', 'find']);
    const limited = open();
    limited.state.mayCatchUp = false;
    limited.inLog.set(sha256Hex(KEY), credential(KEY));
    await expect(limited.check(presented(KEY))).resolves.toBeDefined();
    expect(limited.done.slice(0, 3)).toEqual(['find', 'next read', 'find']);
    state.reads = false;
    await expect(check(presented(formatSecret('live', randomBytes(32))))).rejects.toMatchObject({
      code: 'unavailable',
    });
  });

  test('a cache that is not fresh is not believed, and every request refreshes it', async () => {
    const { put, credential, check, presented, done, state } = open();
    put(credential(KEY));
    state.isFresh = false;
    state.mayCatchUp = false;
    await expect(check(presented(KEY))).resolves.toBeDefined();
    expect(done.slice(0, 2)).toEqual(['catch up', 'find']);
    state.reads = false;
    await expect(check(presented(KEY))).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('a request that is authenticated again', () => {
  const authenticated = async (rule = READ, query: object = {}) => {
    const opened = open();
    const { put, credential, check, presented, auth } = opened;
    put(credential(KEY));
    const request = { authenticated: await check(presented(KEY)), ip: ADDRESS, method: 'GET', query, isLate: false };
    opened.done.length = 0;
    return {
      ...opened,
      request: request as unknown as FastifyRequest,
      again: (upToLog = false) => reauthenticate(auth, rule, request as unknown as FastifyRequest, upToLog),
    };
  };

  test('keeps its caller for 100 ms if nothing has changed', async () => {
    const { again, system, done, request, state } = await authenticated();
    await system.advance(REAUTHENTICATE_AFTER_MS - 1);
    expect(await again()).toBe(request.authenticated?.caller);
    expect(done).toEqual([]);
    await system.advance(1);
    state.caller = callerWith({ keyId: 'key_changed', permissions: ['read'] });
    expect((await again()).keyId).toBe('key_changed');
    expect([request.caller?.keyId, request.authenticated?.caller.keyId]).toEqual(['key_changed', 'key_changed']);
    expect(done).toContain('find');
    done.length = 0;
    await system.advance(REAUTHENTICATE_AFTER_MS - 1); // since the last check
    await again();
    expect(done).toEqual([]);
  });

  test('is checked at once if something has changed', async () => {
    const { again, state } = await authenticated();
    state.changes += 1;
    state.caller = null;
    await expect(again()).rejects.toMatchObject({ code: 'unauthorized' });
  });

  test('is checked against the log where its answer shows what is in the log now', async () => {
    const { again, done, state } = await authenticated();
    state.caller = null;
    await expect(again(true)).rejects.toMatchObject({ code: 'unauthorized' });
    expect(done).toEqual(['catch up', 'find']);
  });

  test('waits for the log, which may have revoked it just now', async () => {
    const { auth, again, state } = await authenticated();
    Object.assign(auth.keyCache, {
      catchUp: async () => {
        await turn();
        state.caller = null;
        return true;
      },
    });
    await expect(again(true)).rejects.toMatchObject({ code: 'unauthorized' });
  });

  test('needs its permission still', async () => {
    const { again, state } = await authenticated();
    state.changes += 1;
    state.caller = callerWith({ permissions: ['send'] });
    await expect(again()).rejects.toMatchObject({ code: 'permission_missing' });
  });

  test('cannot filter by contents that its role may see no more', async () => {
    const { again, state } = await authenticated(READ, { to: 'ann@example.org' });
    state.changes += 1;
    await expect(again()).resolves.toBeDefined();
    state.changes += 1;
    state.caller = callerWith({ permissions: ['read'], member: { ...MEMBER, withoutContents: true } });
    await expect(again()).rejects.toMatchObject({ code: 'permission_missing' });
  });

  test('does not keep a session alive', async () => {
    const { again, put, sessionOf, request, presented, check, done, state } = await authenticated();
    put(sessionOf(COOKIE));
    request.authenticated = await check(presented(COOKIE, { carrier: 'cookie' }));
    done.length = 0;
    state.changes += 1;
    await again();
    expect(done).toEqual(['find']);
  });

  test('has no effect once it was answered, and is a fault before it was authenticated', async () => {
    const { again, request } = await authenticated();
    request.isLate = true;
    await expect(again()).rejects.toThrow('the request was answered before it was done');
    request.authenticated = null;
    await expect(again()).rejects.toThrow('a handler ran without authentication');
  });
});
