import { expect, test } from 'vitest';
import { labelKey } from '../../src/projections/messages/queries.ts';
import { recipient } from '../support/controls/message.ts';
import { minute, openWith } from './support/listed-messages.ts';
import { LATER_EVENTS } from './support/message-events.ts';

test('a message is found by a recipient domain, and by what refused a recipient', async () => {
  const { given, ids, pool } = await openWith([
    { id: 'msg_1', at: minute(1), recipients: [recipient('rcp_1'), recipient('rcp_2')] },
    { id: 'msg_2', at: minute(2), recipients: [{ ...recipient('rcp_3'), domain: 'example.org' }] },
  ]);
  const deferred = LATER_EVENTS.RecipientDeferred;
  const smtp = { ...deferred.data.smtp, code: 451, enhanced: '4.7.1' };
  for (const attempt of [1, 2]) {
    for (const recipientId of ['rcp_1', 'rcp_2']) {
      const data = { ...deferred.data, messageId: 'msg_1', recipientId, attempt, smtp };
      await given('message-msg_1', [{ ...deferred, data }]);
    }
  }
  expect(await ids({ recipientDomain: 'example.net' })).toEqual(['msg_1']);
  expect(await ids({ recipientDomain: 'example.org' })).toEqual(['msg_2']);
  expect(await ids({ recipientDomain: 'example' })).toEqual([]);
  expect(await ids({ smtpCodes: ['451'] })).toEqual(['msg_1']);
  expect(await ids({ smtpCodes: ['451', '4.7.1'], recipientDomain: 'example.net' })).toEqual(['msg_1']);
  expect(await ids({ smtpCodes: ['451', '5.1.1'] })).toEqual([]);
  const bounced = LATER_EVENTS.RecipientBounced;
  for (const [recipientId, category] of [
    ['rcp_1', 'spam'],
    ['rcp_2', 'spam'],
    ['rcp_2', undefined],
  ] as const) {
    const event = {
      ...bounced.data,
      messageId: 'msg_1',
      recipientId,
      smtp,
      ...(category !== undefined && { category }),
    };
    await given('message-msg_1', [{ ...bounced, data: event }]);
  }
  expect(await ids({ bounceClass: 'spam', smtpCodes: ['451'] })).toEqual(['msg_1']);
  expect(await ids({ bounceClass: 'unknown' })).toEqual(['msg_1']);
  expect(await ids({ bounceClass: 'policy' })).toEqual([]);
  expect(await ids({ mailboxProvider: 'other' })).toEqual(['msg_2', 'msg_1']);
  expect(await ids({ mailboxProvider: 'gmail' })).toEqual([]);
  expect(await ids({ stream: 'transactional', mailboxProvider: 'other' })).toEqual(['msg_2', 'msg_1']);
  expect(await ids({ stream: 'bulk' })).toEqual([]);
  const { rows } = await pool.query('select label, count(*)::int from read_models.message_labels group by label');
  const times = new Map(rows.map(({ label, count }) => [label, count]));
  const ofCode = (code: string) =>
    times.get(labelKey({ organizationId: 'org_mine', environment: 'live' }, `code:${code}`));
  expect([ofCode('4.7.1'), ofCode('451'), ofCode('550')]).toEqual([1, 1, undefined]);
});

test('a message is found by each outcome that a recipient has, once, however often and in how many batches', async () => {
  const { given, ids, pool } = await openWith([{ id: 'msg_1', at: minute(1), recipients: [recipient('rcp_1')] }]);
  const machine = { ...LATER_EVENTS.RecipientOpened.data, messageId: 'msg_1', machine: 'scanner' as const };
  for (const type of ['RecipientOpened', 'RecipientDeferred', 'RecipientComplained', 'RecipientUnsubscribed'] as const)
    for (const _ of [1, 2]) {
      const event = LATER_EVENTS[type];
      expect(
        await given('message-msg_1', [{ ...event, data: { ...event.data, messageId: 'msg_1' } } as never]),
      ).toEqual([]);
      expect(await given('message-msg_1', [{ type: 'RecipientOpened', data: machine } as never])).toEqual([]);
    }
  for (const outcome of [
    'accepted',
    'waiting',
    'opened',
    'machine_opened',
    'deferred',
    'complained',
    'unsubscribed',
  ] as const)
    expect(await ids({ outcome }), outcome).toEqual(['msg_1']);
  for (const outcome of ['clicked', 'delivered', 'bounced', 'suppressed', 'machine_clicked'] as const)
    expect(await ids({ outcome }), outcome).toEqual([]);
  for (const type of ['RecipientExpired', 'RecipientBounced'] as const) {
    const event = LATER_EVENTS[type];
    await given('message-msg_1', [{ ...event, data: { ...event.data, messageId: 'msg_1' } } as never]);
  }
  expect(await ids({ outcome: 'expired' })).toEqual([]);
  expect(await ids({ outcome: 'waiting' })).toEqual([]);
  expect(await ids({ outcome: 'bounced', recipientDomain: 'example.net', bounceClass: 'unknown' })).toEqual(['msg_1']);
  expect(await ids({ outcome: 'bounced', recipientDomain: 'example.org' })).toEqual([]);
  expect(await ids({ outcome: 'bounced', mailboxProvider: 'gmail' })).toEqual([]);
  expect(await ids({ status: 'bounced' })).toEqual(['msg_1']);
  expect(await ids({ status: 'expired' })).toEqual([]);
  const { rows } = await pool.query('select label from read_models.message_labels group by label having count(*) > 1');
  expect(rows).toEqual([]);
});

test('a message is found by the time of an outcome, once, by the latest of its recipients in the period', async () => {
  const { given, ids, pool } = await openWith([
    { id: 'msg_1', at: minute(1), recipients: ['rcp_1', 'rcp_2', 'rcp_3'].map((id) => recipient(id)) },
    { id: 'msg_2', at: minute(2), recipients: [recipient('rcp_4')] },
  ]);
  const event = async (type: keyof typeof LATER_EVENTS, messageId: string, recipientId: string, at: string) => {
    const one = LATER_EVENTS[type];
    const data = { ...one.data, messageId, recipientId };
    expect(await given(`message-${messageId}`, [{ ...one, data } as never], { occurredAt: at })).toEqual([]);
  };
  await event('RecipientDelivered', 'msg_1', 'rcp_1', minute(10));
  await event('RecipientDelivered', 'msg_1', 'rcp_2', minute(10));
  await event('RecipientDelivered', 'msg_1', 'rcp_3', minute(30));
  await event('RecipientDelivered', 'msg_2', 'rcp_4', minute(20));
  const delivered = (from: number, to: number, more = {}) =>
    ids({ outcome: 'delivered', outcomeSince: minute(from), outcomeUntil: minute(to), ...more });
  expect(await delivered(0, 59)).toEqual(['msg_1', 'msg_2']);
  expect(await delivered(0, 30)).toEqual(['msg_2', 'msg_1']);
  expect(await delivered(11, 30)).toEqual(['msg_2']);
  expect(await delivered(30, 31)).toEqual(['msg_1']);
  expect(await delivered(31, 59)).toEqual([]);
  expect(await ids({ outcome: 'delivered', outcomeSince: minute(21) })).toEqual(['msg_1']);
  expect(await ids({ outcome: 'delivered', outcomeUntil: minute(20) })).toEqual(['msg_1']);
  expect(await delivered(0, 59, { since: minute(2) })).toEqual(['msg_2']);
  expect(await delivered(0, 59, { recipientDomain: 'example.net' })).toEqual(['msg_1', 'msg_2']);
  expect(await delivered(0, 59, { recipientDomain: 'example.org' })).toEqual([]);

  // A late bounce takes the place of the delivery.
  await event('RecipientBounced', 'msg_1', 'rcp_3', minute(40));
  expect(await delivered(30, 31)).toEqual([]);
  expect(await delivered(0, 59)).toEqual(['msg_2', 'msg_1']);
  expect(await ids({ outcome: 'bounced', outcomeSince: minute(40), outcomeUntil: minute(41) })).toEqual(['msg_1']);
  const { rows } = await pool.query(
    'select from read_models.message_labels group by label, created_at, message_id having count(*) > 1',
  );
  expect(rows).toEqual([]);
});
