import { afterAll, beforeAll, expect, test } from 'vitest';
import { listSourcesCommand } from '../../src/cli/sources.ts';
import { readConfig } from '../../src/config.ts';
import { createPool } from '../../src/lib/postgres/postgres.ts';
import { silentLogger } from '../support/logger.ts';
import { migratedDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await migratedDatabase();
});
afterAll(() => database.drop());

test('the operator sees the warm-up and the reputation of each address, also of one that no longer sends', async () => {
  const pool = createPool({ url: database.url, name: 'test', logger: silentLogger, max: 1 });
  await pool.query(`
    insert into read_models.reputation_counts (sender_id, day, delivered, bounced, complained) values
      ('192.0.2.8', '2026-11-29', 95, 5, 1), ('192.0.2.8', '2026-11-22', 9, 9, 9), ('192.0.2.99', '2026-11-24', 7, 0, 0),
      ('dom_1', '2026-11-29', 1, 1, 1)`);
  const config = readConfig({
    SOURCE_ADDRESSES: '192.0.2.7',
    SOURCE_POOLS: 'bulk=192.0.2.7,192.0.2.8; example.com=192.0.2.8',
    SOURCE_WARM_UPS: '192.0.2.8=2026-11-28',
  });
  const system = { now: () => new Date('2026-11-29T12:00:00.000Z') };
  const operator = { pool, system } as unknown as Parameters<typeof listSourcesCommand.run>[0];
  const none = { warm_up_day: null, recipients_max: null, bounced: 0, bounced_percent: 0, complained: 0 };
  expect(await listSourcesCommand.run(operator, {} as never, config, {} as never)).toMatchObject([
    { ...none, address: '192.0.2.7', sends: 'SOURCE_ADDRESSES, bulk', delivered: 0, complained_percent: 0 },
    {
      ...{ address: '192.0.2.8', sends: 'bulk, example.com', warm_up_day: 2, recipients_max: 100 },
      ...{ delivered: 95, bounced: 5, bounced_percent: 5, complained: 1, complained_percent: 100 / 95 },
    },
    { ...none, address: '192.0.2.99', sends: '', delivered: 7 },
  ]);
  await pool.end();
});
