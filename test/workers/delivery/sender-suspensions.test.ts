import { describe, expect, test } from 'vitest';
import { CONCURRENCY_BOUNDS } from '../../../src/domain/destination/pacing.ts';
import type { AttemptOutcome } from '../../../src/domain/message/attempt.ts';
import { createSenderSuspensions, type Sender } from '../../../src/workers/delivery/suspensions.ts';
import { contextAt, NOW, recordedAs } from '../../support/specification.ts';
import { createSteppableSystem } from '../../support/system.ts';

const AT = 'google.com';
/** How long a request to slow down is remembered of one organization. */
const SEEN_MS = 600_000;
const DAY_MS = 86_400_000;

const sender = (name: string, organizationId = `org_${name}`): Sender => ({ domainId: `dom_${name}`, organizationId });
const ANN = sender('ann');
const BOB = sender('bob');

/** A server that asked to slow down once it had seen the sender. */
const SLOW_DOWN: AttemptOutcome = {
  ...{ recipientId: 'rcp_1', outcome: 'deferred', reason: 'later', category: 'rate_limited' },
  smtp: { code: 450, enhanced: '4.7.28', mx: null, tls: null, replyId: null, stage: 'recipient' },
};
/** The same before it saw any. */
const AT_CONNECT: AttemptOutcome = { ...SLOW_DOWN, smtp: { ...SLOW_DOWN.smtp, stage: 'session' } };

const open = () => {
  const system = createSteppableSystem();
  const suspensions = createSenderSuspensions(system);
  return {
    ...{ system, suspensions },
    slowDown: ({ domainId, organizationId }: Sender, feedback: 'busy' | 'refusing' = 'refusing') =>
      suspensions.slowDown(
        AT,
        { domainId, organizationId },
        {
          ...{ feedback, now: system.now().toISOString(), beganMs: system.monotonicMs(), nowMs: system.monotonicMs() },
          ...{ random: 0.5, bounds: CONCURRENCY_BOUNDS },
        },
      ),
  };
};

const event = (type: 'DestinationSuspended' | 'DestinationReleased', operator: string, until = '9999') =>
  recordedAs(
    (type === 'DestinationReleased'
      ? { type, data: { operator } }
      : { type, data: { operator, times: 1, until, reason: 'refusing', mx: null } }) as never,
    { stream: `destination-${operator}` },
    contextAt(NOW),
  );

describe('a request to slow down', () => {
  test('is about the sender until a second organization meets one within ten minutes', async () => {
    const { suspensions, system } = open();
    const isAbout = (one: Sender) => suspensions.isAboutSender(AT, one, [SLOW_DOWN]);
    expect([isAbout(ANN), isAbout(sender('other', ANN.organizationId)), isAbout(ANN)]).toEqual([true, true, true]);
    await system.advance(SEEN_MS);
    expect([isAbout(BOB), isAbout(ANN), isAbout(BOB)]).toEqual([false, false, false]);
    await system.advance(SEEN_MS + 1);
    expect(isAbout(ANN)).toBe(true);
    expect(suspensions.isAboutSender('other.test', BOB, [SLOW_DOWN])).toBe(true);
  });

  test('before the sender was named is about no sender', () => {
    const { suspensions } = open();
    expect(suspensions.isAboutSender(AT, ANN, [AT_CONNECT])).toBe(false);
    expect(suspensions.isAboutSender(AT, BOB, [SLOW_DOWN])).toBe(true); // the other is not remembered
  });
});

describe('a suspension for one sender', () => {
  test('is reported once, and keeps back the mail of this sender at this destination alone', () => {
    const { suspensions, slowDown } = open();
    expect(suspensions.isSuspendedFor(AT, ANN.domainId)).toBe(false);
    expect(slowDown(ANN)).toMatchObject({ operator: `${ANN.domainId}@${AT}`, times: 1 });
    expect(slowDown(ANN)).toBeNull();
    expect(suspensions.isSuspendedFor(AT, ANN.domainId)).toBe(true);
    expect(suspensions.isSuspendedFor(AT, BOB.domainId)).toBe(false);
    expect(suspensions.isSuspendedFor('other.test', ANN.domainId)).toBe(false);
  });

  test('follows several requests, and not the first', () => {
    const { suspensions, slowDown } = open();
    expect(slowDown(ANN, 'busy')).toBeNull();
    expect(suspensions.isSuspendedFor(AT, ANN.domainId)).toBe(false);
  });

  test('outlasts a good answer, and the next one is longer unless mail was accepted in between', async () => {
    const { suspensions, slowDown, system } = open();
    slowDown(ANN);
    suspensions.forget(AT, ANN);
    expect(suspensions.isSuspendedFor(AT, ANN.domainId)).toBe(true);
    await system.advance(DAY_MS);
    expect(suspensions.isSuspendedFor(AT, ANN.domainId)).toBe(false);
    expect(slowDown(ANN)).toMatchObject({ times: 2 });
    await system.advance(DAY_MS);
    suspensions.forget(AT, ANN);
    expect(slowDown(ANN)).toMatchObject({ times: 1 });
  });

  test('is learned from the log, and ends when the operator releases it', () => {
    const { suspensions } = open();
    const operator = `${ANN.domainId}@${AT}`;
    expect(suspensions.apply(event('DestinationSuspended', AT))).toBe(false);
    expect(suspensions.apply(event('DestinationSuspended', operator))).toBe(true);
    expect(suspensions.isSuspendedFor(AT, ANN.domainId)).toBe(true);
    expect(suspensions.apply(event('DestinationReleased', AT))).toBe(false);
    expect(suspensions.isSuspendedFor(AT, ANN.domainId)).toBe(true);
    expect(suspensions.apply(event('DestinationReleased', operator))).toBe(true);
    expect(suspensions.isSuspendedFor(AT, ANN.domainId)).toBe(false);
  });
});
