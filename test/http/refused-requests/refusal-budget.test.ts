import { describe, expect, test } from 'vitest';
import { createRefusalBudget } from '../../../src/http/refused-requests/refusal-budget.ts';

const open = () => {
  let ms = 0;
  const budget = createRefusalBudget({ monotonicMs: () => ms });
  /** How many of `count` requests at once are recorded. */
  const record = (organizationId: string, count: number): number =>
    Array.from({ length: count }, () => budget.take(organizationId)).filter(Boolean).length;
  return {
    record,
    advance: (byMs: number): void => {
      ms += byMs;
    },
  };
};

describe('refused requests with their bodies', () => {
  test('are at most 20 at once of an organization, and 5 a second after that', () => {
    const { record, advance } = open();
    expect(record('org_a', 100)).toBe(20);
    advance(1_000);
    expect(record('org_a', 100)).toBe(5);
  });

  test('are at most 50 at once of all', () => {
    const { record } = open();
    const taken = Array.from({ length: 1_000 }, (_, index) => record(`org_${index}`, 1));
    expect(taken.filter((count) => count === 1)).toHaveLength(50);
  });

  test('of 20 organizations that flood leave room for one that makes few', () => {
    const { record, advance } = open();
    /** 20 times a second, 20 organizations have 10 requests refused. */
    const floodFor = (seconds: number): void => {
      for (let step = 0; step < seconds * 20 * 20; step += 1) {
        record(`org_${step % 20}`, 10);
        advance(2.5);
      }
    };
    const recorded = Array.from({ length: 12 }, () => {
      floodFor(5);
      return record('org_b', 2);
    });
    expect(recorded).toEqual(Array(12).fill(2));
  });
});
