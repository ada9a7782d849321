import { describe, test } from 'vitest';
import { message } from '../../../src/domain/message/message.ts';
import { startAttempt } from '../../../src/domain/message/start-attempt.ts';
import { about, attemptStarted, messageAccepted, recipient } from '../../support/controls/message.ts';
import { contextAt, NOW, specify } from '../../support/specification.ts';

const LATER = '2026-11-21T12:15:00.000Z';
const REASON = 'bulk mail of this domain is paused';
const command = { now: NOW, leaseUntil: '2026-11-21T12:05:00.000Z', chance: 0.5 };
const held = { ...command, held: { reason: REASON, waitSeconds: 900 } };
const smtp = { code: 0, enhanced: null, mx: null, tls: null, replyId: null };

const deferred = (recipientId: string, sequence: number, nextAttemptAt = LATER) => ({
  type: 'RecipientDeferred',
  data: { ...about, sequence, recipientId, attempt: 0, smtp, reason: REASON, nextAttemptAt },
});

describe('a message that is held', () => {
  const { given } = specify(message);
  const two = messageAccepted({ recipients: [recipient('rcp_1'), recipient('rcp_2')] });

  test('waits without an attempt', () => {
    given([two])
      .when((state) => startAttempt(state, held))
      .thenEvents(deferred('rcp_1', 3), deferred('rcp_2', 4));
    given([two])
      .when((state) => startAttempt(state, held))
      .thenState({
        attempts: 0,
        recipients: [{ status: 'deferred', nextAttemptAt: LATER, attempts: 0, lease: null }, {}],
      });
  });

  test('is not held again before it is due', () => {
    const { when, state } = given([two]);
    const waiting = startAttempt(state, held).reduce(
      (before, event) => message.evolve(before, event, contextAt(NOW)),
      state,
    );
    when(() => startAttempt(waiting, held)).thenNothing();
  });

  test('ends those who are suppressed all the same', () => {
    given([two])
      .when((state) => startAttempt(state, { ...held, suppressed: new Map([['rcp_1', 'suppressed']]) }))
      .thenEvents(
        { type: 'RecipientSuppressed', data: { ...about, sequence: 3, recipientId: 'rcp_1', reason: 'suppressed' } },
        deferred('rcp_2', 4),
      );
  });

  test('expires in time: it is looked at again when its time to live ends', () => {
    given([messageAccepted({ expiresAt: '2026-11-21T12:03:00.000Z' })])
      .when((state) => startAttempt(state, held))
      .thenEvents(deferred('rcp_1', 2, '2026-11-21T12:03:00.000Z'));
    given([messageAccepted({ expiresAt: NOW })])
      .when((state) => startAttempt(state, held))
      .thenState({ recipients: [{ status: 'expired' }] });
  });

  test('fails with its domain, and is left to whoever has it in hand', () => {
    given([messageAccepted()])
      .when((state) => startAttempt(state, { ...held, domainDeleted: true }))
      .thenState({ recipients: [{ status: 'failed' }] });
    given([messageAccepted(), attemptStarted(1, ['rcp_1'])])
      .when((state) => startAttempt(state, held))
      .thenNothing();
  });
});
