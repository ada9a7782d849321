import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { customerEvents } from '../../../src/domain/customer-events.ts';
import { fold } from '../../../src/domain/decider.ts';
import type { RecordedEvent } from '../../../src/domain/event-store.ts';
import type { MessageEvent } from '../../../src/domain/events.ts';
import { type Message, message } from '../../../src/domain/message/message.ts';
import { type AttemptOutcome, recordAttempt } from '../../../src/domain/message/record-attempt.ts';
import { startAttempt } from '../../../src/domain/message/start-attempt.ts';
import { isOpen, messageStatus } from '../../../src/domain/message/status.ts';
import { messageAccepted, recipient, smtpReply } from '../../support/controls/message.ts';
import { contextAt } from '../../support/specification.ts';

const at = (minute: number): string => new Date(Date.UTC(2026, 10, 21, 12, minute)).toISOString();
const EXPIRES_AT = at(4320);
const RECIPIENTS = ['rcp_1', 'rcp_2', 'rcp_3'];

const outcome = fc.record({
  recipientId: fc.constantFrom(...RECIPIENTS),
  outcome: fc.constantFrom('delivered', 'deferred', 'bounced', 'suppressed', 'failed', 'unknown'),
  smtp: fc.constant(smtpReply()),
  reason: fc.constant('because'),
}) as fc.Arbitrary<AttemptOutcome>;

const step = fc.record({
  waitMinutes: fc.integer({ min: 0, max: 2000 }),
  attemptOffset: fc.constantFrom(0, 0, 0, -1, 1),
  outcomes: fc.option(fc.array(outcome, { maxLength: 4 })),
  chance: fc.double({ min: 0, max: 0.999, noNaN: true }),
});

/** A history that the decisions themselves made, whatever the world did to the attempts. */
const history = fc.array(step, { maxLength: 25 }).map((steps) => {
  const accepted = messageAccepted({ recipients: RECIPIENTS.map(recipient), expiresAt: EXPIRES_AT });
  const recorded: RecordedEvent<MessageEvent>[] = [];
  let state: Message = message.initial;
  let minute = 0;
  const append = (events: readonly MessageEvent[]): void => {
    for (const event of events) {
      const context = contextAt(at(minute));
      state = message.evolve(state, event, context);
      const revision = recorded.length;
      recorded.push({
        ...event,
        id: `00000000-0000-0000-0000-${String(revision).padStart(12, '0')}`,
        stream: 'message-msg_1',
        revision,
        position: String(revision).padStart(8, '0'),
        metadata: { ...context, schemaVersion: 1 },
      } as RecordedEvent<MessageEvent>);
    }
  };
  append([accepted]);
  for (const { waitMinutes, attemptOffset, outcomes, chance } of steps) {
    minute += waitMinutes;
    append(startAttempt(state, { now: at(minute), leaseUntil: at(minute + 5), chance }));
    if (outcomes === null || state.status === 'absent') continue;
    append(recordAttempt(state, { attempt: state.attempts + attemptOffset, outcomes, now: at(minute), chance }));
  }
  return { recorded, state };
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

  test('lets nobody wait past the end of the time to live', () => {
    fc.assert(
      fc.property(history, ({ state }) => {
        if (state.status === 'absent') throw new Error('the message was accepted');
        const waiting = state.recipients.flatMap(({ nextAttemptAt }) => nextAttemptAt ?? []);
        expect(waiting.filter((due) => due > EXPIRES_AT)).toEqual([]);
      }),
    );
  });

  test('claims only recipients that are open, and only while nobody holds the lease', () => {
    fc.assert(
      fc.property(history, ({ recorded }) => {
        for (const [index, event] of recorded.entries()) {
          if (event.type === 'AttemptStarted')
            expectFree(fold(message, recorded.slice(0, index)), event.data.recipientIds);
        }
      }),
    );
  });
});

const expectFree = (state: Message, recipientIds: readonly string[]): void => {
  if (state.status === 'absent') throw new Error('an attempt was started on a message that does not exist');
  expect(state.lease).toBeNull();
  const claimed = state.recipients.filter(({ id }) => recipientIds.includes(id));
  expect(claimed).toHaveLength(recipientIds.length);
  expect(claimed.filter(({ status }) => !isOpen(status))).toEqual([]);
};

describe('the status of a message', () => {
  test.each([
    [['accepted'], 'accepted', false],
    [['accepted', 'sending', 'delivered'], 'sending', false],
    [['delivered', 'deferred'], 'deferred', false],
    [['delivered', 'bounced'], 'delivered', true],
    [['delivered', 'delivered'], 'delivered', false],
    [['bounced', 'expired'], 'bounced', false],
    [['suppressed', 'expired'], 'expired', false],
    [['suppressed'], 'suppressed', false],
  ] as const)('of recipients %j is %s', (statuses, status, partial) => {
    expect(messageStatus(statuses.map((each) => ({ status: each })))).toEqual({ status, partial });
  });
});
