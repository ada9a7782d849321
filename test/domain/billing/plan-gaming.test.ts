import fc from 'fast-check';
import { expect, test } from 'vitest';
import { billingPeriod, closeInvoice } from '../../../src/domain/billing/invoice.ts';
import {
  type ChosenPlan,
  choosePlan,
  type Plan,
  type Plans,
  planOf,
  requirePeriod,
} from '../../../src/domain/billing/plan.ts';

/** Plans that differ in every term, in all orders of price, share, rate and limit. */
const make = (id: string, more: Omit<Plan, 'id' | 'name' | 'currency'>): Plan => ({
  ...{ id, name: id, currency: 'EUR', ...more },
});
const FREE = make('free', { price: 0, included: 100, overagePer1000: '0', hardLimit: 100 });
const PLANS: Plans = {
  default: FREE,
  offered: [
    FREE,
    make('small', { price: 1_000, included: 1_000, overagePer1000: '50', hardLimit: 5_000 }),
    make('cheap', { price: 500, included: 10, overagePer1000: '10', hardLimit: null }),
    make('big', { price: 9_000, included: 100_000, overagePer1000: '50', hardLimit: null }),
    make('unlimited', { price: 90_000, included: null, overagePer1000: '50', hardLimit: null }),
  ],
};

const DAY_MS = 86_400_000;
const START_MS = Date.parse('2026-11-01T00:00:00.000Z');

/** Choices in the order of their times, over two months. */
const choices = fc
  .array(
    fc.record({
      atMs: fc.oneof(
        fc.integer({ min: 0, max: 61 * DAY_MS - 1 }),
        // The first and the last moment of a day (UTC).
        fc.integer({ min: 1, max: 60 }).map((day) => day * DAY_MS),
        fc.integer({ min: 1, max: 60 }).map((day) => day * DAY_MS - 1),
      ),
      planId: fc.constantFrom(...PLANS.offered.map(({ id }) => id)),
    }),
    { maxLength: 12 },
  )
  .map((all) => all.toSorted((one, other) => one.atMs - other.atMs));

const timeAt = (ms: number): string => new Date(START_MS + ms).toISOString();

const orUnlimited = (limit: number | null): number => limit ?? Number.POSITIVE_INFINITY;

interface Choice {
  readonly atMs: number;
  readonly planId: string;
}

/** Plans that applied on each day, before and after each choice. */
const plansOfDays = (made: readonly Choice[]) => {
  const applied: { readonly day: string; readonly plan: Plan }[] = [];
  let chosenPlans: readonly ChosenPlan[] = [];
  const note = (time: string): void => {
    applied.push({ day: time.slice(0, 10), plan: planOf({ chosenPlans }, PLANS, time) });
  };
  for (const { atMs, planId } of made) {
    note(timeAt(atMs));
    chosenPlans = afterChoice(chosenPlans, { atMs, planId });
    note(timeAt(atMs));
  }
  return { applied, chosenPlans };
};

const afterChoice = (chosenPlans: readonly ChosenPlan[], { atMs, planId }: Choice): readonly ChosenPlan[] => {
  const chosen = choosePlan({ chosenPlans, plans: PLANS, planId, now: timeAt(atMs) });
  return chosen === null ? chosenPlans : [...chosenPlans, chosen];
};

/** Terms of which a higher number is dearer, or allows more. */
const termsOf = ({ price, overagePer1000: rate, included, hardLimit }: Plan): readonly number[] => [
  ...[price, Number(rate), orUnlimited(included), orUnlimited(hardLimit)],
];

test('a day is charged at the terms of every plan that applied on it, or higher ones', () => {
  fc.assert(
    fc.property(choices, (made) => {
      const { applied, chosenPlans } = plansOfDays(made);
      for (const { day, plan } of applied) {
        const charged = termsOf(planOf({ chosenPlans }, PLANS, `${day}T23:59:59.999Z`));
        expect(termsOf(plan).filter((term, index) => term > (charged[index] ?? 0))).toEqual([]);
      }
    }),
    { numRuns: 500 },
  );
});

const closeMonth = (month: string, chosenPlans: readonly ChosenPlan[]) => {
  const [closed] = closeInvoice(billingPeriod.initial, {
    billed: {
      ...{ organizationId: 'org_mine', createdAt: '2026-01-01T00:00:00.000Z', chosenPlans },
      settings: { customer: null },
    },
    ...{ plans: PLANS, period: requirePeriod(month), days: new Map(), earlier: [], since: month },
    countedTo: { position: '1', at: null },
  });
  if (closed?.type !== 'InvoiceClosed') throw new Error('nothing was closed');
  return closed.data.lines.filter(({ kind }) => kind === 'plan');
};

test('a month is charged for each of its days once, across changes of plan and the end of the month', () => {
  fc.assert(
    fc.property(choices, fc.constantFrom('2026-11', '2026-12'), (made, month) => {
      const chosenPlans = made.reduce(afterChoice, [] as readonly ChosenPlan[]);
      const lines = closeMonth(month, chosenPlans);
      const { start, end } = requirePeriod(month);
      expect(lines.map(({ from }) => from)).toEqual([start, ...lines.slice(0, -1).map(({ to }) => to)]);
      expect(lines.at(-1)?.to).toBe(end);
      for (const { from, plan } of lines)
        expect(plan.id).toBe(planOf({ chosenPlans }, PLANS, `${from}T12:00:00.000Z`).id);
    }),
    { numRuns: 500 },
  );
});
