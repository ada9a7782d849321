import { request as open } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatSecret, SECRET_RANDOM_BYTES } from '../../../src/domain/api-key/secret.ts';
import { type AuthContext, reauthenticate } from '../../../src/http/auth/authenticate.ts';
import type { GuardedRoute } from '../../../src/http/route-rules.ts';
import { callerWith } from '../../support/controls/api-key.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

/** Longer than a key is accepted without re-authentication. */
const A_WHILE_MS = 200;
const MESSAGE = { from: 'a@example.test', to: 'b@example.org', subject: 'Late', text: 'Late' };

let service: DatabaseService;
let admin: string;
let base: string;
let place: readonly [organizationId: string, domainId: string];

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  place = [organizationId, await service.makeDomain(organizationId, 'example.test')];
  admin = (await service.makeKey(...place)).value;
  base = await service.server.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => service.close());

const makeKey = () => service.makeKey(...place, { permissions: ['send', 'read'] });
const revoke = async (id: string): Promise<void> => {
  const answer = await service.request({ method: 'POST', url: `/v1/api-keys/${id}/revoke`, key: admin });
  expect(answer.statusCode).toBe(200);
};
const send = () => service.request({ method: 'POST', url: '/v1/messages/send', key: admin, payload: MESSAGE });
const newest = async (): Promise<string> =>
  (await service.request({ url: '/v1/events?limit=1', key: admin })).json().next_cursor;

/** Starts a request and ends its body after `change` has finished. @returns the status of the response. */
const slowly = (path: string, key: string, body: object, change: () => Promise<unknown>): Promise<number> => {
  const bytes = Buffer.from(JSON.stringify(body));
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': bytes.length,
  };
  return new Promise((resolve, reject) => {
    const asked = open(base + path, { method: 'POST', headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.on('error', reject);
    asked.write(bytes.subarray(0, 1));
    sleep(A_WHILE_MS)
      .then(change)
      .then(() => sleep(A_WHILE_MS))
      .then(() => asked.end(bytes.subarray(1)), reject);
  });
};

describe.each([
  ['/v1/messages/send', MESSAGE],
  ['/v1/messages/batch', { messages: [MESSAGE] }],
])('a slow body sent to %s', (path, body) => {
  test('is accepted from a key that works when it ends', async () => {
    const { value } = await makeKey();
    expect(await slowly(path, value, body, async () => undefined)).toBe(202);
  });

  test('is refused with any content, from a key that was revoked in the meantime', async () => {
    for (const sent of [body, { nonsense: true }]) {
      const { id, value } = await makeKey();
      const head = await service.deps.context.store.head();
      let after = head;
      const status = await slowly(path, value, sent, async () => {
        await revoke(id);
        after = await service.deps.context.store.head();
      });
      expect(status).toBe(401);
      expect(after > head).toBe(true);
      expect(await service.deps.context.store.head()).toBe(after);
    }
  });

  test('is refused from a key that may send no more', async () => {
    const { id, value } = await makeKey();
    const change = {
      method: 'PATCH',
      url: `/v1/api-keys/${id}`,
      key: admin,
      payload: { permissions: ['read'] },
    } as const;
    expect(await slowly(path, value, body, () => service.request(change))).toBe(403);
  });
});

describe('a request that waits for events', () => {
  const wait = async (key: string, seconds: number) =>
    service.request({ url: `/v1/events?wait=${seconds}&after=${await newest()}`, key });

  test('is refused as soon as its key is revoked, and sees no later event', async () => {
    const { id, value } = await makeKey();
    const begun = performance.now();
    const waiting = wait(value, 20);
    await sleep(A_WHILE_MS);
    await revoke(id);
    expect((await send()).statusCode).toBe(202);
    const answer = await waiting;
    expect([answer.statusCode, answer.json().error.code]).toEqual([401, 'unauthorized']);
    expect(performance.now() - begun).toBeLessThan(10_000);
  });

  test('is refused when its key expires in the meantime', async () => {
    const expiresAt = new Date(service.deps.context.system.now().getTime() + 500).toISOString();
    const { value } = await service.makeKey(...place, { permissions: ['read'], expiresAt });
    expect((await wait(value, 1)).statusCode).toBe(401);
  });
});

describe('a request that is authenticated again', () => {
  const rule: GuardedRoute = { permission: 'any', kind: 'read', environments: ['live'], status: 200, errors: [] };
  const caller = callerWith({ permissions: [] });
  const session = { sessionId: 'ses_1', organizationId: caller.organizationId, startedAt: '2026-01-01T00:00:00Z' };

  /** A session that signed in, and the request of its browser. `changes`: of the key cache since. */
  const open = (changes: number) => {
    const noted: unknown[] = [];
    const value = formatSecret('session', Buffer.alloc(SECRET_RANDOM_BYTES));
    const endsAt = '2099-01-01T00:00:00Z';
    const holder = { kind: 'session', session: { ...session, expiresAt: endsAt } };
    const auth = {
      system: { monotonicMs: () => 0, now: () => new Date('2026-01-01T00:01:00Z') },
      sessionActivity: { isIdle: async () => false, note: (one: unknown) => noted.push(one) },
      usageMarks: { mark: (one: unknown) => noted.push(one) },
      keyCache: {
        ...{ changes: () => changes, isFresh: () => true, callerOf: () => ({ ...caller }) },
        find: () => ({ carrier: 'cookie', endsAt, holder, secretHash: 'x', ranges: [] }),
        settingsOf: () => ({ sessionHours: 24, sessionIdleMinutes: 60 }),
      },
    } as unknown as AuthContext;
    const presented = { carrier: 'cookie', value, problem: null, environment: 'live', isUnattended: false };
    const authenticated = { caller, rateLimits: {}, presented, atMs: 0, changes: 0, endsAtMs: null };
    const request = { authenticated, ip: '192.0.2.1', query: {}, method: 'GET' } as unknown as FastifyRequest;
    return { noted, again: () => reauthenticate(auth, rule, request) };
  };

  test('is not looked up again within a moment, unless a key or session has changed', async () => {
    expect(await open(0).again()).toBe(caller);
    const changed = await open(1).again();
    expect(changed).not.toBe(caller);
    expect(changed).toEqual(caller);
  });

  test('does not keep its session alive', async () => {
    const { again, noted } = open(1);
    await again();
    expect(noted).toEqual([]);
  });
});
