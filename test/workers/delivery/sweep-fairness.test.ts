import { describe, expect, onTestFinished, test } from 'vitest';
import { deliveriesProjection } from '../../../src/projections/deliveries/projection.ts';
import { dueDeliveries } from '../../../src/projections/deliveries/queries.ts';
import {
  createDestinationQueues,
  type DestinationQueuesParts,
} from '../../../src/workers/delivery/destination-queues.ts';
import type { DueMail } from '../../../src/workers/delivery/due.ts';
import { openApplied } from '../../projections/support/applied.ts';
import { silentLogger } from '../../support/logger.ts';
import { createSteppableSystem } from '../../support/system.ts';
import { insertRows, START, sweepOver, takingQueue } from './sweeping.ts';

const BACKLOG = { count: 5_000, destination: `'one.example'`, organizationId: 'org_a' };
const RETRY = { count: 1, destination: `'one.example'`, organizationId: 'org_b' };

/** Queues of a destination that takes two messages at a time. `tried`: the streams of messages that were started. */
const openQueues = () => {
  const tried: string[] = [];
  const ends: ((reason: Error) => void)[] = [];
  const parts = {
    system: createSteppableSystem(),
    logger: silentLogger,
    store: {
      readStream: (stream: string) => {
        tried.push(stream);
        return new Promise((_, reject) => ends.push(reject));
      },
    },
    acceptedCache: { take: () => undefined },
    destinations: { providerOf: async (domain: string) => domain },
    destinationLimits: {
      concurrencyOf: () => 2,
      waitMsOf: () => 0,
      capacityOf: () => Number.POSITIVE_INFINITY,
      started: () => undefined,
      destinationOf: async (domain: string) => domain,
      report: () => [],
    },
  };
  const endOne = async (): Promise<void> => {
    ends.shift()?.(new Error('the log is closed'));
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { tried, endOne, queues: createDestinationQueues(parts as unknown as DestinationQueuesParts) };
};

const openBacklog = async () => {
  const { pool } = await openApplied(deliveriesProjection);
  await insertRows(pool, BACKLOG);
  await insertRows(pool, RETRY);
  await pool.query(`update read_models.deliveries set due_at = timestamptz '${START}' - interval '1 minute'
    where organization_id = 'org_b'`);
  return pool;
};

describe('the retry of an organization, at a destination where 5,000 messages of another are overdue for longer,', () => {
  test('is offered by the first sweep, and tried when two of the backlog have ended', async () => {
    const pool = await openBacklog();
    const { queues, tried, endOne } = openQueues();
    const taken: DueMail[] = [];
    await sweepOver(pool, { queue: takingQueue((due) => void taken.push(due)), isOneServer: false, seconds: 0 });
    expect(taken).toHaveLength(101);
    const run = queues.handlerOf('transactional');
    await run({ due: taken.slice(0, 100) }, new AbortController().signal);
    await run({ due: taken.slice(100) }, new AbortController().signal);
    await new Promise((resolve) => setImmediate(resolve));
    expect(tried).toEqual(['message-msg_org_a_1', 'message-msg_org_a_2']);
    await endOne();
    await endOne();
    expect(tried.slice(2)).toEqual(['message-msg_org_a_3', 'message-msg_org_b_1']);
    expect(queues.saturated('transactional')).toEqual(['one.example org_a']);
  });

  test('is offered while the backlog fills the queue of the destination', async () => {
    const pool = await openBacklog();
    const taken: string[] = [];
    const queue = takingQueue(({ messageId }) => void taken.push(messageId));
    await sweepOver(pool, { queue, isOneServer: false, seconds: 0, saturated: () => ['one.example org_a'] });
    expect(taken).toEqual(['msg_org_b_1']);
  });
});

describe('the retry of an organization whose mail goes to the same single server as that of another', () => {
  test.each([
    ['one destination', `'one.example'`],
    ['1,500 destinations', `'d' || n % 1500 || '.example'`],
  ])(
    'is offered within two seconds, while 200,000 messages of the other to %s are overdue for longer',
    async (_to, destination) => {
      const { pool } = await openApplied(deliveriesProjection);
      await insertRows(pool, { ...BACKLOG, count: 200_000, destination });
      await insertRows(pool, RETRY);
      const taken: string[] = [];
      let waiting = 0;
      const queue = takingQueue(({ messageId }) => {
        taken.push(messageId);
        waiting += 1;
      });
      // The queues of this process say when enough of an organization's mail waits for the server.
      const saturated = () => (waiting > 2_000 ? [' org_a'] : []);
      await sweepOver(pool, { queue, isOneServer: true, seconds: 2, saturated });
      expect(taken).toContain('msg_org_b_1');
      expect(taken.length).toBeLessThan(10_000);
    },
  );
});

test('the timetable by mail flow is read by its index: two probes per flow, and as much for one organization as before', async () => {
  const { pool } = await openApplied(deliveriesProjection);
  await insertRows(pool, { ...BACKLOG, count: 200_000 });
  await insertRows(pool, { count: 1_000, destination: `'d' || n || '.example'`, organizationId: 'org_b' });
  await pool.query('analyze read_models.deliveries');
  const client = await pool.connect();
  onTestFinished(() => client.release(true));
  const ask = { bulk: false, before: START, limit: 100, after: '', flows: 2_000, total: 3_000, without: [] };
  const buffersOf = async (after: string, flows: number): Promise<number> => {
    const { rows } = await client.query(
      `explain (analyze, buffers, format json) execute "due-deliveries"
        ('${after}', ${flows}, false, '${START}', 100, '{}', '{}', 3000)`,
    );
    const { Plan: plan } = rows[0]['QUERY PLAN'][0];
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  };
  for (const planning of ['force_custom_plan', 'force_generic_plan']) {
    await client.query(`set plan_cache_mode = ${planning}`);
    expect((await dueDeliveries(client, ask)).due, planning).toHaveLength(1_100);
    expect(await buffersOf('one.example', 10), planning).toBeLessThan(30); // one flow, of 200,000 rows
    expect(await buffersOf('', 1_000), planning).toBeLessThan(9_000);
  }
});
