import { describe, expect, test } from 'vitest';
import type { MessageEvent } from '../../src/domain/kernel/events.ts';
import { deliveriesProjection } from '../../src/projections/deliveries/projection.ts';
import { BACKLOG_COUNTED_MAX, readBacklog } from '../../src/projections/deliveries/queries.ts';
import { attemptStarted, messageAccepted, messageScheduled } from '../support/controls/message.ts';
import { slowness } from '../support/slowness.ts';
import { NOW } from '../support/specification.ts';
import { openApplied } from './support/applied.ts';
import { LATER_EVENTS } from './support/message-events.ts';

const SOON = new Date(Date.parse(NOW) + 30_000);
const LATER = new Date('2027-01-01T00:00:00.000Z');
const about = <E extends MessageEvent>(event: E, messageId: string): E => ({
  ...event,
  data: { ...event.data, messageId },
});

describe('the backlog', () => {
  test('is counted by reason, and mail in flight has none', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    expect(await readBacklog(pool, SOON)).toEqual({
      waiting: { due: 0, scheduled: 0, deferred: 0, held: 0 },
      oldestDueSeconds: 0,
      suspendedDestinations: 0,
    });
    const accepted = (messageId: string): MessageEvent => messageAccepted({ messageId });
    const started = (messageId: string): MessageEvent => about(attemptStarted(1, ['rcp_1']), messageId);
    await given('message-msg_1', [accepted('msg_1')]);
    await given('message-msg_2', [messageAccepted({ messageId: 'msg_2', stream: 'bulk' })]);
    await given('message-msg_3', [accepted('msg_3'), started('msg_3')]);
    await given('message-msg_4', [accepted('msg_4'), about(messageScheduled(), 'msg_4')]);
    await given('message-msg_5', [accepted('msg_5'), started('msg_5')]);
    await given('message-msg_5', [about(LATER_EVENTS.RecipientDeferred, 'msg_5')]);
    await given('message-msg_6', [accepted('msg_6'), about(LATER_EVENTS.RecipientsHeld, 'msg_6')]);
    expect(await readBacklog(pool, SOON)).toEqual({
      waiting: { due: 2, scheduled: 1, deferred: 1, held: 1 },
      oldestDueSeconds: 30,
      suspendedDestinations: 0,
    });
  });

  test('is due at its time, for any reason that it waited', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    await given('message-msg_1', [messageAccepted(), messageScheduled()]);
    await given('message-msg_2', [
      messageAccepted({ messageId: 'msg_2' }),
      about(LATER_EVENTS.RecipientsHeld, 'msg_2'),
    ]);
    expect((await readBacklog(pool, LATER)).waiting).toEqual({ due: 2, scheduled: 0, deferred: 0, held: 0 });
  });

  test('is counted from indexes only, up to a limit', async () => {
    const { pool } = await openApplied(deliveriesProjection);
    await pool.query(`
      insert into read_models.deliveries
        (message_id, destination, environment, bulk, due_at, waiting, expires_at, recipients)
      select 'msg_' || n, 'd' || n % 5000 || '.example', 'live', n % 2 = 0, timestamptz '${NOW}' + n * interval '1 second',
        case when n > 150000 then 'deferred' end, timestamptz '${NOW}' + interval '40 days', '[]'
      from generate_series(1, 300000) n`);
    await pool.query(`
      insert into read_models.destinations (operator, since, suspended_until, state)
      select 'mx' || n || '.example', '${NOW}', timestamptz '${NOW}' + n * interval '1 hour', '{}'
      from generate_series(1, 100) n`);
    await pool.query('vacuum analyze read_models.deliveries');
    const beganMs = performance.now();
    const noon = new Date(Date.parse(NOW) + 150_000_000);
    const backlog = await readBacklog(pool, noon);
    expect(backlog.waiting).toEqual({ due: BACKLOG_COUNTED_MAX, scheduled: 0, deferred: BACKLOG_COUNTED_MAX, held: 0 });
    expect(backlog.oldestDueSeconds).toBe(149_999);
    expect(backlog.suspendedDestinations).toBe(59);
    expect(performance.now() - beganMs).toBeLessThan(2_000 * slowness());
  });
});
