import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { type KeyTenant, openKeyTenant } from '../../support/key-tenant.ts';

let service: DatabaseService;
let tenant: KeyTenant;

beforeAll(async () => {
  service = await startDatabaseService();
  tenant = await openKeyTenant(service);
});
afterAll(() => service.close());

interface ListedKey {
  readonly id: string;
}

const list = async (by?: string): Promise<readonly ListedKey[]> =>
  (await tenant.ask('GET', '', by === undefined ? {} : { by })).body.data;

describe('GET /v1/api-keys', () => {
  test('shows each key as it is when read individually, and no deleted ones', async () => {
    const [used, removed] = [await tenant.make(), await tenant.make()];
    await tenant.opens(used.value, '198.51.100.7');
    await tenant.update(used.id, { name: 'Used', permissions: ['read'] });
    await tenant.ask('DELETE', `/${removed.id}`);
    const listed = await list();
    expect(listed.map(({ id }) => id)).toEqual([used.id, tenant.manager.id, tenant.admin.id]);
    expect(listed[0]).toEqual((await tenant.ask('GET', `/${used.id}`)).body);
    expect(listed[0]).toMatchObject({ name: 'Used', last_used_address: '198.51.100.7', status: 'active' });
  });

  test('shows keys whose domain was deleted as ended, and only test keys to test keys', async () => {
    const gone = await service.makeDomain(tenant.organizationId, 'gone.test');
    const bound = await service.makeKey(tenant.organizationId, gone, { environment: 'test', permissions: ['read'] });
    const tester = await tenant.make({ environment: 'test', permissions: ['manage'] });
    await service.request({ method: 'DELETE', url: `/v1/domains/${gone}`, key: tenant.admin.value });
    expect(await list(tester.value)).toMatchObject([
      { id: tester.id, status: 'active' },
      { id: bound.id, status: 'revoked' },
    ]);
  });
});

test('every change of a key is in the feed', async () => {
  const { id } = await tenant.make();
  await tenant.update(id, { name: 'n' });
  await tenant.ask('POST', `/${id}/rotate`);
  await tenant.ask('DELETE', `/${id}`);
  await tenant.ask('POST', `/${tenant.admin.id}/rotate`, { by: tenant.manager.value }); // rejected, and so no event
  const url = '/v1/events?limit=100';
  const { data } = (await service.request({ url, key: tenant.admin.value })).json();
  const own = data.filter((event: { data: { api_key_id: string } }) => event.data.api_key_id === id);
  expect(own.map(({ type, sequence }: { type: string; sequence: number }) => [type, sequence])).toEqual([
    ['api_key.created', 1],
    ['api_key.updated', 2],
    ['api_key.rotated', 3],
    ['api_key.deleted', 4],
  ]);
});
