import { describe, expect, test } from 'vitest';
import type { AttemptOutcome } from '../../../src/domain/message/record-attempt.ts';
import { createPacer } from '../../../src/workers/delivery/pacer.ts';
import { createSteppableSystem } from '../../support/system.ts';
import { createRecordingLogger } from '../recording-logger.ts';

const smtp = { code: 250, enhanced: null, mx: null, tls: null, replyId: null };
const TAKEN: AttemptOutcome = { recipientId: 'rcp_1', outcome: 'delivered', smtp };
const TOO_MANY: AttemptOutcome = {
  ...{ recipientId: 'rcp_1', outcome: 'deferred', reason: 'later', category: 'rate_limited' },
  smtp: { ...smtp, code: 450, enhanced: '4.7.28', stage: 'recipient' },
};
const MINUTE_MS = 60_000;

const open = () => {
  const system = createSteppableSystem();
  const logger = createRecordingLogger();
  const pacer = createPacer(system, logger);
  const answer = (said: AttemptOutcome, beganMs: number, operator = 'b.test') =>
    pacer.report({ operator, domain: operator, outcomes: [said], tookMs: system.monotonicMs() - beganMs, beganMs });

  /** Attempts that begin so far apart and are answered at once. @returns when each began. */
  const flow = async (count: number, everyMs: number, said: AttemptOutcome = TAKEN): Promise<void> => {
    for (let at = 0; at < count; at += 1) {
      await system.advance(everyMs);
      pacer.begun('b.test');
      answer(said, system.monotonicMs());
    }
  };
  /** Takes each place as it comes. @returns how many a minute. */
  const placesInMinute = async (operator = 'b.test'): Promise<number> => {
    const endMs = system.monotonicMs() + MINUTE_MS;
    let places = 0;
    while (system.monotonicMs() < endMs) {
      await system.advance(pacer.waitMsOf(operator) || 1);
      pacer.begun(operator);
      places += 1;
    }
    return places;
  };
  return { system, logger, pacer, answer, flow, placesInMinute };
};

describe('a destination', () => {
  test('that never asked for fewer gets what there is, at once', async () => {
    const { pacer, flow } = open();
    await flow(1_000, 1);
    expect(pacer.waitMsOf('b.test')).toBe(0);
    expect(pacer.roomOf('b.test')).toBe(Number.POSITIVE_INFINITY);
  });

  test('that asks for fewer gets half of what it got, others get what they got, and the log says so', async () => {
    const { pacer, flow, placesInMinute, logger } = open();
    await flow(1_200, 100);
    await flow(1, 100, TOO_MANY);
    expect(pacer.waitMsOf('b.test')).toBeCloseTo(200, 0);
    expect(pacer.roomOf('b.test')).toBeCloseTo(300, -1);
    expect(pacer.waitMsOf('other.test')).toBe(0);
    expect(await placesInMinute()).toBeCloseTo(300, -1);
    expect(logger.said('info')).toEqual(['a destination asked for fewer messages in a time']);
  });

  test('that refuses all that is in hand has asked once, for fewer in a time and at the same time', async () => {
    const { system, pacer, answer, flow } = open();
    await flow(600, 100);
    const [limit, beganMs] = [pacer.limitOf('b.test'), system.monotonicMs()];
    await system.advance(10);
    for (let at = 0; at < 20; at += 1) expect(answer(TOO_MANY, beganMs)).toEqual([]);
    expect(pacer.limitOf('b.test')).toBe(limit / 2);
    expect(pacer.roomOf('b.test')).toBeCloseTo(300, -1);
    await system.advance(10);
    answer(TOO_MANY, system.monotonicMs());
    expect(pacer.roomOf('b.test')).toBeCloseTo(150, -1);
  });

  test('gets more again while its answers are good, and what there is once its rate holds nobody back', async () => {
    const { pacer, flow, logger } = open();
    await flow(600, 100);
    await flow(1, 100, TOO_MANY);
    await flow(300, 2_000);
    expect(pacer.roomOf('b.test')).toBeCloseTo(600, -2);
    await flow(1_600, 2_000);
    expect(pacer.roomOf('b.test')).toBe(Number.POSITIVE_INFINITY);
    expect(logger.said('info').at(-1)).toBe('a destination gets as many messages as there are again');
  });

  test('that is released has never asked', async () => {
    const { pacer, flow } = open();
    await flow(10, 100, TOO_MANY);
    expect(pacer.waitMsOf('b.test')).toBeGreaterThan(0);
    const metadata = { occurredAt: '2026-01-01T00:00:00.000Z' };
    const released = {
      type: 'DestinationReleased',
      data: { operator: 'b.test' },
      stream: 'destination-b.test',
      metadata,
    };
    pacer.apply(released as Parameters<typeof pacer.apply>[0]);
    expect(pacer.waitMsOf('b.test')).toBe(0);
  });
});
