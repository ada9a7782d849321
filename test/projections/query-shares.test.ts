import { Pool } from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { LOG_START } from '../../src/domain/kernel/event-store.ts';
import { createReadModels, type ReadModels } from '../../src/projections/read-models.ts';
import { migratedDatabase } from '../support/postgres.ts';

/** Pool size of the service. */
const CONNECTIONS = 10;

const NO_LOG = { head: async () => LOG_START, readAll: async () => ({ events: [], position: LOG_START }) };

let pool: Pool;
let readModels: ReadModels;
/** Locks a table, so that its readers wait. Resolves to a function that releases the lock. */
let lock: (table: string) => Promise<() => Promise<void>>;

beforeEach(async () => {
  const database = await migratedDatabase();
  pool = new Pool({ connectionString: database.url, max: CONNECTIONS });
  const locks = new Pool({ connectionString: database.url });
  onTestFinished(async () => {
    await Promise.all([pool.end(), locks.end()]);
    await database.drop();
  });
  lock = async (table) => {
    const client = await locks.connect();
    await client.query(`begin; lock table read_models.${table} in access exclusive mode`);
    return async () => {
      await client.query('rollback');
      client.release();
    };
  };
  readModels = createReadModels({ pool, store: NO_LOG, system: createSystem() });
});

const keysOf = (organizationId: string) =>
  readModels.apiKeys.list({ organizationId, environment: null, limit: 1, after: null });

const templatesOf = (organizationId: string) => readModels.templates.list({ organizationId, limit: 1, after: null });

const statisticsOf = (organizationId: string) =>
  readModels.stats.query({
    organizationId,
    environment: 'live',
    from: '2026-01-01T00:00:00Z',
    to: '2026-01-02T00:00:00Z',
    timezone: 'UTC',
    granularity: 'day',
    attribution: 'event',
    groupBy: [],
    where: {},
    comparesPrevious: false,
  });

const many = <Result>(count: number, query: () => Promise<Result>) =>
  Promise.allSettled(Array.from({ length: count }, query));

describe('an organization with endless queries', () => {
  test('uses three connections for its lists, and another organization lists at once', async () => {
    const release = await lock('api_keys');
    const lists = many(50, () => keysOf('org_a'));
    expect((await templatesOf('org_b')).items).toEqual([]);
    expect(pool.totalCount).toBeLessThanOrEqual(4);
    await release();
    expect((await lists).filter(({ status }) => status === 'rejected')).toEqual([]);
  });

  test('uses two connections for its statistics, and another organization counts and lists at once', async () => {
    const release = await lock('stats_buckets');
    const statistics = many(50, () => statisticsOf('org_a'));
    expect((await templatesOf('org_a')).items).toEqual([]);
    expect((await templatesOf('org_b')).items).toEqual([]);
    const other = statisticsOf('org_b');
    await expect.poll(() => pool.totalCount - pool.idleCount).toBe(3);
    await release();
    expect((await other).data).toHaveLength(1);
    expect((await statistics).filter(({ status }) => status === 'rejected')).toEqual([]);
  });

  const range = { start: '2026-01-01', end: '2026-02-01' };
  test.each<[table: string, query: (organizationId: string) => Promise<unknown>]>([
    ['billing_days', (organizationId) => readModels.billing.usage({ organizationId, ...range })],
    [
      'billing_messages',
      (organizationId) => readModels.billing.billedOn({ organizationId, messageIds: ['msg_1'], from: null, to: null }),
    ],
    ['key_sends', (organizationId) => readModels.apiKeys.sends({ organizationId, keyId: 'key_1', from: 1, to: 1 })],
    [
      'messages',
      (organizationId) =>
        readModels.suppressions.messagesOfDomain({ organizationId, domainId: 'dom_1', messageIds: ['msg_1'] }),
    ],
    ['deliveries', (organizationId) => readModels.deliveries.deferred({ organizationId, messageIds: ['msg_1'] })],
    [
      'destinations',
      (organizationId) =>
        readModels.destinations.suspended({ organizationId, now: range.start, domainIds: [], limit: 1, after: null }),
    ],
    [
      'reputation_counts',
      (organizationId) => readModels.reputation.ofSender({ organizationId, from: range.start, senderId: 'dom_1' }),
    ],
  ])('uses three connections for what it reads of %s', async (table, query) => {
    const release = await lock(table);
    const reads = many(50, () => query('org_a'));
    expect((await templatesOf('org_b')).items).toEqual([]);
    expect(pool.totalCount).toBeLessThanOrEqual(4);
    await release();
    expect((await reads).filter(({ status }) => status === 'rejected')).toEqual([]);
  });

  test('is refused with a sentence when too many wait, and others are not', async () => {
    const release = await lock('api_keys');
    const lists = many(600, () => keysOf('org_a'));
    const others = many(20, () => templatesOf('org_b'));
    expect((await others).filter(({ status }) => status === 'rejected')).toEqual([]);
    await release();
    const refused = (await lists).flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(refused.length).toBeGreaterThan(90);
    expect(refused[0]).toMatchObject({ code: 'unavailable', message: expect.stringContaining('send fewer requests') });
  });
});
