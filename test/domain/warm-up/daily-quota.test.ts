import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type DailyQuota,
  dailyQuota,
  type QuotaRequest,
  type RecipientCounts,
  reserveQuota,
} from '../../../src/domain/warm-up/warm-up.ts';
import { contextAt, NOW } from '../../support/specification.ts';

const NONE: RecipientCounts = new Map();
const to = (provider: string, count = 1, exemptFromCap = false): QuotaRequest => ({
  recipients: new Map([[provider, count]]),
  exemptFromCap,
});
const command = (cap: number, requests: readonly QuotaRequest[], unused = NONE) => ({
  owner: { domainId: 'dom_1' },
  day: '2026-11-22',
  cap,
  requests,
  unused,
});
const taken = (...operators: readonly (readonly [string, number])[]): DailyQuota => ({ taken: new Map(operators) });

interface Asked {
  readonly process: number;
  readonly count: number;
}

/** Sends to one destination from several processes, each of which reserves its own lots. */
const takenByMany = (asked: readonly Asked[], cap: number) => {
  let day = dailyQuota.initial;
  let left = 0;
  const hands = new Map<number, RecipientCounts>();
  for (const { process, count } of asked) {
    const allotted = reserveQuota(day, command(cap, [to('a.test', count)], hands.get(process)));
    hands.set(process, allotted.unused);
    day = allotted.events.reduce((before, event) => dailyQuota.evolve(before, event, contextAt(NOW)), day);
    left += allotted.refusedBy[0] === null ? count : 0;
  }
  const reserved = [...hands.values()].reduce((sum, hand) => sum + (hand.get('a.test') ?? 0), 0);
  return { day, left, reserved };
};

describe('the quota of a day', () => {
  test('is reserved in lots, so that few messages need an append', () => {
    const first = reserveQuota(taken(), command(1000, [to('a.test'), to('a.test')]));
    expect(first.refusedBy).toEqual([null, null]);
    expect(first.events).toMatchObject([{ data: { taken: [{ operator: 'a.test', places: 50 }] } }]);
    expect(first.unused.get('a.test')).toBe(48);
    expect(reserveQuota(taken(['a.test', 50]), command(1000, [to('a.test')], first.unused)).events).toEqual([]);
  });

  test('is refused once it is used up, for its own destination alone', () => {
    const { refusedBy, events } = reserveQuota(taken(['a.test', 50]), command(50, [to('a.test'), to('b.test')]));
    expect(refusedBy).toEqual(['a.test', null]);
    expect(events).toMatchObject([{ data: { taken: [{ operator: 'b.test' }] } }]);
  });

  test('is enough for a message to many as long as one is left, and for all mail that must not wait', () => {
    const { refusedBy, unused } = reserveQuota(
      taken(['a.test', 49]),
      command(50, [to('a.test', 40), to('a.test'), to('a.test', 7, true)]),
    );
    expect(refusedBy).toEqual([null, 'a.test', null]);
    expect(unused.get('a.test')).toBe(0);
  });

  test('is reserved at all destinations of a message or at none', () => {
    const both: QuotaRequest = {
      recipients: new Map([...to('b.test').recipients, ...to('a.test').recipients]),
      exemptFromCap: false,
    };
    expect(reserveQuota(taken(['a.test', 50]), command(50, [both]))).toMatchObject({
      refusedBy: ['a.test'],
      events: [],
    });
  });

  test('of destinations beyond the first two thousand is not counted', () => {
    const many = taken(...Array.from({ length: 2000 }, (_, index) => [`${index}.test`, 50] as const));
    const { refusedBy, events } = reserveQuota(many, command(50, [to('0.test'), to('new.test')]));
    expect(refusedBy).toEqual(['0.test', null]);
    expect(events).toEqual([]);
  });

  test('never goes to more recipients than the cap and the last messages have, however many processes reserve it', () => {
    const requests = fc.array(fc.record({ process: fc.nat(3), count: fc.integer({ min: 1, max: 10 }) }), {
      maxLength: 200,
    });
    fc.assert(
      fc.property(requests, fc.integer({ min: 1, max: 200 }), (asked, cap) => {
        const { day, left, reserved } = takenByMany(asked, cap);
        expect(day.taken.get('a.test') ?? 0).toBe(left + reserved);
        // A process with one reserved place lets a message with ten recipients exceed the cap.
        expect(left).toBeLessThanOrEqual(cap + 9 * 4);
      }),
    );
  });

  test('is used exactly up to the cap if each message has one recipient', () => {
    const asked = Array.from({ length: 500 }, (_, index) => ({ process: index % 4, count: 1 }));
    for (const cap of [1, 7, 50, 333]) expect(takenByMany(asked, cap).left).toBe(cap);
  });
});
