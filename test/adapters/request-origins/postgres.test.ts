import { randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPostgresRequestOrigins } from '../../../src/adapters/request-origins.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { silentLogger as logger } from '../../support/logger.ts';
import { migratedDatabase, type TestDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await migratedDatabase();
  pool = new Pool({ connectionString: database.url, max: 2 });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const DAY_MS = 86_400_000;
const originAt = (at: Date) => ({
  id: randomUUID(),
  organizationId: 'org_a',
  address: '2001:db8::1',
  userAgent: null,
  at,
  salt: 'AAAAAAAAAAAAAAAAAAAAAA',
});
const ids = async () =>
  (await pool.query<{ id: string }>('select id from vault.request_origins')).rows.map(({ id }) => id);

test('origins are kept for a year, then swept', async () => {
  const ago = (days: number) => new Date(Date.now() - days * DAY_MS);
  const [young, old] = [originAt(ago(364)), originAt(ago(366))];
  const columns = 'id, organization_id, address, at, salt';
  await pool.query(`insert into vault.request_origins (${columns}) values ($1, 'org_a', '::1', $2, '')`, [
    old.id,
    old.at,
  ]);
  const origins = createPostgresRequestOrigins({ pool, system: createSystem(), logger });
  await origins.put(young);
  await expect.poll(ids).toEqual([young.id]);
  await origins.close();
});

test('addresses are found by id, only in the same organization', async () => {
  const origins = createPostgresRequestOrigins({ pool, system: createSystem(), logger });
  const [own, other] = [originAt(new Date()), { ...originAt(new Date()), organizationId: 'org_b' }];
  await Promise.all([origins.put(own), origins.put(other)]);
  const found = await origins.addressesOf('org_a', [own.id, other.id, randomUUID()]);
  expect([...found]).toEqual([[own.id, '2001:db8::1']]);
  await origins.close();
});
