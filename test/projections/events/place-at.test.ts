import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { placeAt, readFeed } from '../../../src/projections/events/queries.ts';
import { migratedDatabase } from '../../support/postgres.ts';

const HOUR_MS = 3_600_000;
const START_MS = Date.parse('2026-01-01T00:00:00Z');
const EVENTS = 500;
const HEAD = '0000000000009999999';

let pool: Pool;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await migratedDatabase();
  pool = new Pool({ connectionString: database.url, max: 2 });
  drop = database.drop;
  // One an hour, 17 positions apart, of both environments and of one.
  await pool.query(
    `insert into read_models.customer_events
       (organization_id, environment, position, item, type, event_id, subject_id, sequence, facts, occurred_at)
     select 'org_1', case when n % 5 = 0 then 'both' else 'live' end, lpad((n * 17)::text, 19, '0'), 0,
       'message.accepted', 'evt_' || n, 'msg_1', 1, '{}', $1::timestamptz + n * interval '1 hour'
     from generate_series(1, $2) as n`,
    [new Date(START_MS), EVENTS],
  );
}, 60_000);
afterAll(async () => {
  await pool.end();
  await drop();
});

const by = { organizationId: 'org_1', environment: 'live' } as const;

const firstFrom = async (at: Date): Promise<string | undefined> => {
  const after = await placeAt(pool, { ...by, at, head: HEAD });
  const { items } = await readFeed(pool, { ...by, domainId: null, types: null, after, limit: 1 });
  return items[0]?.id;
};

describe('the place of a time in the feed', () => {
  test.each([
    [-10, 'evt_1'],
    [1, 'evt_1'],
    [1.5, 'evt_2'],
    [250, 'evt_250'],
    [255.5, 'evt_256'],
    [500, 'evt_500'],
    [501, undefined],
  ])('%s hours after the start is before %s', async (hours, expected) => {
    expect(await firstFrom(new Date(START_MS + hours * HOUR_MS))).toBe(expected);
  });

  test('is the start of an empty log', async () => {
    expect(await placeAt(pool, { ...by, at: new Date(), head: '' })).toEqual({ position: '', index: 0 });
  });
});
