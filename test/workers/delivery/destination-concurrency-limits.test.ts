import { describe, expect, test } from 'vitest';
import type { AttemptOutcome } from '../../../src/domain/message/attempt.ts';
import type { SmtpFacts } from '../../../src/domain/message/events.ts';
import { createDestinationLimits } from '../../../src/workers/delivery/destination-limits.ts';
import { createSteppableSystem } from '../../support/system.ts';
import { createRecordingLogger } from '../recording-logger.ts';

const smtp = { code: 250, enhanced: null, mx: null, tls: null, replyId: null };
const TAKEN: AttemptOutcome = { recipientId: 'rcp_1', outcome: 'delivered', smtp };
const TOO_MANY: AttemptOutcome = {
  recipientId: 'rcp_1',
  outcome: 'deferred',
  reason: 'later',
  category: 'rate_limited',
  smtp: { ...smtp, code: 450, enhanced: '4.7.28', stage: 'recipient' },
};
const MINUTE_MS = 60_000;

const open = () => {
  const system = createSteppableSystem();
  const logger = createRecordingLogger();
  const destinationLimits = createDestinationLimits(system, logger);
  const answer = (said: AttemptOutcome, beganMs: number, provider = 'b.test', by = 'one') =>
    destinationLimits.report({
      sender: { domainId: `dom_${by}`, organizationId: `org_${by.replace(/\d/, '')}` },
      provider,
      domain: provider,
      outcomes: [said],
      tookMs: system.monotonicMs() - beganMs,
      beganMs,
    });

  /** Attempts that start at this interval and are answered immediately. @returns the start of each. */
  const flow = async (count: number, everyMs: number, said: AttemptOutcome = TAKEN): Promise<void> => {
    for (let at = 0; at < count; at += 1) {
      await system.advance(everyMs);
      destinationLimits.started('b.test');
      answer(said, system.monotonicMs());
    }
  };
  /** Uses each slot as it becomes free. @returns the number per minute. */
  const placesInMinute = async (provider = 'b.test'): Promise<number> => {
    const endMs = system.monotonicMs() + MINUTE_MS;
    let places = 0;
    while (system.monotonicMs() < endMs) {
      await system.advance(destinationLimits.waitMsOf(provider) || 1);
      destinationLimits.started(provider);
      places += 1;
    }
    return places;
  };
  return { system, logger, destinationLimits, answer, flow, placesInMinute };
};

describe('a destination', () => {
  test('that never asked to slow down has no rate limit', async () => {
    const { destinationLimits, flow } = open();
    await flow(1_000, 1);
    expect(destinationLimits.waitMsOf('b.test')).toBe(0);
    expect(destinationLimits.capacityOf('b.test')).toBe(Number.POSITIVE_INFINITY);
  });

  test('that asks to slow down gets half of its rate, which is logged, and others keep theirs', async () => {
    const { destinationLimits, flow, placesInMinute, logger } = open();
    await flow(1_200, 100);
    await flow(1, 100, TOO_MANY);
    expect(destinationLimits.waitMsOf('b.test')).toBeCloseTo(200, 0);
    expect(destinationLimits.capacityOf('b.test')).toBeCloseTo(300, -1);
    expect(destinationLimits.waitMsOf('other.test')).toBe(0);
    expect(await placesInMinute()).toBeCloseTo(300, -1);
    expect(logger.said('info')).toEqual(['a destination asked for less mail: its rate limit is now lower']);
  });

  test('that refuses all attempts in progress is slowed down once, in rate and in concurrency', async () => {
    const { system, destinationLimits, answer, flow } = open();
    await flow(600, 100);
    const [limit, beganMs] = [destinationLimits.concurrencyOf('b.test'), system.monotonicMs()];
    await system.advance(10);
    for (let at = 0; at < 20; at += 1) expect(answer(TOO_MANY, beganMs)).toEqual([]);
    expect(destinationLimits.concurrencyOf('b.test')).toBe(limit / 2);
    expect(destinationLimits.capacityOf('b.test')).toBeCloseTo(300, -1);
    await system.advance(10);
    answer(TOO_MANY, system.monotonicMs());
    expect(destinationLimits.capacityOf('b.test')).toBeCloseTo(150, -1);
  });

  test('gets a higher rate while its answers are good, and no limit once the limit holds nothing back', async () => {
    const { destinationLimits, flow, logger } = open();
    await flow(600, 100);
    await flow(1, 100, TOO_MANY);
    await flow(300, 2_000);
    expect(destinationLimits.capacityOf('b.test')).toBeCloseTo(600, -2);
    await flow(1_600, 2_000);
    expect(destinationLimits.capacityOf('b.test')).toBe(Number.POSITIVE_INFINITY);
    expect(logger.said('info').at(-1)).toBe('a destination no longer has a rate limit');
  });

  test('that is released has no rate limit', async () => {
    const { destinationLimits, flow } = open();
    await flow(10, 100, TOO_MANY);
    expect(destinationLimits.waitMsOf('b.test')).toBeGreaterThan(0);
    const metadata = { occurredAt: '2026-01-01T00:00:00.000Z' };
    const released = {
      type: 'DestinationReleased',
      data: { operator: 'b.test' },
      stream: 'destination-b.test',
      metadata,
    };
    destinationLimits.apply(released as Parameters<typeof destinationLimits.apply>[0]);
    expect(destinationLimits.waitMsOf('b.test')).toBe(0);
  });
});

describe('a destination that asks one sender to slow down', () => {
  const deferredAt = (stage: NonNullable<SmtpFacts['stage']>): AttemptOutcome => ({
    ...TOO_MANY,
    category: 'reputation',
    smtp: { ...smtp, code: 421, enhanced: '4.7.0', stage },
  });
  const openSenders = () => {
    const { system, destinationLimits, answer } = open();
    return {
      system,
      destinationLimits,
      say: async (said: AttemptOutcome, by: string) => {
        await system.advance(10);
        const suspensions = answer(said, system.monotonicMs(), 'b.test', by);
        return suspensions.map(({ operator }) => operator);
      },
    };
  };

  test('is suspended for the sending domain only', async () => {
    const { destinationLimits, say } = openSenders();
    expect(await say(deferredAt('mail'), 'one')).toEqual([]);
    expect(await say(deferredAt('mail'), 'one')).toEqual(['dom_one@b.test']);
    expect(destinationLimits.isSuspendedFor('b.test', 'dom_one')).toBe(true);
    expect(destinationLimits.isSuspendedFor('b.test', 'dom_two')).toBe(false);
    expect(destinationLimits.isSuspendedFor('c.test', 'dom_one')).toBe(false);
    expect(destinationLimits.concurrencyOf('b.test')).toBe(1);
  });

  test.each(['mail', 'recipient', 'content'] as const)(
    'at %s is not suspended for several domains of one organization together',
    async (stage) => {
      const { destinationLimits, say } = openSenders();
      for (const by of ['one1', 'one2', 'one3', 'one1', 'one2', 'one3']) await say(deferredAt(stage), by);
      expect(destinationLimits.concurrencyOf('b.test')).toBe(1);
      expect(destinationLimits.isSuspendedFor('b.test', 'dom_one3')).toBe(true);
    },
  );

  test('is suspended for all senders once another organization is affected too', async () => {
    const { destinationLimits, say } = openSenders();
    await say(deferredAt('mail'), 'one');
    await say(deferredAt('mail'), 'one');
    expect(await say(deferredAt('mail'), 'two')).toEqual(['b.test']);
    expect(destinationLimits.concurrencyOf('b.test')).toBe(0);
  });

  test('remembers for ten minutes that another organization was affected', async () => {
    const { system, destinationLimits, say } = openSenders();
    await say(deferredAt('mail'), 'one');
    await say(deferredAt('mail'), 'one');
    await system.advance(11 * MINUTE_MS);
    expect(await say(deferredAt('mail'), 'two')).toEqual([]);
    expect(destinationLimits.concurrencyOf('b.test')).toBe(1);
  });

  test.each(['connect', 'session'] as const)(
    'at %s, before it knows the sender, is suspended for all senders',
    async (stage) => {
      const { destinationLimits, say } = openSenders();
      await say(deferredAt(stage), 'one');
      expect(await say(deferredAt(stage), 'one')).toEqual(['b.test']);
      expect(destinationLimits.concurrencyOf('b.test')).toBe(0);
    },
  );

  test('starts over after a good answer to the sender', async () => {
    const { system, destinationLimits, say } = openSenders();
    await say(deferredAt('mail'), 'one');
    await say(TAKEN, 'one');
    expect(await say(deferredAt('mail'), 'one')).toEqual([]);
    expect(await say(deferredAt('mail'), 'one')).toEqual(['dom_one@b.test']);
    await system.advance(2 * MINUTE_MS);
    expect(destinationLimits.isSuspendedFor('b.test', 'dom_one')).toBe(false);
  });

  test('is suspended and released by events of other processes too', () => {
    const { destinationLimits } = open();
    const apply = (type: string, data: object): void => destinationLimits.apply({ type, data } as never);
    const operator = 'dom_one@b.test';
    apply('DestinationSuspended', { operator, times: 1, until: '2999-01-01T00:00:00.000Z' });
    expect(destinationLimits.isSuspendedFor('b.test', 'dom_one')).toBe(true);
    expect(destinationLimits.concurrencyOf('b.test')).toBeGreaterThan(0);
    apply('DestinationReleased', { operator });
    expect(destinationLimits.isSuspendedFor('b.test', 'dom_one')).toBe(false);
  });
});
