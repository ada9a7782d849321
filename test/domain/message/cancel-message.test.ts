import { describe, test } from 'vitest';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import { cancelMessage } from '../../../src/domain/message/accept-message.ts';
import { type AttemptOutcome, claimAttempt, recordAttempt } from '../../../src/domain/message/attempt.ts';
import { type Message, message } from '../../../src/domain/message/message.ts';
import {
  about,
  attemptStarted,
  messageAccepted,
  messageScheduled,
  recipient,
  smtpReply,
} from '../../support/controls/message.ts';
import { NOW, specify } from '../../support/specification.ts';

const MUCH_LATER = '2026-11-24T11:00:00.000Z';

const cancel =
  (now = NOW, organizationId = 'org_mine') =>
  (state: Message) =>
    cancelMessage(state, { organizationId, now });

const cancelled = (recipientId: string, sequence: number, reason = 'cancelled by its sender') => ({
  type: 'RecipientCancelled' as const,
  data: { ...about, sequence, recipientId, reason },
});

const TWO = messageAccepted({ recipients: [recipient('rcp_1'), recipient('rcp_2')] });
const CLAIMED = attemptStarted(1, ['rcp_1', 'rcp_2'], { sequence: 3 });

describe('cancelling a message', () => {
  const { given } = specify(message);

  /** Ends the claimed attempt with these outcomes. */
  const after = (...outcomes: AttemptOutcome[]): MessageEvent[] => {
    const { state } = given([TWO, CLAIMED]);
    return [TWO, CLAIMED, ...recordAttempt(state, { attempt: 1, outcomes, now: NOW, random: 0.5 })];
  };
  const delivered = (recipientId: string): AttemptOutcome => ({ recipientId, outcome: 'delivered', smtp: smtpReply() });
  const deferred = (recipientId: string): AttemptOutcome => ({
    recipientId,
    outcome: 'deferred',
    smtp: smtpReply(451),
    reason: 'try later',
  });

  test('ends every recipient, accepted or scheduled, so that none is claimed', () => {
    given([TWO]).when(cancel()).thenEvents(cancelled('rcp_1', 3), cancelled('rcp_2', 4));
    given([messageAccepted(), messageScheduled()]).when(cancel()).thenEvents(cancelled('rcp_1', 3));
    const { state } = given([messageAccepted(), messageScheduled(), cancelled('rcp_1', 3)]);
    given([messageAccepted(), messageScheduled(), cancelled('rcp_1', 3)])
      .when(() => claimAttempt(state, { now: MUCH_LATER, leaseUntil: MUCH_LATER, random: 0.5 }))
      .thenNothing();
  });
  test('ends deferred recipients and leaves ended ones unchanged', () => {
    const { when } = given(after(delivered('rcp_1'), deferred('rcp_2')));
    when(cancel()).thenEvents(cancelled('rcp_2', 7));
    when(cancel()).thenState({ recipients: [{ status: 'delivered' }, { status: 'cancelled', nextAttemptAt: null }] });
  });
  test('is refused while any recipient is being sent to, whatever the state of the others', () => {
    given([TWO, CLAIMED]).when(cancel()).thenRefused('message_being_sent');
    given(after(delivered('rcp_1')))
      .when(cancel())
      .thenRefused('message_being_sent');
    given(after(deferred('rcp_1')))
      .when(cancel())
      .thenRefused('message_being_sent');
  });
  test('records an attempt whose lease has run out, and that a copy may have left', () => {
    const now = '2026-11-21T12:05:00.000Z';
    const inDoubt = 'cancelled by its sender after an attempt whose outcome is unknown';
    const { when } = given(after(deferred('rcp_1')));
    when(cancel(now)).thenEvents(
      {
        type: 'AttemptOutcomeUnknown',
        data: { ...about, sequence: 6, attempt: 1, recipientIds: ['rcp_2'], nextAttemptAt: now },
      },
      cancelled('rcp_1', 7),
      cancelled('rcp_2', 8, inDoubt),
    );
    when(cancel(now)).thenState({ recipients: [{ status: 'cancelled' }, { status: 'cancelled', lease: null }] });
  });
  test('records that a copy may have left as long as only an attempt without an outcome is known', () => {
    const inDoubt = 'cancelled by its sender after an attempt whose outcome is unknown';
    const { when } = given(after(deferred('rcp_1'), { recipientId: 'rcp_2', outcome: 'unknown' }));
    when(cancel()).thenEvents(cancelled('rcp_1', 7), cancelled('rcp_2', 8, inDoubt));
  });
  test('again changes nothing, whether all or only the rest was cancelled', () => {
    given([TWO, cancelled('rcp_1', 3), cancelled('rcp_2', 4)])
      .when(cancel())
      .thenNothing();
    given([...after(delivered('rcp_1'), deferred('rcp_2')), cancelled('rcp_2', 7)])
      .when(cancel())
      .thenNothing();
  });
  test('is refused if every recipient has already ended', () => {
    given(after(delivered('rcp_1'), { recipientId: 'rcp_2', outcome: 'failed', reason: 'because' }))
      .when(cancel())
      .thenRefused('message_ended');
  });
  test('is refused for a message that does not exist, or is another organization’s', () => {
    given([]).when(cancel()).thenRefused('not_found');
    given([TWO]).when(cancel(NOW, 'org_other')).thenRefused('other_organization');
  });
});
