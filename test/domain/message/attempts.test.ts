import { describe, test } from 'vitest';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import { type AttemptOutcome, claimAttempt, recordAttempt } from '../../../src/domain/message/attempt.ts';
import { type Message, message } from '../../../src/domain/message/message.ts';
import { about, attemptStarted, messageAccepted, recipient, smtpReply } from '../../support/controls/message.ts';
import { NOW, specify } from '../../support/specification.ts';

const LEASE_UNTIL = '2026-11-21T12:05:00.000Z';
const start =
  (now = NOW) =>
  (state: Message) =>
    claimAttempt(state, { now, leaseUntil: LEASE_UNTIL, random: 0.5 });
const record =
  (attempt: number, ...outcomes: AttemptOutcome[]) =>
  (state: Message) =>
    recordAttempt(state, { attempt, outcomes, now: NOW, random: 0.5 });

const two = messageAccepted({ recipients: [recipient('rcp_1'), recipient('rcp_2')] });
const deferred = (recipientId: string): AttemptOutcome => ({
  recipientId,
  outcome: 'deferred',
  smtp: smtpReply(451),
  reason: 'try later',
});

describe('starting an attempt', () => {
  const { given } = specify(message);

  test('claims every recipient that is due', () => {
    given([two])
      .when(start())
      .thenEvents(attemptStarted(1, ['rcp_1', 'rcp_2'], { sequence: 3, leaseUntil: LEASE_UNTIL }));
  });
  test('ends those that are suppressed, and claims the others', () => {
    const suppressed = new Map([['rcp_1', 'the address is suppressed']]);
    const startSuppressed = (state: Message) =>
      claimAttempt(state, { now: NOW, leaseUntil: LEASE_UNTIL, random: 0.5, suppressed });
    const ended = { ...about, recipientId: 'rcp_1', reason: 'the address is suppressed' };
    given([two])
      .when(startSuppressed)
      .thenEvents(
        { type: 'RecipientSuppressed', data: { ...ended, sequence: 3 } },
        attemptStarted(1, ['rcp_2'], { sequence: 4, leaseUntil: LEASE_UNTIL }),
      );
    given([two])
      .when(startSuppressed)
      .thenState({ attempts: 1, recipients: [{ status: 'suppressed' }, { lease: { attempt: 1 } }] });
    given([messageAccepted()])
      .when(startSuppressed)
      .thenEvents({ type: 'RecipientSuppressed', data: { ...ended, sequence: 2 } });
    given([messageAccepted()])
      .when(startSuppressed)
      .thenState({ attempts: 0, recipients: [{ lease: null }] });
  });
  test('records that a copy may have reached a recipient suppressed after an attempt without an outcome', () => {
    const suppressed = new Map([['rcp_1', 'the address is suppressed']]);
    const lost = {
      type: 'AttemptOutcomeUnknown',
      data: { ...about, sequence: 3, attempt: 1, recipientIds: ['rcp_1'], nextAttemptAt: NOW },
    } as const;
    given([
      messageAccepted(),
      attemptStarted(1, ['rcp_1']),
      { ...lost, data: { ...lost.data, recipientIds: ['rcp_1'] } },
    ])
      .when((state) => claimAttempt(state, { now: NOW, leaseUntil: LEASE_UNTIL, random: 0.5, suppressed }))
      .thenState({
        recipients: [
          {
            status: 'suppressed',
            reason: 'the address is suppressed after an attempt whose outcome is unknown',
          },
        ],
      });
  });
  test('does nothing while another attempt holds the lease', () => {
    given([messageAccepted(), attemptStarted(1, ['rcp_1'])])
      .when(start())
      .thenNothing();
  });
  test('notes a lost first attempt once its lease has ended, to be tried again soon', () => {
    given([messageAccepted(), attemptStarted(1, ['rcp_1'])])
      .when(start('2026-11-21T12:05:01.000Z'))
      .thenEvents({
        type: 'AttemptOutcomeUnknown',
        data: {
          ...about,
          sequence: 3,
          attempt: 1,
          recipientIds: ['rcp_1'],
          nextAttemptAt: '2026-11-21T12:05:06.000Z',
        },
      });
  });
  test('does nothing for a message whose recipients have all ended, or that does not exist', () => {
    const delivered = record(1, { recipientId: 'rcp_1', outcome: 'delivered', smtp: smtpReply() });
    const { state } = given([messageAccepted(), attemptStarted(1, ['rcp_1'])]);
    given([messageAccepted(), attemptStarted(1, ['rcp_1']), ...delivered(state)])
      .when(start())
      .thenNothing();
    given([]).when(start()).thenNothing();
  });
  test('waits for a deferred recipient until it is due', () => {
    const history = [messageAccepted(), attemptStarted(1, ['rcp_1'])];
    const { state } = given(history);
    const { when } = given([...history, ...record(1, deferred('rcp_1'))(state)]);
    when(start('2026-11-21T12:00:59.000Z')).thenNothing();
    when(start('2026-11-21T12:01:00.000Z')).thenEvents(
      attemptStarted(2, ['rcp_1'], { sequence: 4, leaseUntil: LEASE_UNTIL }),
    );
  });
  test('notes a lost attempt no later than the time to live ends', () => {
    const expiresAt = '2026-11-21T12:05:02.000Z';
    given([messageAccepted({ expiresAt }), attemptStarted(1, ['rcp_1'])])
      .when(start('2026-11-21T12:05:01.000Z'))
      .thenState({ recipients: [{ status: 'deferred', nextAttemptAt: expiresAt }] });
  });
  test('lets a deferred recipient expire at the end of the time to live, however long its wait would be', () => {
    const expiresAt = '2026-11-21T12:00:20.000Z';
    const history = [messageAccepted({ expiresAt }), attemptStarted(1, ['rcp_1'])];
    const { state } = given(history);
    const { when } = given([...history, ...record(1, deferred('rcp_1'))(state)]);
    when(start('2026-11-21T12:00:19.999Z')).thenNothing();
    when(start(expiresAt)).thenState({ recipients: [{ status: 'expired', nextAttemptAt: null }] });
  });
  test('records that an attempt without an outcome may have reached its recipients', () => {
    const expiresAt = '2026-11-21T12:05:02.000Z';
    const reason = 'the time to live ended before delivery after an attempt whose outcome is unknown';
    const history = [messageAccepted({ expiresAt }), attemptStarted(1, ['rcp_1'])];
    const { state } = given(history);
    const { when } = given([...history, ...record(1, { recipientId: 'rcp_1', outcome: 'unknown' })(state)]);
    when(start(expiresAt)).thenState({ recipients: [{ status: 'expired', reason }] });
  });
  test('expires recipients when the time to live has ended', () => {
    given([messageAccepted({ expiresAt: NOW })])
      .when(start())
      .thenState({ recipients: [{ status: 'expired' }], nextSequence: 3 });
  });
});

describe('a message whose domain was deleted', () => {
  const { given } = specify(message);
  const LATE = '2026-11-21T12:05:01.000Z';
  const startGone =
    (now = NOW) =>
    (state: Message) =>
      claimAttempt(state, { now, leaseUntil: LEASE_UNTIL, random: 0.5, domainDeleted: true });

  test('is cancelled when it is due, and says why', () => {
    const cancelled = { ...about, reason: 'the sending domain was deleted' };
    given([two])
      .when(startGone())
      .thenEvents(
        { type: 'RecipientCancelled', data: { ...cancelled, recipientId: 'rcp_1', sequence: 3 } },
        { type: 'RecipientCancelled', data: { ...cancelled, recipientId: 'rcp_2', sequence: 4 } },
      );
  });
  test('waits while the worker of a lost attempt may still record its outcome', () => {
    const claim = (leavesLost: boolean) => (state: Message) =>
      claimAttempt(state, { now: LATE, leaseUntil: LEASE_UNTIL, random: 0.5, domainDeleted: true, leavesLost });
    const { when } = given([two, attemptStarted(1, ['rcp_1', 'rcp_2'])]);
    when(claim(true)).thenEvents();
    when(claim(false)).thenState({ recipients: [{ status: 'cancelled' }, { status: 'cancelled' }] });
  });
  test('is cancelled for all open recipients, due or not, and for none that have ended', () => {
    const recipients = [recipient('rcp_1'), recipient('rcp_2'), recipient('rcp_3')];
    const history = [messageAccepted({ recipients }), attemptStarted(1, ['rcp_1', 'rcp_2', 'rcp_3'], { sequence: 4 })];
    const { state } = given(history);
    const soon = { ...deferred('rcp_2'), retryAfterSeconds: 10 } as AttemptOutcome;
    const delivered: AttemptOutcome = { recipientId: 'rcp_1', outcome: 'delivered', smtp: smtpReply() };
    const { when } = given([...history, ...record(1, delivered, soon, deferred('rcp_3'))(state)]);
    when(startGone('2026-11-21T12:00:09.999Z')).thenState({
      recipients: [{ status: 'delivered' }, { status: 'cancelled' }, { status: 'cancelled', nextAttemptAt: null }],
    });
  });
  test('is cancelled for due recipients while others are being sent to: their attempt decides for them', () => {
    const cancelled = { ...about, reason: 'the sending domain was deleted' };
    given([two, attemptStarted(1, ['rcp_1'], { sequence: 3, leaseUntil: LEASE_UNTIL })])
      .when(startGone())
      .thenEvents({ type: 'RecipientCancelled', data: { ...cancelled, recipientId: 'rcp_2', sequence: 4 } });
  });
  test('is left alone while it is being sent, and cancelled with a note of the attempt when the lease has ended', () => {
    const { when } = given([messageAccepted(), attemptStarted(1, ['rcp_1'])]);
    const reason = 'the sending domain was deleted after an attempt whose outcome is unknown';
    when(startGone()).thenNothing();
    when(startGone(LATE)).thenState({ recipients: [{ status: 'cancelled', inDoubt: true, reason }] });
  });
  test('is cancelled even if its time to live has ended too', () => {
    given([messageAccepted({ expiresAt: NOW })])
      .when(startGone())
      .thenState({ recipients: [{ status: 'cancelled' }] });
  });
});

describe('the end of the time to live', () => {
  const { given } = specify(message);
  const expiresAt = '2026-11-21T12:00:20.000Z';
  const accepted = messageAccepted({ expiresAt });
  const soon = { retryAfterSeconds: 5 };
  const AFTER = '2026-11-21T12:00:06.000Z';
  const ofTheirs = { ...deferred('rcp_1'), ...soon } as AttemptOutcome;
  const ofOurs = { ...ofTheirs, ownFault: true } as AttemptOutcome;
  /** State after an attempt for each outcome in turn. */
  const attempted = (...outcomes: readonly AttemptOutcome[]) => {
    let history: MessageEvent[] = [accepted];
    outcomes.forEach((outcome, index) => {
      const attempt = index + 1;
      history = [...history, attemptStarted(attempt, ['rcp_1'], { sequence: 2 * attempt })];
      history = [...history, ...record(attempt, outcome)(given(history).state)];
    });
    return given(history);
  };

  test('fails a recipient if the service was to blame for the last attempt, whatever the attempts before met', () => {
    const reason = 'the service could not send it before its time to live ended';
    attempted(ofTheirs, ofOurs)
      .when(start(expiresAt))
      .thenState({ recipients: [{ status: 'failed', reason, nextAttemptAt: null }] });
  });
  test('lets a recipient expire if its mail server was to blame for the last attempt', () => {
    attempted(ofOurs, ofTheirs)
      .when(start(expiresAt))
      .thenState({ recipients: [{ status: 'expired' }] });
  });
  test('fails a recipient whose fault an earlier version recorded: without a reply', () => {
    const smtp = { code: 0, enhanced: null, mx: null, tls: null, replyId: null };
    attempted({ ...ofTheirs, smtp } as AttemptOutcome)
      .when(start(expiresAt))
      .thenState({ recipients: [{ status: 'failed' }] });
  });
  test('lets a recipient expire whose next attempt has an unknown outcome: a copy may have arrived', () => {
    const unknown = { recipientId: 'rcp_1', outcome: 'unknown' } as const;
    attempted(ofOurs, unknown)
      .when(start(expiresAt))
      .thenState({ recipients: [{ status: 'expired' }] });
  });
  test('does not fail a recipient before: it is tried again', () => {
    attempted(ofOurs)
      .when(start(AFTER))
      .thenState({ recipients: [{ status: 'sending', isOwnFault: false }] });
  });
});

describe('recording an attempt', () => {
  const { given } = specify(message);
  const inFlight = [two, attemptStarted(1, ['rcp_1', 'rcp_2'], { sequence: 3 })];

  test('gives each recipient its own outcome, and numbers them on', () => {
    given(inFlight)
      .when(record(1, { recipientId: 'rcp_1', outcome: 'delivered', smtp: smtpReply() }, deferred('rcp_2')))
      .thenEvents(
        {
          type: 'RecipientDelivered',
          data: { ...about, recipientId: 'rcp_1', sequence: 5, attempt: 1, smtp: smtpReply() },
        },
        {
          type: 'RecipientDeferred',
          data: {
            ...about,
            recipientId: 'rcp_2',
            sequence: 6,
            attempt: 1,
            smtp: smtpReply(451),
            reason: 'try later',
            nextAttemptAt: '2026-11-21T12:01:00.000Z',
          },
        },
      );
  });
  test('ends the lease of recipients that have an outcome, and of no others', () => {
    const { when } = given(inFlight);
    when(record(1, deferred('rcp_1'))).thenState({ recipients: [{ lease: null }, { lease: { attempt: 1 } }] });
    when(record(1, deferred('rcp_1'), deferred('rcp_2'))).thenState({ recipients: [{ lease: null }, { lease: null }] });
  });
  test('uses the requested wait', () => {
    given(inFlight)
      .when(record(1, { ...deferred('rcp_1'), outcome: 'deferred', retryAfterSeconds: 30 } as AttemptOutcome))
      .thenState({ recipients: [{ nextAttemptAt: '2026-11-21T12:00:30.000Z' }, {}] });
  });
  test('schedules nothing past the end of the time to live, whether or not the outcome is known', () => {
    const expiresAt = '2026-11-21T12:00:30.000Z';
    const short = messageAccepted({ recipients: [recipient('rcp_1'), recipient('rcp_2')], expiresAt });
    given([short, attemptStarted(1, ['rcp_1', 'rcp_2'], { sequence: 3 })])
      .when(record(1, deferred('rcp_1'), { recipientId: 'rcp_2', outcome: 'unknown' }))
      .thenState({ recipients: [{ nextAttemptAt: expiresAt }, { nextAttemptAt: expiresAt }] });
  });
  test('adds a complaint after a delivery that asked for one', () => {
    given(inFlight)
      .when(record(1, { recipientId: 'rcp_1', outcome: 'delivered', smtp: smtpReply(), complained: true }))
      .thenState({ recipients: [{ status: 'delivered', complained: true }, {}], nextSequence: 7 });
  });
  test('of an attempt that is no longer in flight changes nothing', () => {
    given(inFlight)
      .when(record(2, deferred('rcp_1')))
      .thenNothing();
    given([two])
      .when(record(1, deferred('rcp_1')))
      .thenNothing();
  });
  test('with two outcomes for one recipient keeps the first', () => {
    given(inFlight)
      .when(record(1, { recipientId: 'rcp_1', outcome: 'delivered', smtp: smtpReply() }, deferred('rcp_1')))
      .thenState({ recipients: [{ status: 'delivered' }, { status: 'sending' }] });
  });
  test('twice for the same recipient changes nothing the second time', () => {
    const { state } = given(inFlight);
    const once = record(1, deferred('rcp_1'))(state);
    given([...inFlight, ...once])
      .when(record(1, deferred('rcp_1')))
      .thenNothing();
  });
});
