import { describe, test } from 'vitest';
import { type AttemptOutcome, claimAttempt, recordAttempt } from '../../../src/domain/message/attempt.ts';
import { type Message, message } from '../../../src/domain/message/message.ts';
import { attemptStarted, messageAccepted, recipient, smtpReply } from '../../support/controls/message.ts';
import { NOW, specify } from '../../support/specification.ts';

const LEASE_UNTIL = '2026-11-21T12:05:00.000Z';
const record =
  (attempt: number, ...outcomes: AttemptOutcome[]) =>
  (state: Message) =>
    recordAttempt(state, { attempt, outcomes, now: NOW, random: 0.5 });

const deferred = (recipientId: string): AttemptOutcome => ({
  recipientId,
  outcome: 'deferred',
  smtp: smtpReply(451),
  reason: 'try later',
});

describe('an attempt at one destination', () => {
  const at = (id: string, domain: string) => ({ ...recipient(id), domain });
  const recipients = [at('rcp_1', 'one.example'), at('rcp_2', 'other.example'), at('rcp_3', 'one.example')];
  const { given } = specify(message);
  const start =
    (destination: string, now = NOW) =>
    (state: Message) =>
      claimAttempt(state, { destination, now, leaseUntil: LEASE_UNTIL, random: 0.5 });
  const accepted = messageAccepted({ recipients });
  const first = attemptStarted(1, ['rcp_1', 'rcp_3'], { sequence: 4, leaseUntil: LEASE_UNTIL });

  test('is for the recipients there only', () => {
    given([accepted]).when(start('one.example')).thenEvents(first);
  });
  test('does not wait for one at another', () => {
    const second = attemptStarted(2, ['rcp_2'], { sequence: 6, leaseUntil: LEASE_UNTIL });
    const { when } = given([accepted, first]);
    when(start('other.example')).thenEvents(second);
    when(start('one.example')).thenNothing();
  });
  test('is recorded as its own while another is in flight', () => {
    const second = attemptStarted(2, ['rcp_2'], { sequence: 6 });
    const { when } = given([accepted, first, second]);
    when(record(2, deferred('rcp_2'), deferred('rcp_1'))).thenState({
      recipients: [{ status: 'sending' }, { status: 'deferred', lease: null }, { status: 'sending' }],
    });
  });
  test('waits according to failures there, not those elsewhere', () => {
    const second = attemptStarted(2, ['rcp_2'], { sequence: 6 });
    given([accepted, first, second])
      .when(record(2, deferred('rcp_2')))
      .thenState({ recipients: [{}, { nextAttemptAt: '2026-11-21T12:01:00.000Z' }, {}] });
  });
  test('that was lost is recorded by the next attempt there, not by others', () => {
    const { when } = given([accepted, first]);
    when(start('other.example', LEASE_UNTIL)).thenState({
      recipients: [{ status: 'sending' }, { status: 'sending' }, {}],
    });
    when(start('one.example', LEASE_UNTIL)).thenState({
      recipients: [{ status: 'deferred', inDoubt: true }, { status: 'accepted' }, { inDoubt: true }],
    });
  });
});
