import { describe, test } from 'vitest';
import { rescheduleMessage } from '../../../src/domain/message/accept-message.ts';
import { claimAttempt } from '../../../src/domain/message/attempt.ts';
import { type Message, message } from '../../../src/domain/message/message.ts';
import { about, attemptStarted, messageAccepted, messageScheduled, recipient } from '../../support/controls/message.ts';
import { NOW, specify } from '../../support/specification.ts';

/** The time in `messageScheduled`. The message expires a day later. */
const SCHEDULED_AT = '2026-11-22T08:00:00.000Z';
const EARLIER = '2026-11-21T18:00:00.000Z';
const LATER = '2026-12-01T18:00:00.000Z';

const reschedule =
  (scheduledAt: string, now = NOW, organizationId = 'org_mine') =>
  (state: Message) =>
    rescheduleMessage(state, { organizationId, scheduledAt, now });

const ended = (recipientId: string) => ({
  type: 'RecipientSuppressed' as const,
  data: { ...about, sequence: 3, recipientId, reason: 'on the list' },
});

const HISTORY = [messageAccepted(), messageScheduled()];

describe('rescheduling a message', () => {
  const { given } = specify(message);

  test.each([
    ['sooner', EARLIER, '2026-11-22T18:00:00.000Z'],
    ['later', LATER, '2026-12-02T18:00:00.000Z'],
  ])('%s moves its time to live along', (_when, scheduledAt, expiresAt) => {
    const { when } = given(HISTORY);
    when(reschedule(scheduledAt)).thenEvents({
      type: 'MessageRescheduled',
      data: { ...about, sequence: 3, recipientIds: ['rcp_1'], scheduledAt, expiresAt },
    });
    when(reschedule(scheduledAt)).thenState({
      schedule: { first: SCHEDULED_AT, current: scheduledAt },
      expiresAt,
      recipients: [{ status: 'scheduled', nextAttemptAt: scheduledAt }],
    });
  });
  test('twice keeps the length of the time to live', () => {
    const { state } = given(HISTORY);
    given([...HISTORY, ...reschedule(LATER)(state)])
      .when(reschedule(EARLIER))
      .thenState({ expiresAt: '2026-11-22T18:00:00.000Z' });
  });
  test('to the time it has changes nothing, even when that time has come', () => {
    given(HISTORY).when(reschedule(SCHEDULED_AT)).thenNothing();
    given(HISTORY).when(reschedule(SCHEDULED_AT, '2026-11-22T08:00:01.000Z')).thenNothing();
  });
  test('is possible until it is claimed, though its time has come', () => {
    given(HISTORY)
      .when(reschedule(LATER, '2026-11-22T08:00:01.000Z'))
      .thenState({ schedule: { current: LATER } });
  });
  test('affects the recipients that wait, and none that have ended', () => {
    const recipients = [recipient('rcp_1'), recipient('rcp_2')];
    given([messageAccepted({ recipients }), messageScheduled({ recipientIds: ['rcp_1', 'rcp_2'] }), ended('rcp_2')])
      .when(reschedule(LATER))
      .thenState({ recipients: [{ status: 'scheduled' }, { status: 'suppressed' }] });
  });
  test('is refused for a time that has passed or lies too far ahead', () => {
    given(HISTORY).when(reschedule(NOW)).thenRefused('schedule_not_possible');
    given(HISTORY).when(reschedule('2026-12-21T12:00:00.001Z')).thenRefused('schedule_not_possible');
  });
  test('is refused for a message that was not scheduled, or waits for another attempt', () => {
    given([messageAccepted()]).when(reschedule(LATER)).thenRefused('message_not_scheduled');
    const lost = attemptStarted(1, ['rcp_1'], { sequence: 3 });
    given([...HISTORY, lost])
      .when(reschedule(LATER, '2026-11-22T08:06:00.000Z'))
      .thenRefused('message_not_scheduled');
  });
  test('is refused while it is being sent', () => {
    given([...HISTORY, attemptStarted(1, ['rcp_1'], { sequence: 3 })])
      .when(reschedule(LATER))
      .thenRefused('message_being_sent');
  });
  test('is refused once every recipient has ended', () => {
    given([...HISTORY, ended('rcp_1')])
      .when(reschedule(LATER))
      .thenRefused('message_ended');
  });
  test('is refused for a message that does not exist, or is another organization’s', () => {
    given([]).when(reschedule(LATER)).thenRefused('not_found');
    given(HISTORY)
      .when(reschedule(LATER, NOW, 'org_other'))
      .thenRefused('other_organization');
  });
});

describe('a scheduled message', () => {
  const { given } = specify(message);
  const claim = (now: string) => (state: Message) =>
    claimAttempt(state, { now, leaseUntil: '2026-11-23T00:00:00.000Z', random: 0.5 });

  test('is claimed at its time and not before', () => {
    const { when } = given(HISTORY);
    when(claim('2026-11-22T07:59:59.999Z')).thenNothing();
    when(claim(SCHEDULED_AT)).thenState({ recipients: [{ status: 'sending' }], attempts: 1 });
  });
  test('expires when its time to live has passed since then, not since it was accepted', () => {
    const { when } = given([messageAccepted({ expiresAt: '2026-11-21T13:00:00.000Z' }), messageScheduled()]);
    when(claim('2026-11-23T07:59:59.999Z')).thenState({ recipients: [{ status: 'sending' }] });
    when(claim('2026-11-23T08:00:00.000Z')).thenState({ recipients: [{ status: 'expired' }] });
  });
});
