import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LOG_START } from '../../../../src/domain/kernel/event-store.ts';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { openSuppressionTenant } from '../../support/suppression-tenant.ts';

let service: DatabaseService;
beforeAll(async () => {
  service = await startDatabaseService();
});
afterAll(() => service.close());

describe('the event feed', () => {
  test('shows additions and removals with the address, which is not in the log', async () => {
    const tenant = await openSuppressionTenant(service);
    const address = 'person@example.net';
    const { body: suppression } = await tenant.add({ address, scope: 'bulk' });
    await tenant.ask('DELETE', `/${suppression.id}`);
    const url = '/v1/events?types=suppression.created,suppression.deleted';
    const { data } = (await service.request({ url, key: tenant.admin })).json();
    const named = { suppression: { id: suppression.id, address } };
    expect(data.map(({ type, sequence, data: told }: Record<string, unknown>) => [type, sequence, told])).toEqual([
      ['suppression.created', 1, { ...named, reason: 'manual', scope: 'bulk', expires_at: null }],
      ['suppression.deleted', 2, named],
    ]);
    const { events } = await service.deps.context.store.readAll({
      from: LOG_START,
      filter: { categories: ['suppression'] },
      limit: 10_000,
    });
    expect(JSON.stringify(events)).not.toContain(address);
  });
});
