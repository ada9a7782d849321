import { describe, expect, onTestFinished, test } from 'vitest';
import { deliveriesProjection } from '../../src/projections/deliveries/projection.ts';
import { dueDeliveries } from '../../src/projections/deliveries/queries.ts';
import { messageAccepted, recipient } from '../support/controls/message.ts';
import { NOW } from '../support/specification.ts';
import { openApplied } from './support/applied.ts';

interface Plan {
  readonly Plans: readonly object[];
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
}

const ASK = { bulk: false, before: NOW, after: '', flows: 10, limit: 10, total: 100, without: [] };

describe('the timetable', () => {
  test('continues after a row of a destination', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    for (const number of [1, 2, 3, 4]) {
      const recipients = [{ ...recipient('rcp_1'), domain: number === 4 ? 'b.example' : 'a.example' }];
      const messageId = `msg_${number}`;
      await given(`message-${messageId}`, [messageAccepted({ messageId, recipients })]);
    }
    const idsOf = (due: readonly { readonly messageId: string }[]) => due.map(({ messageId }) => messageId);
    const behind = new Map([['a.example org_mine', { dueAt: NOW, messageId: 'msg_2' }]]);
    expect(idsOf((await dueDeliveries(pool, { ...ASK, behind })).due)).toEqual(['msg_3', 'msg_4']);
  });

  test.each(['force_custom_plan', 'force_generic_plan'])(
    'is read from a row on without scanning earlier rows, with %s',
    async (planning) => {
      const { pool } = await openApplied(deliveriesProjection);
      await pool.query(`
        insert into read_models.deliveries (message_id, destination, environment, bulk, due_at, expires_at, recipients)
        select 'msg_' || n, 'one.example', 'live', false, timestamptz '${NOW}' - n * interval '1 second',
          timestamptz '${NOW}' + interval '40 days', '[]' from generate_series(1, 200000) n`);
      await pool.query('analyze read_models.deliveries');
      const client = await pool.connect();
      onTestFinished(() => client.release(true));
      await client.query(`set plan_cache_mode = ${planning}`);
      const [behind] = (
        await client.query(`
          select due_at as "dueAt", message_id as "messageId" from read_models.deliveries order by due_at offset 100000`)
      ).rows;
      const place = { ...behind, dueAt: behind.dueAt.toISOString() };
      const ask = { ...ASK, limit: 100, total: 200, behind: new Map([['one.example ', place]]) };
      expect((await dueDeliveries(client, ask)).due).toHaveLength(100);
      const { rows } = await client.query<{ 'QUERY PLAN': readonly [{ Plan: Plan }] }>(`
        explain (analyze, buffers, format json) execute "due-deliveries"
          ('', 10, false, '${NOW}', 100, '{}', '{"one.example ": ["${place.dueAt}", "${place.messageId}"]}', 200)`);
      const plan = rows[0]?.['QUERY PLAN'][0].Plan;
      expect((plan?.['Shared Hit Blocks'] ?? Infinity) + (plan?.['Shared Read Blocks'] ?? 0)).toBeLessThan(150);
    },
  );
});
