import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';

let service: DatabaseService;

beforeAll(async () => {
  service = await startDatabaseService();
});
afterAll(() => service.close());

const HOOK = { url: 'http://127.0.0.1:9/', events: ['message.*'] };

const openTenant = async (name: string) => {
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, name);
  const keys = {
    live: (await service.makeKey(organizationId, domainId)).value,
    test: (await service.makeKey(organizationId, domainId, { environment: 'test' })).value,
  };
  const register = (environment: keyof typeof keys) =>
    service.request({ method: 'POST', url: '/v1/webhooks', key: keys[environment], payload: HOOK });
  return { keys, register };
};

test('An organization has at most 50 webhooks, of both environments, however many are registered at once', async () => {
  const { keys, register } = await openTenant('example.test');
  for (let count = 0; count < 45; count += 1) expect((await register('live')).statusCode).toBe(201);
  const together = await Promise.all(Array.from({ length: 40 }, () => register('test')));
  const made = together.filter(({ statusCode }) => statusCode === 201);
  expect(made.length).toBeLessThanOrEqual(5);
  for (let count = made.length; count < 5; count += 1) expect((await register('live')).statusCode).toBe(201);
  const refused = await register('live');
  expect([refused.statusCode, refused.json().error.code]).toEqual([409, 'too_many_webhooks']);

  const [deleted] = made;
  const url = `/v1/webhooks/${deleted?.json().id}`;
  if (deleted !== undefined) await service.request({ method: 'DELETE', url, key: keys.test });
  expect((await register('live')).statusCode).toBe(deleted === undefined ? 409 : 201);

  const other = await openTenant('other.test');
  expect((await other.register('live')).statusCode).toBe(201);
});
