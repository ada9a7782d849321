import { describe, expect, test } from 'vitest';
import type { AttemptOutcome } from '../../../src/domain/message/record-attempt.ts';
import { createDestinationLimits } from '../../../src/workers/delivery/destination-concurrency-limits.ts';
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
  const answer = (said: AttemptOutcome, beganMs: number, provider = 'b.test') =>
    destinationLimits.report({
      provider,
      domain: provider,
      outcomes: [said],
      tookMs: system.monotonicMs() - beganMs,
      beganMs,
    });

  /** Attempts that begin so far apart and are answered at once. @returns when each began. */
  const flow = async (count: number, everyMs: number, said: AttemptOutcome = TAKEN): Promise<void> => {
    for (let at = 0; at < count; at += 1) {
      await system.advance(everyMs);
      destinationLimits.started('b.test');
      answer(said, system.monotonicMs());
    }
  };
  /** Takes each place as it comes. @returns how many a minute. */
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
  test('that never asked for fewer has no rate limit', async () => {
    const { destinationLimits, flow } = open();
    await flow(1_000, 1);
    expect(destinationLimits.waitMsOf('b.test')).toBe(0);
    expect(destinationLimits.capacityOf('b.test')).toBe(Number.POSITIVE_INFINITY);
  });

  test('that asks for fewer gets half of its rate, others keep theirs, and the log says so', async () => {
    const { destinationLimits, flow, placesInMinute, logger } = open();
    await flow(1_200, 100);
    await flow(1, 100, TOO_MANY);
    expect(destinationLimits.waitMsOf('b.test')).toBeCloseTo(200, 0);
    expect(destinationLimits.capacityOf('b.test')).toBeCloseTo(300, -1);
    expect(destinationLimits.waitMsOf('other.test')).toBe(0);
    expect(await placesInMinute()).toBeCloseTo(300, -1);
    expect(logger.said('info')).toEqual(['a destination asked for fewer messages: it has a rate limit']);
  });

  test('that refuses all attempts under way is slowed once, in rate and in concurrency', async () => {
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

  test('gets a higher rate while its answers are good, and none once it holds nothing back', async () => {
    const { destinationLimits, flow, logger } = open();
    await flow(600, 100);
    await flow(1, 100, TOO_MANY);
    await flow(300, 2_000);
    expect(destinationLimits.capacityOf('b.test')).toBeCloseTo(600, -2);
    await flow(1_600, 2_000);
    expect(destinationLimits.capacityOf('b.test')).toBe(Number.POSITIVE_INFINITY);
    expect(logger.said('info').at(-1)).toBe('a destination has no rate limit any more');
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
