import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DomainError } from '../../../../src/domain/kernel/errors.ts';
import type { MessageEvent } from '../../../../src/domain/kernel/events.ts';
import { cancelMessage, rescheduleMessage } from '../../../../src/domain/message/accept-message.ts';
import { type AttemptOutcome, claimAttempt, recordAttempt } from '../../../../src/domain/message/attempt.ts';
import { isOpen, type Message, message } from '../../../../src/domain/message/message.ts';
import { unsubscribeRecipient } from '../../../../src/domain/message/recipient-feedback.ts';
import { messageAccepted, messageScheduled, recipient } from '../../../support/controls/message.ts';
import { contextAt } from '../../../support/specification.ts';
import { explain, HEAD, minute, recorded, type Told } from './explaining.ts';

const RECIPIENTS = ['rcp_1', 'rcp_2', 'rcp_3'];
const ADDRESSES = HEAD.recipients.map(({ address }) => address);

const smtp = fc.record({
  code: fc.constantFrom(0, 250, 421, 451, 550),
  enhanced: fc.constantFrom(null, '4.7.1'),
  mx: fc.constantFrom(null, 'mx.example.net'),
  tls: fc.constantFrom(null, 'TLSv1.3'),
  stage: fc.constantFrom(undefined, 'connect', 'recipient', 'content'),
  policy: fc.constantFrom(undefined, null, 'dane'),
  replyId: fc.constantFrom(null, 'reply-1'),
});
const outcome = fc.record({
  recipientId: fc.constantFrom(...RECIPIENTS),
  outcome: fc.constantFrom('delivered', 'deferred', 'bounced', 'suppressed', 'failed', 'unknown'),
  smtp,
  reason: fc.constant('because'),
  complained: fc.boolean(),
}) as unknown as fc.Arbitrary<AttemptOutcome>;

const step = fc.record({
  waitMinutes: fc.integer({ min: 0, max: 2000 }),
  asks: fc.constantFrom('nothing', 'nothing', 'nothing', 'cancel', 'reschedule', 'unsubscribe'),
  outcomes: fc.option(fc.array(outcome, { maxLength: 4 })),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const asked = (state: Message, { asks }: Step, now: string, later: string): readonly MessageEvent[] => {
  const organizationId = 'org_mine';
  try {
    if (asks === 'cancel') return cancelMessage(state, { organizationId, now });
    if (asks === 'reschedule') return rescheduleMessage(state, { organizationId, now, scheduledAt: later });
    const by = { recipientId: 'rcp_1', method: 'page', topicId: null, suppression: { status: 'absent' }, now } as const;
    return asks === 'nothing' ? [] : unsubscribeRecipient(state, by);
  } catch (error) {
    if (error instanceof DomainError) return [];
    throw error;
  }
};

/** A history produced by the real decisions. */
const history = fc.tuple(fc.boolean(), fc.array(step, { maxLength: 15 })).map(([isScheduled, steps]) => {
  const told: Told[] = [];
  let state: Message = message.initial;
  let at = 0;
  const append = (events: readonly MessageEvent[]): void => {
    for (const event of events) {
      state = message.evolve(state, event, contextAt(minute(at)));
      told.push({ event, at });
    }
  };
  append([messageAccepted({ recipients: RECIPIENTS.map(recipient) })]);
  if (isScheduled) append([messageScheduled({ sequence: 4, recipientIds: RECIPIENTS })]);
  for (const each of steps) {
    at += each.waitMinutes;
    append(asked(state, each, minute(at), minute(at + 300)));
    append(claimAttempt(state, { now: minute(at), leaseUntil: minute(at + 5), random: 0.5 }));
    const attempt = state.status === 'absent' ? 0 : state.attempts;
    const { outcomes } = each;
    if (outcomes !== null) append(recordAttempt(state, { attempt, outcomes, now: minute(at), random: 0.5 }));
  }
  return { happenings: recorded(told), state, now: minute(at + 1) };
});

const openIn = (state: Message) =>
  state.status === 'absent' ? [] : state.recipients.filter(({ status }) => isOpen(status));

describe('any history of a message', () => {
  test('can be explained: a step for each event, a reason for each waiting recipient, and never just "queued"', () => {
    fc.assert(
      fc.property(history, ({ happenings, state, now }) => {
        const explanation = explain(happenings, { now });
        const open = openIn(state);
        expect(explanation.waiting_because.map((wait) => wait.recipient.id)).toEqual(open.map(({ id }) => id));
        expect(explanation.steps).toHaveLength(happenings.length + 4);
        const sentences = [
          explanation.summary,
          ...[...explanation.waiting_because, ...explanation.steps].map((one) => one.sentence),
        ];
        for (const sentence of sentences) {
          expect(sentence).toMatch(/^\S.{20,}\.$/);
          expect(sentence).not.toMatch(/undefined|null|NaN|\[object|queued|\.\.| {2}|: \./i);
        }
        if (open.length > 0) expect(explanation.summary).toMatch(/\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} UTC/);
      }),
    );
  });

  test('is explained without an address once its contents are gone', () => {
    fc.assert(
      fc.property(history, ({ happenings, now }) => {
        const text = JSON.stringify(explain(happenings, { now, contents: new Map() }));
        for (const address of ADDRESSES) expect(text).not.toContain(address);
        expect(text).toContain('recipient rcp_1');
      }),
    );
  });
});
