import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { customerEvents } from '../../../src/domain/customer-events/customer-events.ts';
import { fold } from '../../../src/domain/kernel/aggregate.ts';
import { DomainError } from '../../../src/domain/kernel/errors.ts';
import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import { cancelMessage, rescheduleMessage } from '../../../src/domain/message/accept-message.ts';
import { type AttemptOutcome, claimAttempt, type Hold, recordAttempt } from '../../../src/domain/message/attempt.ts';
import { type ExistingMessage, isOpen, type Message, message } from '../../../src/domain/message/message.ts';
import { messageAccepted, messageScheduled, recipient, smtpReply } from '../../support/controls/message.ts';
import { contextAt, recordedAs } from '../../support/specification.ts';

const MINUTE_MS = 60_000;
const START_MS = Date.UTC(2026, 10, 21, 12);
const at = (minute: number): string => new Date(START_MS + minute * MINUTE_MS).toISOString();
const TTL_MINUTES = 4320;
const RECIPIENTS = ['rcp_1', 'rcp_2', 'rcp_3'];
const ORGANIZATION = 'org_mine';

const outcome = fc.record({
  recipientId: fc.constantFrom(...RECIPIENTS),
  outcome: fc.constantFrom('delivered', 'deferred', 'bounced', 'suppressed', 'failed', 'unknown'),
  smtp: fc.constant(smtpReply()),
  reason: fc.constant('because'),
}) as fc.Arbitrary<AttemptOutcome>;

const step = fc.record({
  waitMinutes: fc.integer({ min: 0, max: 2000 }),
  /** The sender's request before the next claim. */
  asks: fc.constantFrom('nothing', 'nothing', 'nothing', 'nothing', 'cancel', 'reschedule'),
  /** Delay of a rescheduled message, in minutes. */
  inMinutes: fc.integer({ min: -100, max: 50_000 }),
  /** The reason why the message is held now. */
  held: fc.constantFrom<Hold | null>(
    ...[null, null, null, { reason: 'domain_paused', heldBy: 'dom_1', waitSeconds: 86_400 } as const],
    { reason: 'warm_up', heldBy: null, waitSeconds: 3600 },
  ),
  domainDeleted: fc.constantFrom(...Array.from({ length: 9 }, () => false), true),
  attemptOffset: fc.constantFrom(0, 0, 0, -1, 1),
  outcomes: fc.option(fc.array(outcome, { maxLength: 4 })),
  random: fc.double({ min: 0, max: 0.999, noNaN: true }),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** No events if the state of the message forbids the command. */
const unlessRefused = (decide: () => readonly MessageEvent[]): readonly MessageEvent[] => {
  try {
    return decide();
  } catch (error) {
    if (error instanceof DomainError) return [];
    throw error;
  }
};

const askedFor = (state: Message, { asks, inMinutes }: Step, minute: number): readonly MessageEvent[] => {
  const command = { organizationId: ORGANIZATION, now: at(minute) };
  if (asks === 'cancel') return unlessRefused(() => cancelMessage(state, command));
  if (asks === 'nothing') return [];
  return unlessRefused(() => rescheduleMessage(state, { ...command, scheduledAt: at(minute + inMinutes) }));
};

/** Events of the acceptance, immediate or scheduled in `inMinutes`. */
const acceptance = (inMinutes: number | null): readonly MessageEvent[] => {
  const recipients = RECIPIENTS.map(recipient);
  if (inMinutes === null) return [messageAccepted({ recipients, expiresAt: at(TTL_MINUTES) })];
  const expiresAt = at(inMinutes + TTL_MINUTES);
  const schedule = { recipientIds: RECIPIENTS, scheduledAt: at(inMinutes), expiresAt };
  return [messageAccepted({ recipients, expiresAt }), messageScheduled({ sequence: 4, ...schedule })];
};

const recordedIn = (event: MessageEvent, revision: number, minute: number): RecordedEvent<MessageEvent> => {
  const id = `00000000-0000-0000-0000-${String(revision).padStart(12, '0')}`;
  const place = { id, stream: 'message-msg_1', revision, position: String(revision).padStart(8, '0') } as const;
  return recordedAs(event, place, contextAt(at(minute), ORGANIZATION));
};

/** A history produced by the real decisions, for any requests by the sender and any outcomes of attempts. */
const history = fc
  .record({ first: fc.option(fc.integer({ min: 1, max: 43_200 })), steps: fc.array(step, { maxLength: 25 }) })
  .map(({ first, steps }) => {
    const recorded: RecordedEvent<MessageEvent>[] = [];
    let state: Message = message.initial;
    let minute = 0;
    const append = (events: readonly MessageEvent[]): void => {
      for (const event of events.map((each, index) => recordedIn(each, recorded.length + index, minute))) {
        state = message.evolve(state, event, event.metadata);
        recorded.push(event);
      }
    };
    append(acceptance(first));
    for (const each of steps) {
      minute += each.waitMinutes;
      const { attemptOffset, outcomes, random, domainDeleted, held } = each;
      append(askedFor(state, each, minute));
      append(claimAttempt(state, { now: at(minute), leaseUntil: at(minute + 5), random, domainDeleted, held }));
      if (outcomes === null || state.status === 'absent') continue;
      append(recordAttempt(state, { attempt: state.attempts + attemptOffset, outcomes, now: at(minute), random }));
    }
    return { recorded, state: existing(state) };
  });

const existing = (state: Message): ExistingMessage => {
  if (state.status === 'absent') throw new Error('the message was accepted');
  return state;
};

/** Each event except the acceptance, with the state before it. */
const stepsOf = (recorded: readonly RecordedEvent<MessageEvent>[]) =>
  recorded.slice(1).map((event, index) => {
    const before = existing(fold(message, recorded.slice(0, index + 1)));
    return { event, before, after: existing(message.evolve(before, event, event.metadata)) };
  });

describe('any history of a message', () => {
  test('folds to the same state whole or in two parts', () => {
    fc.assert(
      fc.property(history, fc.nat(), ({ recorded, state }, cut) => {
        const at = cut % (recorded.length + 1);
        expect(fold(message, recorded.slice(at), fold(message, recorded.slice(0, at)))).toEqual(state);
      }),
    );
  });

  test('numbers its customer events 1, 2, 3, … and gives each an id of its own', () => {
    fc.assert(
      fc.property(history, ({ recorded }) => {
        const shown = recorded.flatMap(customerEvents);
        expect(shown.map(({ sequence }) => sequence)).toEqual(shown.map((_, index) => index + 1));
        expect(new Set(shown.map(({ id }) => id)).size).toBe(shown.length);
      }),
    );
  });

  test('lets no recipient wait past the end of the time to live', () => {
    fc.assert(
      fc.property(history, ({ state }) => {
        const waiting = state.recipients
          .flatMap(({ nextAttemptAt, held }) => [nextAttemptAt ?? [], held?.until ?? []])
          .flat();
        expect(waiting.filter((due) => due > state.expiresAt)).toEqual([]);
      }),
    );
  });

  test('keeps the length of the time to live, whenever it is due to be sent', () => {
    fc.assert(
      fc.property(history, ({ state }) => {
        const from = state.schedule?.current ?? state.acceptedAt;
        expect(Date.parse(state.expiresAt) - Date.parse(from)).toBe(TTL_MINUTES * MINUTE_MS);
      }),
    );
  });

  test('claims only open recipients, only while no attempt holds the lease, and not before their time', () => {
    fc.assert(
      fc.property(history, ({ recorded }) => {
        for (const { event, before } of stepsOf(recorded)) {
          if (event.type !== 'AttemptStarted') continue;
          expectFree(before, event.data.recipientIds);
          expect(before.schedule === null || before.schedule.current <= event.metadata.occurredAt).toBe(true);
        }
      }),
    );
  });

  test('holds only waiting recipients, and again only for another reason or when the time is over', () => {
    fc.assert(
      fc.property(history, ({ recorded }) => {
        for (const { event, before } of stepsOf(recorded)) {
          if (event.type !== 'RecipientsHeld') continue;
          const { recipientIds, reason } = event.data;
          expectFree(before, recipientIds);
          const held = before.recipients
            .filter(({ id }) => recipientIds.includes(id))
            .flatMap((each) => each.held ?? []);
          const { occurredAt } = event.metadata;
          expect(held.filter((each) => each.reason === reason && each.until > occurredAt)).toEqual([]);
        }
      }),
    );
  });

  test('cancels no recipient that is being sent to', () => {
    fc.assert(
      fc.property(history, ({ recorded }) => {
        for (const { event, before } of stepsOf(recorded)) {
          if (event.type === 'RecipientCancelled') expectFree(before, [event.data.recipientId]);
        }
      }),
    );
  });

  test('reschedules only recipients that wait for a set time', () => {
    fc.assert(
      fc.property(history, ({ recorded }) => {
        for (const { event, before } of stepsOf(recorded)) {
          if (event.type === 'MessageRescheduled') expectWaiting(before, event.data.recipientIds);
        }
      }),
    );
  });

  test('leaves ended recipients unchanged', () => {
    fc.assert(
      fc.property(history, ({ recorded }) => {
        for (const { before, after } of stepsOf(recorded)) {
          const ended = before.recipients.filter(({ status }) => !isOpen(status));
          const now = after.recipients.filter(({ id }) => ended.some((one) => one.id === id));
          expect(now.map(({ status }) => status)).toEqual(ended.map(({ status }) => status));
        }
      }),
    );
  });

  test('covers all of this: the histories contain every event that a decision can make', () => {
    const seen = new Set(fc.sample(history, 500).flatMap(({ recorded }) => recorded.map(({ type }) => type)));
    expect([...seen]).toEqual(
      expect.arrayContaining([
        ...['MessageScheduled', 'MessageRescheduled', 'AttemptStarted', 'AttemptOutcomeUnknown', 'RecipientCancelled'],
        ...['RecipientDelivered', 'RecipientDeferred', 'RecipientExpired', 'RecipientFailed', 'RecipientsHeld'],
      ]),
    );
  });
});

const expectFree = (state: ExistingMessage, recipientIds: readonly string[]): void => {
  const theirs = state.recipients.filter(({ id }) => recipientIds.includes(id));
  expect(theirs.map(({ lease }) => lease)).toEqual(theirs.map(() => null));
  expect(theirs).toHaveLength(recipientIds.length);
  expect(theirs.filter(({ status }) => !isOpen(status))).toEqual([]);
};

const expectWaiting = (state: ExistingMessage, recipientIds: readonly string[]): void => {
  const theirs = state.recipients.filter(({ id }) => recipientIds.includes(id));
  expect(theirs.map(({ status }) => status)).toEqual(recipientIds.map(() => 'scheduled'));
};
