import type { Pool } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { MessageEvent } from '../../src/domain/kernel/events.ts';
import { deliveriesProjection } from '../../src/projections/deliveries/projection.ts';
import {
  type DueDelivery,
  type DueQuery,
  dueDeliveries,
  mailFlowOf,
  mailFlowsOf,
} from '../../src/projections/deliveries/queries.ts';
import { attemptStarted, messageAccepted, messageScheduled, recipient } from '../support/controls/message.ts';
import { NOW } from '../support/specification.ts';
import { openApplied } from './support/applied.ts';
import { LATER_EVENTS } from './support/message-events.ts';

const TWO = [recipient('rcp_1'), recipient('rcp_2')];
const about = <E extends { data: object }>(event: E, recipientId: string): E => ({
  ...event,
  data: { ...event.data, recipientId },
});
const LATE: DueQuery = {
  ...{ bulk: false, before: '2027-01-01T00:00:00.000Z' },
  ...{ after: '', flows: 10, limit: 10, total: 100, without: [] },
};
const dueIn = async (pool: Pool, ask: DueQuery): Promise<readonly DueDelivery[]> =>
  (await dueDeliveries(pool, ask)).due;

/** The fields of the top node in an `explain` plan. */
interface Plan {
  readonly Plans: readonly object[];
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
}

describe('the timetable', () => {
  test('contains a message from its acceptance on, due at once, in its environment', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    await given('message-msg_1', [messageAccepted()]);
    await given('message-msg_2', [messageAccepted({ messageId: 'msg_2' })], { environment: 'test' });
    const expiresAt = '2026-11-24T12:00:00.000Z';
    const rest = { organizationId: 'org_mine', destination: 'example.net', dueAt: NOW, expiresAt };
    expect(await dueIn(pool, { ...LATE, before: NOW })).toEqual([
      { messageId: 'msg_1', environment: 'live', ...rest },
      { messageId: 'msg_2', environment: 'test', ...rest },
    ]);
    expect(await dueIn(pool, { ...LATE, before: '2026-11-21T11:59:59.999Z' })).toEqual([]);
  });

  test('works with rows older than the organization column', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    await given('message-msg_1', [messageAccepted()]);
    await pool.query('update read_models.deliveries set organization_id = null');
    await given('message-msg_1', [attemptStarted(1, ['rcp_1'])]);
    const [due] = await dueIn(pool, LATE);
    expect(due).toMatchObject({ messageId: 'msg_1', organizationId: undefined });
  });

  test('makes a message in flight due when its lease ends', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    await given('message-msg_1', [messageAccepted({ recipients: TWO })]);
    await given('message-msg_1', [attemptStarted(1, ['rcp_1', 'rcp_2'])]);
    const leaseUntil = '2026-11-21T12:05:00.000Z';
    expect(await dueIn(pool, LATE)).toMatchObject([{ dueAt: leaseUntil }]);
    await given('message-msg_1', [LATER_EVENTS.RecipientDelivered]);
    expect(await dueIn(pool, LATE)).toMatchObject([{ dueAt: leaseUntil }]);
  });

  test('lets a message expire later after it was given more time', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    await given('message-msg_1', [messageAccepted({ recipients: TWO })]);
    const { type, data } = LATER_EVENTS.RecipientsHeld;
    const expiresAt = '2026-11-28T12:00:00.000Z';
    await given('message-msg_1', [{ type, data: { ...data, expiresAt } }]);
    await given('message-msg_1', [about(LATER_EVENTS.RecipientDeferred, 'rcp_2')]);
    expect(await dueIn(pool, LATE)).toMatchObject([{ expiresAt }]);
  });

  test('makes a deferred message due at the next attempt, for the earliest of its recipients', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    await given('message-msg_1', [messageAccepted({ recipients: TWO }), attemptStarted(1, ['rcp_1', 'rcp_2'])]);
    await given('message-msg_1', [LATER_EVENTS.AttemptOutcomeUnknown]);
    await given('message-msg_1', [about(LATER_EVENTS.RecipientDeferred, 'rcp_2')]);
    expect(await dueIn(pool, LATE)).toMatchObject([{ dueAt: LATER_EVENTS.RecipientDeferred.data.nextAttemptAt }]);
    await given('message-msg_1', [about(LATER_EVENTS.RecipientExpired, 'rcp_2')]);
    expect(await dueIn(pool, LATE)).toMatchObject([{ dueAt: LATER_EVENTS.AttemptOutcomeUnknown.data.nextAttemptAt }]);
  });

  const ENDINGS = [
    'RecipientDelivered',
    'RecipientBounced',
    'RecipientExpired',
    'RecipientFailed',
    'RecipientSuppressed',
    'RecipientCancelled',
  ] as const;
  for (const type of ENDINGS) {
    test(`forgets a message when ${type} ends its last recipient`, async () => {
      const { given, pool } = await openApplied(deliveriesProjection);
      await given('message-msg_1', [messageAccepted({ recipients: TWO }), attemptStarted(1, ['rcp_1', 'rcp_2'])]);
      await given('message-msg_1', [LATER_EVENTS[type]]);
      expect(await dueIn(pool, LATE)).toHaveLength(1);
      await given('message-msg_1', [about(LATER_EVENTS[type], 'rcp_2')]);
      expect(await dueIn(pool, LATE)).toEqual([]);
      await given('message-msg_1', [LATER_EVENTS.RecipientComplained, LATER_EVENTS.RecipientBounced]);
      expect((await pool.query('select * from read_models.deliveries')).rowCount).toBe(0);
    });
  }

  test('makes a scheduled message due at its time, and lets it expire correspondingly later', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    const { scheduledAt, expiresAt } = messageScheduled().data;
    await given('message-msg_1', [messageAccepted(), messageScheduled()]);
    expect(await dueIn(pool, { ...LATE, before: NOW })).toEqual([]);
    expect(await dueIn(pool, LATE)).toMatchObject([{ dueAt: scheduledAt, expiresAt }]);
  });

  test.each([
    ['sooner', '2026-11-21T18:00:00.000Z', '2026-11-22T18:00:00.000Z'],
    ['later', '2026-12-01T18:00:00.000Z', '2026-12-02T18:00:00.000Z'],
  ])('moves a message that is rescheduled %s, in the same batch or another', async (_when, scheduledAt, expiresAt) => {
    const { given, pool } = await openApplied(deliveriesProjection);
    const { data } = LATER_EVENTS.MessageRescheduled;
    const moved = (messageId: string): MessageEvent => {
      return { type: 'MessageRescheduled', data: { ...data, messageId, scheduledAt, expiresAt } };
    };
    await given('message-msg_1', [messageAccepted(), messageScheduled()]);
    await given('message-msg_1', [moved('msg_1')]);
    const messageId = 'msg_2';
    await given('message-msg_2', [messageAccepted({ messageId }), messageScheduled({ messageId }), moved(messageId)]);
    const row = { dueAt: scheduledAt, expiresAt };
    expect(await dueIn(pool, LATE)).toMatchObject([row, row]);
  });

  test('forgets a message that was cancelled after an unfinished attempt', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    await given('message-msg_1', [messageAccepted(), attemptStarted(1, ['rcp_1'])]);
    await given('message-msg_1', [LATER_EVENTS.AttemptOutcomeUnknown, LATER_EVENTS.RecipientCancelled]);
    expect((await pool.query('select * from read_models.deliveries')).rowCount).toBe(0);
  });

  test.each(['force_custom_plan', 'force_generic_plan'])(
    'is read from its index however many messages are scheduled for later, with %s',
    async (planning) => {
      const { pool } = await openApplied(deliveriesProjection);
      await pool.query(`
        insert into read_models.deliveries (message_id, destination, environment, bulk, due_at, expires_at, recipients)
        select 'msg_' || n, 'example.org', 'live', false, timestamptz '${NOW}' + n * interval '1 second',
          timestamptz '${NOW}' + interval '40 days', '[]' from generate_series(-9, 200000) n`);
      await pool.query('analyze read_models.deliveries');
      const client = await pool.connect();
      onTestFinished(() => client.release(true));
      await client.query(`set plan_cache_mode = ${planning}`);
      const query = { ...LATE, before: NOW, limit: 2_000, total: 3_000 };
      expect((await dueDeliveries(client, query)).due).toHaveLength(10);
      const { rows } = await client.query<{ 'QUERY PLAN': readonly [{ Plan: Plan }] }>(
        `explain (analyze, buffers, format json)
          execute "due-deliveries" ('', 10, false, '${query.before}', ${query.limit}, '{}', '{}', ${query.total})`,
      );
      const plan = rows[0]?.['QUERY PLAN'][0].Plan;
      expect((plan?.['Shared Hit Blocks'] ?? Infinity) + (plan?.['Shared Read Blocks'] ?? 0)).toBeLessThan(20);
    },
  );

  test('has a row for each recipient domain, and each is due separately', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    const recipients = [recipient('rcp_1'), { ...recipient('rcp_2'), domain: 'other.example' }];
    await given('message-msg_1', [messageAccepted({ recipients })]);
    await given('message-msg_1', [attemptStarted(1, ['rcp_1'])]);
    expect(await dueIn(pool, LATE)).toMatchObject([
      { destination: 'example.net', dueAt: '2026-11-21T12:05:00.000Z' },
      { destination: 'other.example', dueAt: NOW },
    ]);
    await given('message-msg_1', [LATER_EVENTS.RecipientDelivered]);
    expect(await dueIn(pool, LATE)).toMatchObject([{ destination: 'other.example' }]);
  });

  test('knows what holds a message until it is attempted, moved or final', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    const heldBy = async () =>
      (await pool.query('select held_by, due_at from read_models.deliveries')).rows.map((row) => [
        ...[row.held_by, row.due_at.toISOString()],
      ]);
    const { until } = LATER_EVENTS.RecipientsHeld.data;
    const { leaseUntil } = LATER_EVENTS.AttemptStarted.data;
    const { nextAttemptAt } = LATER_EVENTS.RecipientDeferred.data;
    await given('message-msg_1', [messageAccepted(), LATER_EVENTS.RecipientsHeld]);
    expect(await heldBy()).toEqual([['dom_1', until]]);
    await given('message-msg_1', [LATER_EVENTS.AttemptStarted]);
    expect(await heldBy()).toEqual([[null, leaseUntil]]);
    await given('message-msg_1', [LATER_EVENTS.RecipientDeferred]);
    expect(await heldBy()).toEqual([[null, nextAttemptAt]]);
    await given('message-msg_1', [LATER_EVENTS.RecipientsHeld]);
    expect(await heldBy()).toEqual([['dom_1', until]]);
    const byTime = { ...LATER_EVENTS.RecipientsHeld.data, reason: 'warm_up', heldBy: null } as const;
    await given('message-msg_1', [{ type: 'RecipientsHeld', data: byTime }]);
    expect(await heldBy()).toEqual([[null, until]]);
    await given('message-msg_1', [LATER_EVENTS.RecipientsHeld, LATER_EVENTS.RecipientCancelled]);
    expect(await heldBy()).toEqual([]);
  });

  test('separates bulk mail', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    await given('message-msg_1', [messageAccepted({ stream: 'bulk' })]);
    expect(await dueIn(pool, LATE)).toEqual([]);
    expect(await dueIn(pool, { ...LATE, bulk: true })).toMatchObject([{ messageId: 'msg_1' }]);
  });

  test('returns a limited number per organization and destination, and continues after the last page', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    for (const [number, domain] of ['b', 'a', 'c', 'a', 'a'].entries()) {
      const recipients = [{ ...recipient('rcp_1'), domain: `${domain}.example` }];
      await given(`message-msg_${number}`, [messageAccepted({ messageId: `msg_${number}`, recipients })]);
    }
    await given('message-msg_9', [
      messageAccepted({ messageId: 'msg_9', recipients: [{ ...recipient('rcp_1'), domain: 'b2.example' }] }),
      messageScheduled({ messageId: 'msg_9' }),
    ]);
    const page = { ...LATE, before: NOW, limit: 2, flows: 2 };
    const first = await dueDeliveries(pool, { ...page, after: '' });
    expect(first.due.map(({ messageId }) => messageId).sort()).toEqual(['msg_0', 'msg_1', 'msg_3']);
    const second = await dueDeliveries(pool, { ...page, after: first.next });
    expect(second.due.map(({ messageId }) => messageId)).toEqual(['msg_2']);
    expect((await dueDeliveries(pool, { ...page, after: second.next })).next).toBe('');
    const rest = await dueDeliveries(pool, { ...page, after: '', without: [first.next, 'other.example org_mine'] });
    expect(rest.due.map(mailFlowOf)).not.toContain(first.next);
    expect(rest).toMatchObject({ next: first.next, due: [expect.anything(), expect.anything()] });
    expect(await dueIn(pool, { ...page, flows: 10, without: [mailFlowsOf('org_other')] })).toHaveLength(4);
    expect(await dueIn(pool, { ...page, flows: 10, without: [mailFlowsOf('org_mine')] })).toEqual([]);
  });

  test('returns a limited number in all, and no organization and destination in part', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    for (const [number, domain] of ['b', 'a', 'c', 'a', 'a'].entries()) {
      const recipients = [{ ...recipient('rcp_1'), domain: `${domain}.example` }];
      await given(`message-msg_${number}`, [messageAccepted({ messageId: `msg_${number}`, recipients })]);
    }
    const page = { ...LATE, before: NOW, limit: 2, total: 4 };
    const first = await dueDeliveries(pool, page);
    expect(first).toMatchObject({ due: [{ messageId: 'msg_1' }, { messageId: 'msg_3' }, { messageId: 'msg_0' }] });
    expect(first.next).toBe('b.example org_mine');
    const second = await dueDeliveries(pool, { ...page, after: first.next });
    expect(second).toMatchObject({ due: [{ messageId: 'msg_2' }], next: '' });
    const small = await dueDeliveries(pool, { ...page, total: 3 });
    expect(small).toMatchObject({ due: [{ messageId: 'msg_1' }, { messageId: 'msg_3' }], next: 'a.example org_mine' });
  });

  test('returns the longest overdue first, up to the limit', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    for (const [number, at] of [3, 1, 2].entries()) {
      const messageId = `msg_${number}`;
      await given(`message-${messageId}`, [messageAccepted({ messageId })], {
        occurredAt: `2026-11-20T0${at}:00:00.000Z`,
      });
    }
    const due = await dueIn(pool, { ...LATE, before: NOW, limit: 2 });
    expect(due.map(({ messageId }) => messageId)).toEqual(['msg_1', 'msg_2']);
  });
});
