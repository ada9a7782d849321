import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readWholeStream } from '../../../../src/commands/execute.ts';
import { formatId } from '../../../../src/domain/kernel/ids.ts';
import { apiKeyStream, membersStream } from '../../../../src/domain/kernel/streams.ts';
import { ROLES, type Role } from '../../../../src/domain/member/events.ts';
import { POWERS } from '../../../../src/domain/member/powers.ts';
import { type Service, startService } from '../../support/service.ts';
import { cookieOf, SAME_ORIGIN, signInWith } from '../../support/sign-in.ts';
import { GUARDED } from '../../support/walk-routes.ts';

let service: Service;
let organizationId: string;
let domainId: string;
let key: string;
let other: string;
let people = 0;

beforeAll(async () => {
  service = await startService();
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'members.test');
  key = (await service.makeKey(organizationId, domainId, { permissions: ['admin'] })).value;
  const stranger = await service.makeOrganization();
  const strange = await service.makeDomain(stranger, 'stranger.test');
  other = (await service.makeKey(stranger, strange, { permissions: ['admin'] })).value;
});
afterAll(() => service.close());

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT';

const ask = async (method: Method, url: string, payload?: object, by = key) => {
  const answer = await service.request({ method, url, key: by, ...(payload === undefined ? {} : { payload }) });
  const body = answer.body === '' ? null : answer.json();
  return { status: answer.statusCode, body, code: body?.error?.code, headers: answer.headers };
};

const newPerson = (role: Role) => {
  people += 1;
  return { email: `person${people}@example.net`, name: `Person ${people}`, role };
};

const signIn = async (role: Role, by = key) => {
  const { body } = await ask('POST', '/v1/members', newPerson(role), by);
  const answer = await signInWith(service, body.link.url);
  return { id: body.id as string, cookie: cookieOf(answer), sessionId: answer.json().id as string };
};

const as = async (cookie: string, method: Method, url: string, payload?: object) => {
  const more = payload === undefined ? {} : { payload };
  const answer = await service.request({ method, url, ...more, headers: { cookie, ...SAME_ORIGIN } });
  const body = answer.body.startsWith('{') ? JSON.parse(answer.body) : null;
  return { status: answer.statusCode, body, code: body?.error?.code };
};

describe('a member', () => {
  test('is invited with a link that is shown once, and has name and address only in the vault', async () => {
    const person = newPerson('developer');
    const made = await ask('POST', '/v1/members', person);
    expect([made.status, made.headers['cache-control']]).toEqual([201, 'no-store']);
    const { link, ...member } = made.body;
    expect(link.url).toMatch(/^http:\/\/localhost(?::\d+)?\/dashboard\/sign-in#ob_link_\w{49}$/);
    expect(member).toMatchObject({ ...person, status: 'invited', joined_at: null });
    expect((await ask('GET', `/v1/members/${member.id}`)).body).toEqual(member);
    expect((await ask('GET', '/v1/members')).body.data).toContainEqual(member);
    const log = JSON.stringify(await readWholeStream(service.deps.context.store, membersStream(organizationId)));
    for (const secret of [person.email, person.name, new URL(link.url).hash.slice(1)])
      expect(log).not.toContain(secret);
  });

  test('has joined once they have signed in', async () => {
    const { id } = await signIn('analyst');
    expect((await ask('GET', `/v1/members/${id}`)).body).toMatchObject({
      status: 'joined',
      joined_at: expect.any(String),
    });
  });

  test('is invited once, also by two concurrent requests', async () => {
    const person = newPerson('analyst');
    const answers = await Promise.all([1, 2, 3].map(() => ask('POST', '/v1/members', person)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    const { members } = { members: (await ask('GET', '/v1/members')).body.data as { email: string }[] };
    expect(members.filter(({ email }) => email === person.email)).toHaveLength(1);
  });

  test('is invited once, however the address is spelled', async () => {
    const person = newPerson('analyst');
    expect((await ask('POST', '/v1/members', person)).status).toBe(201);
    const again = await ask('POST', '/v1/members', { ...person, email: person.email.replace('person', 'Person') });
    expect([again.status, again.code]).toEqual([409, 'member_already_exists']);
  });

  test.each([['Ann\r\nBcc: eve@example.net'], ['Ann\u0000'], ['\u202eAnn'], [''], [' '], ['x'.repeat(101)], [7]])(
    'cannot be called %j',
    async (name) => {
      expect((await ask('POST', '/v1/members', { ...newPerson('analyst'), name })).code).toBe('invalid_request');
    },
  );

  test.each([
    ['ann@example.net\r\nBcc: eve@example.net'],
    ['ann@example.net\u0000'],
    ['Ann <ann@example.net>'],
    ['nobody'],
    [['ann@example.net']],
    [''],
  ])('cannot have the address %j', async (email) => {
    expect((await ask('POST', '/v1/members', { ...newPerson('analyst'), email })).code).toBe('invalid_request');
  });

  test.each([['root'], ['Owner'], [''], ['__proto__'], [null], [['owner']]])(
    'cannot have the role %j',
    async (role) => {
      expect((await ask('POST', '/v1/members', { email: 'new@example.net', role })).code).toBe('invalid_request');
    },
  );

  test('cannot be made by a key that reaches less far than a session', async () => {
    const bounded = { permissions: ['admin'] as const, expiresAt: '2099-01-01T00:00:00.000Z' };
    const { value } = await service.makeKey(organizationId, domainId, bounded);
    expect((await ask('POST', '/v1/members', newPerson('owner'), value)).code).toBe('wider_than_own_key');
  });

  test('of another organization does not exist', async () => {
    const { id, sessionId } = await signIn('analyst');
    for (const [method, url, payload] of [
      ['GET', `/v1/members/${id}`],
      ['PATCH', `/v1/members/${id}`, { role: 'owner' }],
      ['DELETE', `/v1/members/${id}`],
      ['POST', `/v1/members/${id}/links`, {}],
      ['GET', `/v1/sessions/${sessionId}`],
      ['DELETE', `/v1/sessions/${sessionId}`],
      ['GET', `/v1/members/${formatId('mbr', new Uint8Array(16))}`],
      ['GET', '/v1/members/__proto__'],
      ['GET', '/v1/members/constructor'],
    ] as const)
      expect([url, (await ask(method, url, payload, other)).code]).toEqual([url, 'not_found']);
    expect((await ask('GET', '/v1/members', undefined, other)).body.data).toEqual([]);
    expect((await ask('GET', '/v1/sessions', undefined, other)).body.data).toEqual([]);
    expect((await ask('GET', `/v1/sessions/${sessionId}`)).status).toBe(200);
  });

  test('is named in what they change, with their session', async () => {
    const { cookie, id, sessionId } = await signIn('developer');
    const body = { name: 'theirs', domain_id: domainId, permissions: ['send'] };
    const made = await as(cookie, 'POST', '/v1/api-keys', body);
    expect(made.status).toBe(201);
    const [created] = await readWholeStream(service.deps.context.store, apiKeyStream(made.body.id));
    expect(created?.metadata).toMatchObject({ actor: `member:${id}`, session: sessionId });
    expect(created?.metadata).not.toHaveProperty('secret');
    const history = await as(cookie, 'GET', `/v1/api-keys/${made.body.id}/history`);
    expect(history.body.data[0].actor).toEqual({
      type: 'member',
      id,
      session_id: sessionId,
      secret: null,
      secret_last4: null,
    });
  });
});

describe('the last owner', () => {
  /** Two owners in a new organization. */
  const twoOwners = async () => {
    const organization = await service.makeOrganization();
    const domain = await service.makeDomain(organization, `owners${people}.test`);
    const { value } = await service.makeKey(organization, domain, { permissions: ['admin'] });
    return { by: value, owners: [await signIn('owner', value), await signIn('owner', value)] as const };
  };

  test('cannot be removed or lowered, and an invited one does not count', async () => {
    const { by, owners } = await twoOwners();
    expect((await ask('DELETE', `/v1/members/${owners[0].id}`, undefined, by)).status).toBe(204);
    await ask('POST', '/v1/members', newPerson('owner'), by);
    expect((await ask('DELETE', `/v1/members/${owners[1].id}`, undefined, by)).code).toBe('last_owner');
    expect((await ask('PATCH', `/v1/members/${owners[1].id}`, { role: 'developer' }, by)).code).toBe('last_owner');
    expect((await as(owners[1].cookie, 'DELETE', `/v1/members/${owners[1].id}`)).code).toBe('last_owner');
  });

  test('remains, however many are removed and lowered at the same moment', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { by, owners } = await twoOwners();
      const [one, two] = owners;
      const answers = await Promise.all([
        ask('DELETE', `/v1/members/${one.id}`, undefined, by),
        ask('PATCH', `/v1/members/${two.id}`, { role: 'analyst' }, by),
        as(two.cookie, 'DELETE', `/v1/members/${one.id}`),
        as(one.cookie, 'PATCH', `/v1/members/${two.id}`, { role: 'auditor' }),
      ]);
      expect(answers.map(({ status }) => status)).toContain(409);
      const left = (await ask('GET', '/v1/members', undefined, by)).body.data as { role: string; status: string }[];
      expect(left.filter(({ role, status }) => role === 'owner' && status === 'joined')).not.toEqual([]);
    }
  });
});

describe('a role', () => {
  test('that is lowered applies to open sessions within a second', async () => {
    const { id, cookie } = await signIn('owner');
    expect((await as(cookie, 'GET', '/v1/members')).status).toBe(200);
    await signIn('owner');
    expect((await ask('PATCH', `/v1/members/${id}`, { role: 'analyst' })).status).toBe(200);
    await expect.poll(async () => (await as(cookie, 'GET', '/v1/members')).code).toBe('permission_missing');
    expect((await as(cookie, 'PATCH', `/v1/members/${id}`, { role: 'owner' })).code).toBe('permission_missing');
  });

  const allows = (role: Role, { rule, method }: (typeof GUARDED)[number]): boolean => {
    const { permissions, withoutContents, safeMethodsOnly } = POWERS[role];
    const holds = [...permissions, 'any'].includes(rule.permission) || permissions.includes('admin');
    const has = rule.roles?.includes(role) ?? holds;
    const mayChange = !safeMethodsOnly || method === 'GET' || rule.ownSession === true;
    if (rule.operatorsOnly === true) return false;
    return has && mayChange && !(withoutContents && rule.contents === true);
  };

  test.each(ROLES)('%s may request what it allows and nothing else', async (role) => {
    const { cookie } = await signIn(role);
    for (const route of GUARDED) {
      if (route.name === 'DELETE /v1/session') continue;
      const url = route.url.replaceAll(/:\w+/g, 'x').replace('*', 'x');
      const { code } = await as(cookie, route.method as Method, url, route.method === 'GET' ? undefined : {});
      const isRefused = code === 'permission_missing';
      expect([role, route.name, isRefused]).toEqual([role, route.name, !allows(role, route)]);
    }
    expect((await as(cookie, 'DELETE', '/v1/session')).status).toBe(204);
  });
});
