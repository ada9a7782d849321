import { describe, expect, onTestFinished, test } from 'vitest';
import type { MessageEvent } from '../../src/domain/kernel/events.ts';
import { deliveriesProjection } from '../../src/projections/deliveries/projection.ts';
import { heldMail, holdersOfMail } from '../../src/projections/deliveries/queries.ts';
import { messageAccepted, recipient } from '../support/controls/message.ts';
import { NOW } from '../support/specification.ts';
import { openApplied } from './support/applied.ts';
import { LATER_EVENTS } from './support/message-events.ts';

const ALL = { after: '', destinations: 10, limit: 10, total: 100 };

const held = (messageId: string, heldBy: string, domain: string): readonly MessageEvent[] => [
  messageAccepted({ messageId, stream: 'bulk', recipients: [{ ...recipient('rcp_1'), domain }] }),
  { type: 'RecipientsHeld', data: { ...LATER_EVENTS.RecipientsHeld.data, messageId, heldBy } },
];

describe('held mail', () => {
  test('is found by what holds it, one destination at a time', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    await given('message-msg_1', held('msg_1', 'dom_1', 'b.example'));
    await given('message-msg_2', held('msg_2', 'dom_1', 'a.example'));
    await given('message-msg_3', held('msg_3', 'org_1', 'a.example'));
    await given('message-msg_4', [messageAccepted({ messageId: 'msg_4', stream: 'bulk' })]);
    expect(await holdersOfMail(pool, { after: '', limit: 10 })).toEqual(['dom_1', 'org_1']);
    expect(await holdersOfMail(pool, { after: '', limit: 1 })).toEqual(['dom_1']);
    expect(await holdersOfMail(pool, { after: 'dom_1', limit: 10 })).toEqual(['org_1']);
    const { due, next } = await heldMail(pool, { ...ALL, holder: 'dom_1' });
    expect(due).toMatchObject([
      { messageId: 'msg_2', destination: 'a.example', environment: 'live' },
      { messageId: 'msg_1', destination: 'b.example' },
    ]);
    expect(next).toBe('');
    expect(await heldMail(pool, { ...ALL, holder: 'dom_2' })).toEqual({ due: [], next: '' });
  });

  test('is returned page by page, with limits per destination and in total', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    for (const [index, domain] of ['a', 'a', 'a', 'b', 'c'].entries()) {
      await given(`message-msg_${index}`, held(`msg_${index}`, 'dom_1', `${domain}.example`));
    }
    const page = async (after: string, bounds: object) => {
      const { due, next } = await heldMail(pool, { ...ALL, holder: 'dom_1', after, ...bounds });
      return [due.map(({ destination }) => destination.slice(0, 1)).join(''), next];
    };
    expect(await page('', { limit: 2 })).toEqual(['aabc', '']);
    expect(await page('', { destinations: 2 })).toEqual(['aaab', 'b.example']);
    expect(await page('', { total: 2 })).toEqual(['aa', 'a.example']);
    expect(await page('a.example', { total: 2 })).toEqual(['bc', 'c.example']);
    expect(await page('c.example', {})).toEqual(['', '']);
  });

  test('is read from its index however much there is, and so are its holders', async () => {
    const { pool } = await openApplied(deliveriesProjection);
    await pool.query(`
      insert into read_models.deliveries
        (message_id, destination, environment, bulk, due_at, held_by, expires_at, recipients)
      select 'msg_' || n, 'd' || n % 5000 || '.example', 'live', true, timestamptz '${NOW}' + n * interval '1 second',
        case n % 3 when 0 then null when 1 then 'dom_1' else 'dom_2' end, timestamptz '${NOW}' + interval '40 days', '[]'
      from generate_series(1, 200000) n`);
    await pool.query('analyze read_models.deliveries');
    const client = await pool.connect();
    onTestFinished(() => client.release(true));
    await client.query('set plan_cache_mode = force_generic_plan');
    expect(await holdersOfMail(client, { after: '', limit: 100 })).toEqual(['dom_1', 'dom_2']);
    const ask = { holder: 'dom_2', after: '', destinations: 1000, limit: 100, total: 500 };
    expect((await heldMail(client, ask)).due).toHaveLength(500);
    const buffersOf = async (execute: string): Promise<number> => {
      const { rows } = await client.query(`explain (analyze, buffers, format json) execute ${execute}`);
      const { Plan: plan } = rows[0]['QUERY PLAN'][0];
      return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    };
    expect(await buffersOf(`"holders-of-mail" ('', 100)`)).toBeLessThan(30);
    expect(await buffersOf(`"held-mail" ('dom_2', '', 1000, 100, 500, '{}')`)).toBeLessThan(1_500);
  });
});
