import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { openSuppressionTenant } from '../../support/suppression-tenant.ts';

let service: DatabaseService;
beforeAll(async () => {
  service = await startDatabaseService();
});
afterAll(() => service.close());

describe('importing a file', () => {
  test('accepts ten thousand rows', async () => {
    const own = await openSuppressionTenant(service);
    const rows = Array.from({ length: 10_000 }, (_, index) => `row${index}@example.net,"a note of ${index}, quoted"`);
    const { body } = await own.importCsv(`address,note\n${rows.join('\n')}\n`);
    expect(body).toMatchObject({ imported: 10_000, unchanged: 0, refused: 0 });
    const exported = await own.ask('GET', '/export');
    expect(exported.text.trimEnd().split('\r\n')).toHaveLength(10_001);
  });
});
