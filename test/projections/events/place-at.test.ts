import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { placeAt, readFeed } from '../../../src/projections/events/queries.ts';
import { migratedDatabase } from '../../support/postgres.ts';

const HOUR_MS = 3_600_000;
const START_MS = Date.parse('2026-01-01T00:00:00Z');
const EVENTS = 500;
/** Position formats of the engines: decimal, and the two hexadecimal numbers of EventStoreDB. */
const LOGS = {
  org_1: { head: '0000000000009999999', position: "lpad((n * 17)::text, 19, '0')" },
  org_2: { head: 'f'.repeat(32), position: "repeat(lpad(to_hex(n * 1700), 16, '0'), 2)" },
};

let pool: Pool;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await migratedDatabase();
  pool = new Pool({ connectionString: database.url, max: 2 });
  drop = database.drop;
  // One event per hour, 17 positions apart, in both environments and in one.
  for (const [organizationId, { position }] of Object.entries(LOGS)) {
    await pool.query(
      `insert into read_models.customer_events
         (organization_id, environment, position, item, type, event_id, subject_id, sequence, facts, occurred_at)
       select $3, case when n % 5 = 0 then 'both' else 'live' end, ${position}, 0,
         'message.accepted', 'evt_' || n, 'msg_1', 1, '{}', $1::timestamptz + n * interval '1 hour'
       from generate_series(1, $2) as n`,
      [new Date(START_MS), EVENTS, organizationId],
    );
  }
});
afterAll(async () => {
  await pool.end();
  await drop();
});

const firstFrom = async (organizationId: keyof typeof LOGS, at: Date): Promise<string | undefined> => {
  const by = { organizationId, environment: 'live' } as const;
  const after = await placeAt(pool, { ...by, at, head: LOGS[organizationId].head });
  const { items } = await readFeed(pool, { ...by, domainId: null, types: null, after, limit: 1 });
  return items[0]?.id;
};

describe('the position of a time in the feed', () => {
  test.each([
    [-10, 'evt_1'],
    [1, 'evt_1'],
    [1.5, 'evt_2'],
    [250, 'evt_250'],
    [255.5, 'evt_256'],
    [500, 'evt_500'],
    [501, undefined],
  ])('%s hours after the start is before %s', async (hours, expected) => {
    const at = new Date(START_MS + hours * HOUR_MS);
    expect(await firstFrom('org_1', at)).toBe(expected);
    expect(await firstFrom('org_2', at)).toBe(expected);
  });

  test('is the start for an empty log', async () => {
    const by = { organizationId: 'org_1', environment: 'live', at: new Date(), head: '' } as const;
    expect(await placeAt(pool, by)).toEqual({ position: '', index: 0 });
  });
});
