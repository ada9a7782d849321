import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BUILT_IN_PLANS,
  type ChosenPlan,
  choosePlan,
  includedIn,
  nextPlanOf,
  overageOf,
  type Plan,
  type Plans,
  planOf,
  priceOf,
  quotaOf,
  rounded,
} from '../../../src/domain/billing/plan.ts';

const plan = (more: Partial<Plan> = {}): Plan => ({
  id: 'starter',
  name: 'Starter',
  currency: 'EUR',
  price: 1900,
  included: 10_000,
  overagePer1000: '45.5',
  hardLimit: null,
  ...more,
});

/** An unreduced fraction, with which amounts are recalculated independently. */
interface Rational {
  readonly over: bigint;
  readonly under: bigint;
}

/** Parses a decimal string without the code under test. */
const rational = (decimal: string): Rational => {
  const [whole = '', fraction = ''] = decimal.split('.');
  return { over: BigInt(whole + fraction), under: 10n ** BigInt(fraction.length) };
};

/** True if an amount is the nearest integer to a fraction, with halves rounded away from zero. */
const isNearest = (amount: number, { over, under }: Rational): boolean => {
  const twice = 2n * (BigInt(amount) * under - over);
  return over >= 0n ? twice > -under && twice <= under : twice >= -under && twice < under;
};

const rate = fc
  .tuple(fc.integer({ min: 0, max: 9_999_999 }), fc.stringMatching(/^\d{0,6}$/))
  .map(([whole, fraction]) => (fraction === '' ? String(whole) : `${whole}.${fraction}`));
const share = fc
  .integer({ min: 28, max: 31 })
  .chain((ofDays) => fc.record({ days: fc.integer({ min: 0, max: ofDays }), ofDays: fc.constant(ofDays) }));

describe('amounts', () => {
  test('are exact fractions, rounded once to the nearest unit, half away from zero', () => {
    expect([rounded(5n, 2n), rounded(-5n, 2n), rounded(7n, 3n), rounded(-7n, 3n), rounded(-1n, 4n)]).toEqual([
      ...[3, -3, 2, -2, 0],
    ]);
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }),
        fc.bigInt({ min: 1000n, max: 10n ** 9n }),
        (over, under) => {
          expect(isNearest(rounded(over, under), { over, under })).toBe(true);
        },
      ),
    );
  });

  test('of a plan are its price for its share of the month', () => {
    expect(priceOf(plan(), { days: 15, ofDays: 30 })).toBe(950);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100_000_000_000 }), share, (price, { days, ofDays }) => {
        const amount = priceOf(plan({ price }), { days, ofDays });
        expect(isNearest(amount, { over: BigInt(price) * BigInt(days), under: BigInt(ofDays) })).toBe(true);
      }),
    );
  });

  test('of recipients are the rate for those beyond the included ones', () => {
    expect(overageOf(plan(), { days: 30, ofDays: 30 }, 12_345)).toBe(107); // 2,345 × 45.5 ÷ 1,000 = 106.6975
    fc.assert(
      fc.property(
        fc.record({ included: fc.integer({ min: 0, max: 1_000_000 }), overagePer1000: rate }),
        share,
        fc.integer({ min: 0, max: 100_000_000 }),
        (terms, part, recipients) => {
          const free = includedIn(plan(terms), part) ?? 0;
          const { over, under } = rational(terms.overagePer1000);
          const beyond = BigInt(Math.max(0, recipients - free));
          const exact = { over: beyond * over, under: 1000n * under };
          expect(isNearest(overageOf(plan(terms), part, recipients), exact)).toBe(true);
        },
      ),
    );
  });

  test('include a share of the recipients, rounded up to a whole one', () => {
    expect(includedIn(plan({ included: 100 }), { days: 10, ofDays: 30 })).toBe(34);
    expect(includedIn(plan({ included: 100 }), { days: 30, ofDays: 30 })).toBe(100);
    expect(overageOf(plan({ included: null }), { days: 1, ofDays: 30 }, 1_000_000)).toBe(0);
  });
});

describe('choosing a plan', () => {
  const offered: Plans = {
    default: BUILT_IN_PLANS.default,
    offered: [plan(), plan({ id: 'dollars', currency: 'USD' })],
  };
  const chosen = (...all: readonly Plan[]): readonly ChosenPlan[] =>
    all.map((each) => ({ plan: each, from: '2026-11-01' }));
  const choose = (chosenPlans: readonly ChosenPlan[], planId: string, plans = offered) =>
    choosePlan({ chosenPlans, plans, planId, now: '2026-11-30T23:59:59.999Z' });

  test('uses its present terms; choosing the same again does nothing', () => {
    expect(choose([], 'starter')?.plan).toEqual(plan());
    expect(choose(chosen(plan()), 'starter')).toBeNull();
    expect(choose(chosen(plan({ price: 1 })), 'starter')?.plan).toEqual(plan());
  });

  test('refuses one that is not offered, and another currency once something was due', () => {
    expect(() => choose([], 'gold')).toThrow(
      "you cannot choose the plan 'gold': GET /v1/billing/plans lists the plans",
    );
    expect(() => choose([], 'unlimited')).toThrow('you cannot choose');
    expect(choose([], 'dollars')).toMatchObject({ plan: { currency: 'USD' } });
    expect(() => choose(chosen(plan(), BUILT_IN_PLANS.default), 'dollars')).toThrow('another currency');
  });

  test.each<[change: Partial<Plan>, from: string]>([
    [{}, '2026-11-30'],
    [{ price: 4_000, included: 20_000, overagePer1000: '50', hardLimit: null }, '2026-11-30'],
    [{ included: null }, '2026-11-30'],
    [{ price: 2_999 }, '2026-12-01'],
    [{ overagePer1000: '45.4' }, '2026-12-01'],
    [{ overagePer1000: '9' }, '2026-12-01'],
    [{ included: 9_999 }, '2026-12-01'],
    [{ hardLimit: 1_000_000 }, '2026-12-01'],
    [{ price: 9_000, included: null, hardLimit: 0 }, '2026-12-01'],
  ])('applies %o from %s: what lowers anything waits for the next day', (change, from) => {
    const before = plan({ price: 3_000, overagePer1000: '45.5' });
    const other = plan({ ...before, id: 'other', ...change });
    expect(choose(chosen(before), 'other', { ...offered, offered: [other] })).toEqual({ plan: other, from });
  });

  test('by the operator, in another currency, waits for the next month: an invoice has one currency', () => {
    const before: readonly ChosenPlan[] = [{ plan: plan(), from: '2026-11-01' }];
    const byOperator = { plans: offered, planId: 'dollars', byOperator: true };
    const next = choosePlan({ chosenPlans: before, ...byOperator, now: '2026-11-10T00:00:00.000Z' });
    expect(next).toMatchObject({ plan: { currency: 'USD' }, from: '2026-12-01' });
    const after = [...before, ...(next === null ? [] : [next])];
    // The organization follows the new currency, and no plan of it applies before.
    const own = {
      chosenPlans: after,
      plans: { ...offered, offered: [plan({ id: 'more', currency: 'USD', price: 9_000 })] },
    };
    expect(choosePlan({ ...own, planId: 'more', now: '2026-11-11T00:00:00.000Z' })?.from).toBe('2026-12-01');
    expect(choosePlan({ ...own, planId: 'more', now: '2026-12-05T00:00:00.000Z' })?.from).toBe('2026-12-05');
    expect(() => choose(after, 'starter')).toThrow('another currency');
  });

  test('in another currency than a free plan of this month waits for the next month too', () => {
    const free = { chosenPlans: [], plans: offered, planId: 'dollars' };
    const from = (more: object) => choosePlan({ ...free, now: '2026-11-28T12:00:00.000Z', ...more })?.from;
    expect(from({})).toBe('2026-12-01');
    expect(from({ plans: { ...offered, default: plan({ currency: 'USD' }) } })).toBe('2026-11-28');
    // The whole first day of an organization has the plan, so that no line is in the currency of the default plan.
    const small = { plans: { ...offered, default: plan({ price: 0, overagePer1000: '0', included: 0 }) } };
    expect(from(small)).toBe('2026-12-01');
    expect(from({ ...small, createdAt: '2026-11-28T09:00:00.000Z' })).toBe('2026-11-28');
    expect(from({ ...small, createdAt: '2026-11-27T09:00:00.000Z' })).toBe('2026-12-01');
  });

  test('is compared with the plan of the day, so that a pending choice opens no way around it', () => {
    const [big, tiny] = [
      plan({ id: 'big', price: 9_000, included: 90_000 }),
      plan({ id: 'tiny', price: 0, included: 1 }),
    ];
    const plans = { default: tiny, offered: [tiny, big, plan()] };
    const first = choose([], 'big', plans);
    expect(first).toEqual({ plan: big, from: '2026-11-30' });
    const pending = [first, choose(first === null ? [] : [first], 'tiny', plans)].filter((one) => one !== null);
    expect(pending[1]).toEqual({ plan: tiny, from: '2026-12-01' });
    // Above the pending plan, but below that of today.
    expect(choose(pending, 'starter', plans)).toMatchObject({ plan: { id: 'starter' }, from: '2026-12-01' });
    expect(choose(pending, 'big', plans)).toEqual({ plan: big, from: '2026-11-30' });
    const organization = { chosenPlans: pending };
    expect(planOf(organization, plans, '2026-11-29T23:59:59.999Z').id).toBe('tiny');
    expect(planOf(organization, plans, '2026-11-30T23:59:59.999Z').id).toBe('big');
    expect(planOf(organization, plans, '2026-12-01T00:00:00.000Z').id).toBe('tiny');
    expect(nextPlanOf(organization, '2026-11-30T23:59:59.999Z')).toEqual(pending[1]);
    expect(nextPlanOf(organization, '2026-12-01T00:00:00.000Z')).toBeNull();
  });
});

test('the quota of a plan is its hard limit, or else what it includes', () => {
  expect(quotaOf(plan())).toEqual({ limit: 10_000, isHard: false });
  expect(quotaOf(plan({ hardLimit: 500 }))).toEqual({ limit: 500, isHard: true });
  expect(quotaOf(BUILT_IN_PLANS.default)).toBeNull();
});
