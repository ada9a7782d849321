import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Permission } from '../../../../src/domain/api-key/events.ts';
import type { Role } from '../../../../src/domain/member/events.ts';
import { type Service, startService } from '../../support/service.ts';
import { cookieOf, SAME_ORIGIN, signInWith } from '../../support/sign-in.ts';

type Method = 'GET' | 'POST' | 'DELETE';

let service: Service;
let people = 0;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const newPerson = (role: Role) => {
  people += 1;
  return { email: `person${people}@example.net`, name: `Person ${people}`, role };
};

const ask = async (method: Method, url: string, payload: object | undefined, key: string) => {
  const answer = await service.request({ method, url, key, ...(payload === undefined ? {} : { payload }) });
  return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
};

const as = async (cookie: string, method: Method, url: string) => {
  const answer = await service.request({ method, url, headers: { cookie, ...SAME_ORIGIN } });
  return { status: answer.statusCode, body: answer.json() };
};

describe('a member whose role does not allow something', () => {
  const HOSTILE = '<b>Eve</b> $&';
  let domains = 0;
  const tenant = async () => {
    const id = await service.makeOrganization();
    domains += 1;
    const domainId = await service.makeDomain(id, `owned${domains}.test`);
    const make = async (permission: Permission) =>
      (await service.makeKey(id, domainId, { permissions: [permission] })).value;
    return { by: await make('admin'), sender: await make('send') };
  };
  const join = async (by: string, role: Role, name: string) => {
    const { body } = await ask('POST', '/v1/members', { ...newPerson(role), name }, by);
    return { id: body.id as string, cookie: cookieOf(await signInWith(service, body.link.url)) };
  };
  const refused = async (cookie: string, method: Method, url: string) => {
    const { status, body } = await as(cookie, method, url);
    expect(status).toBe(403);
    return body.error.message as string;
  };

  test('learns who can allow it: owners of their own organization who have signed in', async () => {
    const [{ by }, { by: other }] = [await tenant(), await tenant()];
    await join(other, 'owner', 'A stranger');
    const analyst = await join(by, 'analyst', 'Ana');
    const said = () => refused(analyst.cookie, 'GET', '/v1/api-keys');
    const remedy = `can give you the role 'owner' or 'developer' or 'auditor'`;
    const of = (who: string) => `the role 'analyst' lacks 'manage' permission: ${who} ${remedy}`;
    await ask('POST', '/v1/members', { ...newPerson('owner'), name: 'Only invited' }, by);
    expect(await said()).toBe(of('an owner'));
    const ada = await join(by, 'owner', 'Ada Moreno');
    await expect.poll(said).toBe(of('Ada Moreno, an owner,'));
    await join(by, 'owner', HOSTILE);
    await expect.poll(said).toBe(of(`the owners Ada Moreno and ${HOSTILE}`));
    await join(by, 'owner', 'Jonas Vik');
    await join(by, 'owner', 'Lea Roth');
    await expect.poll(said).toBe(of(`the owners Ada Moreno, ${HOSTILE}, Jonas Vik and 1 more`));
    await ask('DELETE', `/v1/members/${ada.id}`, undefined, by);
    await expect.poll(said).toBe(of(`the owners ${HOSTILE}, Jonas Vik and Lea Roth`));
  });

  test('learns that contents can be allowed to the role', async () => {
    const { by } = await tenant();
    await join(by, 'owner', 'Ada Moreno');
    const auditor = await join(by, 'auditor', 'Aud');
    expect(await refused(auditor.cookie, 'GET', '/v1/messages/msg_1/content')).toBe(
      "the role 'auditor' cannot see mail contents: Ada Moreno, an owner, can allow this role to see them, or give you the role 'owner' or 'developer'",
    );
    expect(await refused(auditor.cookie, 'DELETE', '/v1/webhooks/whk_1')).toMatch(
      /^the role 'auditor' is read-only: Ada Moreno, an owner, can give you the role 'owner'/,
    );
  });

  test('is refused as well while the names cannot be read', async () => {
    const { by } = await tenant();
    await join(by, 'owner', 'Ada Moreno');
    const { cookie } = await join(by, 'analyst', 'Ana');
    const { contents } = service.deps.context;
    const get = vi.spyOn(contents, 'get').mockRejectedValue(new Error('the vault is away'));
    expect(await refused(cookie, 'GET', '/v1/api-keys')).toContain(': an owner can give you');
    get.mockRestore();
  });

  test('learns names only as a member: a key does not', async () => {
    const { by, sender } = await tenant();
    await join(by, 'owner', 'Ada Moreno');
    const { body } = await ask('GET', '/v1/messages', undefined, sender);
    expect(body.error.message).toBe("API key lacks 'read' permission");
  });
});
