import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Role } from '../../../../src/domain/member/events.ts';
import { type Service, startService } from '../../support/service.ts';
import { cookieOf, signInWith } from '../../support/sign-in.ts';

let service: Service;
let admin: string;
let sender: string;

beforeAll(async () => {
  service = await startService();
  const id = await service.makeOrganization();
  const domainId = await service.makeDomain(id, 'operations.test');
  admin = (await service.makeKey(id, domainId, { permissions: ['admin'] })).value;
  sender = (await service.makeKey(id, domainId, { permissions: ['send'] })).value;
});
afterAll(() => service.close());

const PATH = '/v1/session/operations';

const join = async (role: Role, name: string): Promise<string> => {
  const payload = { email: `${role}@operations.test`, name, role };
  const { link } = (await service.request({ method: 'POST', url: '/v1/members', key: admin, payload })).json();
  return cookieOf(await signInWith(service, link.url));
};

interface OperationList {
  readonly method: string;
  readonly path: string;
  readonly allowed: boolean;
}

describe('the list of operations', () => {
  let cookies: Readonly<Record<Role, string>>;
  beforeAll(async () => {
    cookies = {
      owner: await join('owner', 'Olga'),
      developer: await join('developer', 'Dan'),
      analyst: await join('analyst', 'Ana'),
      auditor: await join('auditor', 'Udo'),
    };
  });

  const listFor = async (headers: Readonly<Record<string, string>>) => {
    const answer = await service.request({ url: PATH, headers });
    expect(answer.statusCode, answer.body).toBe(200);
    return answer.json();
  };
  const allowedTo = (list: { readonly data: readonly OperationList[] }, method: string, path: string) =>
    list.data.find((one) => one.method === method && one.path === path)?.allowed;

  test.each([
    ['owner', true, true, true],
    ['developer', true, true, false],
    ['analyst', false, false, false],
    ['auditor', false, true, false],
  ] as const)('follows the role %s', async (role, rotates, seesDestinations, invites) => {
    const list = await listFor({ cookie: cookies[role] });
    expect(allowedTo(list, 'POST', '/v1/api-keys/{id}/rotate')).toBe(rotates);
    expect(allowedTo(list, 'GET', '/v1/destinations')).toBe(seesDestinations);
    expect(allowedTo(list, 'POST', '/v1/members')).toBe(invites);
    expect(allowedTo(list, 'GET', '/v1/messages')).toBe(true);
  });

  test('names the owners to members, but not to keys of systems', async () => {
    expect((await listFor({ cookie: cookies.analyst })).owners).toEqual(['Olga']);
    expect((await listFor({ authorization: `Bearer ${sender}` })).owners).toEqual([]);
  });

  test('says what each operation needs', async () => {
    const { data } = await listFor({ authorization: `Bearer ${sender}` });
    expect(data.find(({ path }: OperationList) => path === '/v1/billing')).toEqual({
      method: 'GET',
      path: '/v1/billing',
      allowed: false,
      environments: ['live', 'test'],
      permission: 'admin',
      roles: ['owner', 'auditor'],
    });
    expect(allowedTo({ data }, 'POST', '/v1/messages/send')).toBe(true);
  });

  test('lists neither pages without a key nor the paths of other services', async () => {
    const paths = (await listFor({ cookie: cookies.owner })).data.map(({ path }: OperationList) => path);
    expect(paths).toContain('/v1/session/operations');
    expect(paths.filter((path: string) => !path.startsWith('/v1/'))).toEqual([]);
    expect(paths).not.toContain('/v1/session/methods');
  });

  test('follows what a member may do now: contents that an owner allows to a role', async () => {
    const preview = async () =>
      allowedTo(await listFor({ cookie: cookies.analyst }), 'GET', '/v1/messages/{id}/preview');
    expect(await preview()).toBe(false);
    const asked = { method: 'PUT', url: '/v1/organization/contents', payload: { allowed_to: ['analyst'] } } as const;
    const headers = { cookie: cookies.owner, 'sec-fetch-site': 'same-origin' };
    const answer = await service.request({ ...asked, headers });
    expect(answer.statusCode, answer.body).toBe(200);
    await expect.poll(preview).toBe(true);
  });
});
