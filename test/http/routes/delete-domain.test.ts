import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../support/service.ts';

const MESSAGE = { to: 'b@example.org', subject: 'Hello', html: '<p>Hello</p>' };

describe('deleting a domain', () => {
  let service: Service;
  let made = 0;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());

  /** An organization with an admin key on its first domain, and a second domain. */
  const setUp = async () => {
    made += 1;
    const organizationId = await service.makeOrganization();
    const first = await service.makeDomain(organizationId, `first-${made}.test`);
    const name = `second-${made}.test`;
    const second = await service.makeDomain(organizationId, name);
    const admin = await service.makeKey(organizationId, first);
    return { organizationId, first, second, name, admin };
  };
  const remove = (id: string, key: string, headers: Record<string, string> = {}) =>
    service.request({ method: 'DELETE', url: `/v1/domains/${id}`, key, headers });
  const send = (key: string, name: string) =>
    service.request({ method: 'POST', url: '/v1/messages/send', key, payload: { ...MESSAGE, from: `a@${name}` } });

  test('ends the keys bound to it at once, and leaves others as they are', async () => {
    const { organizationId, second, name, admin } = await setUp();
    const bound = await service.makeKey(organizationId, second, { permissions: ['send'] });
    expect((await send(bound.value, name)).statusCode).toBe(202);
    expect((await remove(second, admin.value)).statusCode).toBe(204);
    expect((await send(bound.value, name)).statusCode).toBe(401);
    expect((await service.request({ url: `/v1/domains/${second}`, key: admin.value })).statusCode).toBe(404);
    expect((await remove(second, admin.value)).statusCode).toBe(404);
  });

  test('frees the name for the next owner, and old keys stay invalid', async () => {
    const { organizationId, second, name, admin } = await setUp();
    const bound = await service.makeKey(organizationId, second, { permissions: ['send'] });
    await remove(second, admin.value);
    const payload = { name };
    const again = await service.request({ method: 'POST', url: '/v1/domains', key: admin.value, payload });
    expect([again.statusCode, again.json().id, again.json().status]).toEqual([201, second, 'verified']);
    expect((await send(bound.value, name)).statusCode).toBe(401);
    const newer = await service.makeKey(organizationId, second, { permissions: ['send'] });
    expect((await send(newer.value, name)).statusCode).toBe(202);
    await remove(second, admin.value);
    const elsewhere = await service.makeDomain(await service.makeOrganization(), name);
    expect(elsewhere).not.toBe(second);
  });

  test('is refused if the last admin key is bound to it', async () => {
    const { organizationId, first, second, admin } = await setUp();
    const refused = await remove(first, admin.value);
    expect([refused.statusCode, refused.json().error.code]).toEqual([409, 'last_admin_key']);
    const spare = await service.makeKey(organizationId, second);
    expect((await remove(first, admin.value)).statusCode).toBe(204);
    expect((await remove(second, spare.value)).json().error.code).toBe('last_admin_key');
  });

  test('of the last two that hold an admin key succeeds for one of two concurrent requests', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { organizationId, first, second, admin } = await setUp();
      const spare = await service.makeKey(organizationId, second);
      const answers = await Promise.all([remove(first, spare.value), remove(second, admin.value)]);
      expect(answers.map(({ statusCode }) => statusCode).sort()).not.toEqual([204, 204]);
      const left = await Promise.all(
        [admin, spare].map(({ value }) => service.request({ url: '/v1/organization', key: value })),
      );
      expect(left.map(({ statusCode }) => statusCode)).toContain(200);
      const at = left.findIndex(({ statusCode }) => statusCode === 200);
      for (const id of [first, second]) await remove(id, [admin, spare][at]?.value ?? '');
    }
  });

  test('needs admin if it would end an admin key, and is refused to other organizations', async () => {
    const { organizationId, first, second } = await setUp();
    const manager = await service.makeKey(organizationId, second, { permissions: ['manage'] });
    expect((await remove(first, manager.value)).json().error.code).toBe('permission_missing');
    const foreign = await service.makeOrganization();
    const stranger = await service.makeKey(foreign, await service.makeDomain(foreign, 'foreign.test'));
    expect((await remove(first, stranger.value)).json().error.code).toBe('other_organization');
    const tester = await service.makeKey(organizationId, second, { environment: 'test' });
    expect((await remove(first, tester.value)).json().error.code).toBe('environment_not_allowed');
  });

  test('honours If-Match', async () => {
    const { second, admin } = await setUp();
    expect((await remove(second, admin.value, { 'if-match': '"9"' })).statusCode).toBe(412);
    const { etag } = (await service.request({ url: `/v1/domains/${second}`, key: admin.value })).headers;
    expect((await remove(second, admin.value, { 'if-match': String(etag) })).statusCode).toBe(204);
  });
});
