import { describe, expect, test } from 'vitest';
import { rescheduleMessage } from '../../../src/domain/message/accept-message.ts';
import { type ClaimAttempt, claimAttempt } from '../../../src/domain/message/attempt.ts';
import { type Message, message } from '../../../src/domain/message/message.ts';
import { messageAccepted, messageScheduled, recipient } from '../../support/controls/message.ts';
import { contextAt, NOW, specify } from '../../support/specification.ts';

const inDays = (days: number): string => new Date(Date.parse(NOW) + days * 86_400_000).toISOString();
const DAY_SECONDS = 86_400;

/** A claim that holds the message. The wait does not count towards its time to live. */
const waiting = (days: number, at: Partial<ClaimAttempt> = {}): ClaimAttempt => ({
  now: NOW,
  leaseUntil: inDays(1),
  random: 0.5,
  held: { reason: 'warm_up', heldBy: null, waitSeconds: days * DAY_SECONDS, outsideTimeToLive: true },
  ...at,
});

const after = (state: Message, ...looks: readonly ClaimAttempt[]): Message =>
  looks.reduce(
    (before, look) =>
      claimAttempt(before, look).reduce((is, event) => message.evolve(is, event, contextAt(look.now)), before),
    state,
  );

const expiresAt = (state: Message): string | null => (state.status === 'absent' ? null : state.expiresAt);

describe('a time to live that pauses while the message waits', () => {
  const { given } = specify(message);
  const scheduled = (day: number, expiresInDays: number) =>
    messageScheduled({ scheduledAt: inDays(day), expiresAt: inDays(expiresInDays) });

  test('ends later by the length of each wait', () => {
    const { state } = given([messageAccepted({ expiresAt: inDays(3) })]);
    const once = after(state, waiting(2));
    expect(expiresAt(once)).toBe(inDays(5));
    expect(expiresAt(after(once, waiting(1, { now: inDays(2) })))).toBe(inDays(6));
  });

  test('ends on time if it is shorter than the default, counted from when the message was due', () => {
    const { state } = given([messageAccepted({ expiresAt: inDays(2.999) })]);
    expect(expiresAt(after(state, waiting(1)))).toBe(inDays(2.999));
    const look = waiting(1, { now: inDays(10) });
    expect(expiresAt(after(given([messageAccepted(), scheduled(10, 12)]).state, look))).toBe(inDays(12));
    expect(expiresAt(after(given([messageAccepted(), scheduled(10, 13)]).state, look))).toBe(inDays(14));
  });

  test('ends later only once if recipients of several domains wait at the same time', () => {
    const recipients = ['a', 'b', 'c'].map((name) => ({ ...recipient(`rcp_${name}`), domain: `${name}.example` }));
    const { state } = given([messageAccepted({ recipients, expiresAt: inDays(3) })]);
    const each = recipients.map(({ domain }) => waiting(1, { destination: domain }));
    expect(expiresAt(after(state, ...each))).toBe(inDays(4));
    const longer = waiting(2, { destination: 'c.example', now: inDays(0.5) });
    expect(expiresAt(after(state, ...each.slice(0, 2), longer))).toBe(inDays(5.5));
  });

  test('has the requested length if the message is rescheduled after that', () => {
    const { state } = given([messageAccepted({ expiresAt: inDays(4) }), scheduled(1, 4)]);
    const waited = after(state, waiting(10, { now: inDays(1) }));
    expect(expiresAt(waited)).toBe(inDays(14));
    const asked = { organizationId: 'org_mine', now: inDays(1), scheduledAt: inDays(2) };
    expect(rescheduleMessage(waited, asked)).toMatchObject([{ data: { expiresAt: inDays(5) } }]);
  });
});
