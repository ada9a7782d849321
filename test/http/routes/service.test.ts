import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { readWholeStream } from '../../../src/commands/execute.ts';
import { setOperator } from '../../../src/commands/member.ts';
import { membersStream } from '../../../src/domain/kernel/streams.ts';
import type { Role } from '../../../src/domain/member/events.ts';
import { createServiceHealth, type HealthParts } from '../../../src/http/service-health.ts';
import { HEALTHY } from '../support/health.ts';
import { operator, type Service, startService } from '../support/service.ts';
import { cookieOf, SAME_ORIGIN, signInWith } from '../support/sign-in.ts';

let service: Service;
let organizationId: string;
let key: string;
let other: string;
let people = 0;

const tenant = async (domain: string) => {
  const id = await service.makeOrganization();
  const domainId = await service.makeDomain(id, domain);
  return { id, key: (await service.makeKey(id, domainId, { permissions: ['admin'] })).value };
};

beforeAll(async () => {
  service = await startService();
  ({ id: organizationId, key } = await tenant('service.test'));
  other = (await tenant('stranger.test')).key;
});
afterAll(() => service.close());

const grant = (id: string, isOperator = true) =>
  setOperator(service.deps.context, operator(organizationId), { memberId: id, isOperator });

const ask = async (method: 'GET' | 'POST' | 'PATCH', url: string, payload?: object, by = key) => {
  const answer = await service.request({ method, url, key: by, ...(payload === undefined ? {} : { payload }) });
  const body = answer.json();
  return { status: answer.statusCode, body, code: body.error?.code };
};

const newPerson = (role: Role) => {
  people += 1;
  return { email: `person${people}@example.net`, name: `Person ${people}`, role };
};

const signIn = async (role: Role, by = key) => {
  const { body } = await ask('POST', '/v1/members', newPerson(role), by);
  return { id: body.id as string, cookie: cookieOf(await signInWith(service, body.link.url)) };
};

const as = async (cookie: string, url: string) => {
  const answer = await service.request({ method: 'GET', url, headers: { cookie, ...SAME_ORIGIN } });
  return { status: answer.statusCode, body: answer.json(), code: answer.json().error?.code };
};

describe('an operator', () => {
  test('is made by the command line, in open sessions within a second, and no longer when that is withdrawn', async () => {
    const { id, cookie } = await signIn('analyst');
    const isOperator = async () => (await as(cookie, '/v1/session')).body.operator;
    expect([await isOperator(), (await ask('GET', `/v1/members/${id}`)).body.operator]).toEqual([false, false]);
    await grant(id);
    await grant(id);
    await expect.poll(isOperator).toBe(true);
    expect((await ask('GET', `/v1/members/${id}`)).body.operator).toBe(true);
    expect((await ask('PATCH', `/v1/members/${id}`, { role: 'developer' })).body.operator).toBe(true);
    await grant(id, false);
    await expect.poll(isOperator).toBe(false);
    const events = await readWholeStream(service.deps.context.store, membersStream(organizationId));
    const found = events.filter(({ type }) => type.startsWith('Operator'));
    expect(found.map(({ type, metadata }) => [type, metadata.actor])).toEqual([
      ['OperatorGranted', 'operator'],
      ['OperatorWithdrawn', 'operator'],
    ]);
  });

  test.each([{ operator: true }, { role: 'analyst', operator: true }])(
    'cannot be made by the API: %j',
    async (change) => {
      const { id } = await signIn('analyst');
      expect((await ask('PATCH', `/v1/members/${id}`, change)).code).toBe('invalid_request');
      expect((await ask('POST', '/v1/members', { ...newPerson('analyst'), ...change })).code).toBe('invalid_request');
    },
  );

  test('must be a member of the named organization', async () => {
    const { id } = await signIn('analyst', other);
    await expect(grant(id)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('the health of the service', () => {
  test('is shown only to operators, of any role', async () => {
    const { id, cookie } = await signIn('analyst');
    expect((await ask('GET', '/v1/service')).code).toBe('permission_missing');
    const refused = await as(cookie, '/v1/service');
    expect([refused.status, refused.body.error.message]).toEqual([403, expect.stringContaining('grant-operator')]);
    await grant(id);
    await expect.poll(async () => (await as(cookie, '/v1/service')).status).toBe(200);
    const { body } = await as(cookie, '/v1/service?environment=test');
    expect(body).toMatchObject({
      object: 'service',
      status: 'ok',
      parts: { redis: { status: 'unused', facts: null } },
    });
    const { cookie: owner } = await signIn('owner');
    expect((await as(owner, '/v1/service')).code).toBe('permission_missing');
  });

  const never = () => new Promise<never>(() => undefined);
  /** A clock whose sleeps end immediately. */
  const hurried = { ...createSystem(), sleep: async () => undefined };
  const healthWith = (parts: Partial<HealthParts>) => createServiceHealth({ ...HEALTHY, ...parts }, hurried)();

  test('has unknown parts when they do not answer or fail, next to those that do', async () => {
    const found = await healthWith({ disk: never, redis: () => Promise.reject(new Error('secret of a tenant')) });
    expect(found).toMatchObject({
      status: 'unknown',
      parts: {
        disk: { status: 'unknown', facts: null, problems: ['no answer within 2 s'] },
        redis: { status: 'unknown', facts: null, problems: ['it cannot be read at the moment'] },
        log: { status: 'ok' },
      },
    });
  });

  test('asks a part that hangs only once, and shares an answer for a second', async () => {
    let asked = 0;
    let answered = 0;
    let nowMs = 0;
    const parts = {
      ...HEALTHY,
      disk: () => {
        asked += 1;
        return never();
      },
      backup: async () => {
        answered += 1;
        return { facts: null, problems: [] };
      },
    };
    const health = createServiceHealth(parts, { ...hurried, monotonicMs: () => nowMs });
    await Promise.all([health(), health(), health()]);
    expect([asked, answered]).toEqual([1, 1]);
    nowMs = 1_000;
    await health();
    expect([asked, answered]).toEqual([1, 2]);
  });

  test('is as bad as its worst part', async () => {
    const facts = { free_bytes: 1, size_bytes: 100 };
    const full = async () => ({ facts, problems: ['the disk is nearly full'] });
    expect(await healthWith({ disk: full, redis: never })).toMatchObject({
      status: 'attention',
      parts: { disk: { status: 'attention', facts, problems: ['the disk is nearly full'] } },
    });
  });
});
