import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let organizationId: string;
let key: string;

beforeAll(async () => {
  service = await startService();
  organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'asks.test'))).value;
});
afterAll(() => service.close());

describe('a key', () => {
  test.each(['send', 'read', 'manage', 'admin'] as const)('that may only %s can ask who it is', async (permission) => {
    const domainId = await service.makeDomain(organizationId, `${permission}.test`);
    for (const environment of ['live', 'test'] as const) {
      const made = await service.makeKey(organizationId, domainId, { permissions: [permission], environment });
      const answer = await service.request({ url: '/v1/session', key: made.value });
      expect(answer.statusCode, answer.body).toBe(200);
      expect(answer.json()).toMatchObject({
        id: null,
        member: null,
        api_key_id: made.id,
        permissions: [permission],
        environment,
        organization: { id: organizationId },
      });
    }
  });

  test('that is invalid, or was revoked, cannot', async () => {
    const domainId = await service.makeDomain(organizationId, 'revoked.test');
    const { id, value } = await service.makeKey(organizationId, domainId, { permissions: ['send'] });
    const revoked = { method: 'POST', url: `/v1/api-keys/${id}/revoke`, key, payload: {} } as const;
    expect((await service.request(revoked)).statusCode).toBe(200);
    for (const wrong of [value, `ob_live_${'x'.repeat(49)}`])
      expect((await service.request({ url: '/v1/session', key: wrong })).statusCode).toBe(401);
    expect((await service.request({ url: '/v1/session' })).statusCode).toBe(401);
  });
});
