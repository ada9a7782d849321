import { describe, expect, test } from 'vitest';
import { deliveriesProjection } from '../../src/projections/deliveries/projection.ts';
import { dueDeliveries } from '../../src/projections/deliveries/queries.ts';
import { attemptStarted, messageAccepted, recipient } from '../support/controls/message.ts';
import { NOW } from '../support/specification.ts';
import { openApplied } from './support/applied.ts';
import { LATER_EVENTS } from './support/message-events.ts';

const TWO = [recipient('rcp_1'), recipient('rcp_2')];
const about = <E extends { data: object }>(event: E, recipientId: string): E => ({
  ...event,
  data: { ...event.data, recipientId },
});
const LATE = { before: '2027-01-01T00:00:00.000Z', limit: 10 };

describe('the timetable', () => {
  test('has a message from its acceptance, due at once, on the route of its environment', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    await given('message-msg_1', [messageAccepted()]);
    await given('message-msg_2', [messageAccepted({ messageId: 'msg_2' })], { environment: 'test' });
    const rest = { state: 'waiting', dueAt: NOW, leaseUntil: null, expiresAt: '2026-11-24T12:00:00.000Z' };
    expect(await dueDeliveries(pool, { before: NOW, limit: 10 })).toEqual([
      { messageId: 'msg_1', route: 'live', ...rest },
      { messageId: 'msg_2', route: 'test', ...rest },
    ]);
    expect(await dueDeliveries(pool, { before: '2026-11-21T11:59:59.999Z', limit: 10 })).toEqual([]);
  });

  test('has a message in hand due when its lease ends', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    await given('message-msg_1', [messageAccepted({ recipients: TWO })]);
    await given('message-msg_1', [attemptStarted(1, ['rcp_1', 'rcp_2'])]);
    const leaseUntil = '2026-11-21T12:05:00.000Z';
    expect(await dueDeliveries(pool, LATE)).toMatchObject([{ state: 'leased', dueAt: leaseUntil, leaseUntil }]);
    await given('message-msg_1', [LATER_EVENTS.RecipientDelivered]);
    expect(await dueDeliveries(pool, LATE)).toMatchObject([{ state: 'leased', dueAt: leaseUntil }]);
  });

  test('has a deferred message due at the next attempt, the earliest of its recipients', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    await given('message-msg_1', [messageAccepted({ recipients: TWO }), attemptStarted(1, ['rcp_1', 'rcp_2'])]);
    await given('message-msg_1', [LATER_EVENTS.AttemptOutcomeUnknown]);
    await given('message-msg_1', [about(LATER_EVENTS.RecipientDeferred, 'rcp_2')]);
    expect(await dueDeliveries(pool, LATE)).toMatchObject([
      { state: 'waiting', leaseUntil: null, dueAt: LATER_EVENTS.RecipientDeferred.data.nextAttemptAt },
    ]);
    await given('message-msg_1', [about(LATER_EVENTS.RecipientExpired, 'rcp_2')]);
    expect(await dueDeliveries(pool, LATE)).toMatchObject([
      { dueAt: LATER_EVENTS.AttemptOutcomeUnknown.data.nextAttemptAt },
    ]);
  });

  const ENDINGS = [
    'RecipientDelivered',
    'RecipientBounced',
    'RecipientExpired',
    'RecipientFailed',
    'RecipientSuppressed',
  ] as const;
  for (const type of ENDINGS) {
    test(`forgets a message when ${type} ends its last recipient`, async () => {
      const { given, pool } = await openApplied(deliveriesProjection);
      await given('message-msg_1', [messageAccepted({ recipients: TWO }), attemptStarted(1, ['rcp_1', 'rcp_2'])]);
      await given('message-msg_1', [LATER_EVENTS[type]]);
      expect(await dueDeliveries(pool, LATE)).toHaveLength(1);
      await given('message-msg_1', [about(LATER_EVENTS[type], 'rcp_2')]);
      expect(await dueDeliveries(pool, LATE)).toEqual([]);
      await given('message-msg_1', [LATER_EVENTS.RecipientComplained, LATER_EVENTS.RecipientBounced]);
      expect((await pool.query('select * from read_models.deliveries')).rowCount).toBe(0);
    });
  }

  test('gives the longest overdue first, and no more than asked for', async () => {
    const { given, pool } = await openApplied(deliveriesProjection);
    for (const [number, at] of [3, 1, 2].entries()) {
      const messageId = `msg_${number}`;
      await given(`message-${messageId}`, [messageAccepted({ messageId })], {
        occurredAt: `2026-11-20T0${at}:00:00.000Z`,
      });
    }
    const due = await dueDeliveries(pool, { before: NOW, limit: 2 });
    expect(due.map(({ messageId }) => messageId)).toEqual(['msg_1', 'msg_2']);
  });
});
