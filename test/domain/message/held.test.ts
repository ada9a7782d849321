import { describe, expect, test } from 'vitest';
import { cancelMessage, rescheduleMessage } from '../../../src/domain/message/accept-message.ts';
import { type ClaimAttempt, claimAttempt, type Hold } from '../../../src/domain/message/attempt.ts';
import { type Message, message } from '../../../src/domain/message/message.ts';
import {
  about,
  attemptStarted,
  messageAccepted,
  messageScheduled,
  recipient,
  smtpReply,
} from '../../support/controls/message.ts';
import { contextAt, NOW, specify } from '../../support/specification.ts';

const LATER = '2026-11-22T12:00:00.000Z';
const PAUSED: Hold = { reason: 'domain_paused', heldBy: 'dom_1', waitSeconds: 86_400 };
const command: ClaimAttempt = { now: NOW, leaseUntil: '2026-11-21T12:05:00.000Z', random: 0.5 };
const held: ClaimAttempt = { ...command, held: PAUSED };
const two = messageAccepted({ recipients: [recipient('rcp_1'), recipient('rcp_2')] });

const inDays = (days: number): string => new Date(Date.parse(NOW) + days * 86_400_000).toISOString();

const recipientsHeld = (recipientIds: readonly string[], sequence: number, data: object = {}) => ({
  type: 'RecipientsHeld',
  data: { ...about, sequence, recipientIds, reason: 'domain_paused', heldBy: 'dom_1', until: LATER, ...data },
});

/** The message after these claims. */
const after = (state: Message, ...looks: readonly ClaimAttempt[]): Message =>
  looks.reduce(
    (before, look) =>
      claimAttempt(before, look).reduce((is, event) => message.evolve(is, event, contextAt(look.now)), before),
    state,
  );

const recipientsOf = (state: Message) => (state.status === 'absent' ? [] : state.recipients);

describe('a message that is held', () => {
  const { given } = specify(message);

  test('waits without an attempt, recorded as one fact about all its recipients', () => {
    given([two])
      .when((state) => claimAttempt(state, held))
      .thenEvents(recipientsHeld(['rcp_1', 'rcp_2'], 3));
    const held1 = { reason: 'domain_paused', heldBy: 'dom_1', since: NOW, until: LATER };
    given([two])
      .when((state) => claimAttempt(state, held))
      .thenState({
        attempts: 0,
        nextSequence: 3,
        recipients: [{ status: 'accepted', nextAttemptAt: null, attempts: 0, lease: null, held: held1 }, {}],
      });
  });

  test('is not deferred by that: the outcome of an earlier attempt is unchanged', () => {
    const smtp = smtpReply(451);
    const nextAttemptAt = '2026-11-21T11:59:00.000Z';
    const data = { ...about, sequence: 3, recipientId: 'rcp_1', attempt: 1, smtp, reason: 'greylisted', nextAttemptAt };
    given([messageAccepted(), attemptStarted(1, ['rcp_1']), { type: 'RecipientDeferred', data }])
      .when((state) => claimAttempt(state, held))
      .thenState({ recipients: [{ status: 'deferred', smtp, reason: 'greylisted', nextAttemptAt, attempts: 1 }] });
  });

  test('is held once, until its time is over or another reason holds it', () => {
    const { state } = given([two]);
    const waiting = after(state, held);
    expect(claimAttempt(waiting, held)).toEqual([]);
    const sooner = { ...held, now: '2026-11-22T11:59:59.999Z' };
    expect(claimAttempt(waiting, sooner)).toEqual([]);
    const over = { ...held, now: LATER };
    expect(claimAttempt(waiting, over)).toEqual([
      recipientsHeld(['rcp_1', 'rcp_2'], 3, { until: '2026-11-23T12:00:00.000Z' }),
    ]);
    const warmUp: Hold = { reason: 'warm_up', heldBy: null, waitSeconds: 3600 };
    expect(claimAttempt(waiting, { ...command, held: warmUp })).toEqual([
      recipientsHeld(['rcp_1', 'rcp_2'], 3, {
        reason: 'warm_up',
        heldBy: null,
        until: '2026-11-21T13:00:00.000Z',
      }),
    ]);
  });

  test('is claimed as soon as nothing holds it any more, whatever the time', () => {
    const { state } = given([two]);
    const waiting = after(state, held);
    expect(claimAttempt(waiting, command)).toMatchObject([
      { type: 'AttemptStarted', data: { attempt: 1, recipientIds: ['rcp_1', 'rcp_2'] } },
    ]);
    expect(recipientsOf(after(waiting, command))[0]).toMatchObject({ status: 'sending', held: null });
  });

  test('still ends suppressed recipients, then or later', () => {
    const ended = (sequence: number) => ({
      type: 'RecipientSuppressed',
      data: { ...about, sequence, recipientId: 'rcp_1', reason: 'suppressed' },
    });
    const suppressed = { ...held, suppressed: new Map([['rcp_1', 'suppressed']]) };
    given([two])
      .when((state) => claimAttempt(state, suppressed))
      .thenEvents(ended(3), recipientsHeld(['rcp_2'], 4));
    const { state } = given([two]);
    expect(claimAttempt(after(state, held), suppressed)).toEqual([ended(3)]);
  });

  test('lives longer by waits that do not count, unless its sender asked for a shorter life', () => {
    const DAY_SECONDS = 86_400;
    const long: Hold = { reason: 'warm_up', heldBy: null, waitSeconds: 10 * DAY_SECONDS };
    const waiting: ClaimAttempt = { ...command, held: { ...long, outsideTimeToLive: true } };
    const expiring = (days: number) => messageAccepted({ expiresAt: inDays(days) });
    given([expiring(3)])
      .when((state) => claimAttempt(state, waiting))
      .thenState({ expiresAt: inDays(13), recipients: [{ held: { until: inDays(10) }, status: 'accepted' }] });
    given([expiring(3)])
      .when((state) => claimAttempt(state, { ...command, held: long }))
      .thenState({ expiresAt: inDays(3), recipients: [{ held: { until: inDays(3) } }] });
    given([expiring(2)])
      .when((state) => claimAttempt(state, waiting))
      .thenEvents(recipientsHeld(['rcp_1'], 2, { reason: 'warm_up', heldBy: null, until: inDays(2) }));
  });

  test('expires on time: it is processed again when its time to live ends', () => {
    const until = '2026-11-21T12:03:00.000Z';
    const { state } = given([messageAccepted({ expiresAt: until })]);
    expect(claimAttempt(state, held)).toEqual([recipientsHeld(['rcp_1'], 2, { until })]);
    expect(recipientsOf(after(state, held, { ...held, now: until }))).toMatchObject([
      { status: 'expired', held: null },
    ]);
  });

  test('is cancelled with its domain, but is left to an attempt in flight', () => {
    const { state } = given([messageAccepted()]);
    expect(recipientsOf(after(state, held, { ...held, domainDeleted: true }))).toMatchObject([{ status: 'cancelled' }]);
    given([messageAccepted(), attemptStarted(1, ['rcp_1'])])
      .when((before) => claimAttempt(before, held))
      .thenNothing();
  });

  test('can be cancelled', () => {
    const { state } = given([two]);
    const events = cancelMessage(after(state, held), { organizationId: 'org_mine', now: NOW });
    expect(events.map(({ type }) => type)).toEqual(['RecipientCancelled', 'RecipientCancelled']);
  });

  test('that waited for its time can be rescheduled, and then waits for that', () => {
    const { state } = given([messageAccepted(), messageScheduled()]);
    const time = '2026-11-22T08:00:00.000Z';
    const waiting = after(state, { ...held, now: time });
    expect(recipientsOf(waiting)).toMatchObject([{ status: 'scheduled', held: { since: time } }]);
    const asked = { organizationId: 'org_mine', now: time, scheduledAt: '2026-11-22T10:00:00.000Z' };
    const moved = rescheduleMessage(waiting, asked).reduce(
      (before, event) => message.evolve(before, event, contextAt(time)),
      waiting,
    );
    expect(recipientsOf(moved)).toMatchObject([{ status: 'scheduled', held: null, nextAttemptAt: asked.scheduledAt }]);
    expect(claimAttempt(moved, { ...command, now: time })).toEqual([]);
  });
});
