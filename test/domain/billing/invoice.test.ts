import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type BillingPeriod,
  billingPeriod,
  type CloseInvoice,
  closeInvoice,
  type Invoice,
  invoiceIdOf,
  quotaLevel,
  tellQuota,
} from '../../../src/domain/billing/invoice.ts';
import type { Customer, Issuer } from '../../../src/domain/billing/parties.ts';
import {
  BUILT_IN_PLANS,
  type ChosenPlan,
  type Month,
  nextMonth,
  overageOf,
  type Plan,
  requirePeriod,
} from '../../../src/domain/billing/plan.ts';
import { countedDays } from '../../support/counted-days.ts';

const plan = (more: Partial<Plan> = {}): Plan => ({
  ...{ id: 'starter', name: 'Starter', currency: 'EUR', price: 3000, included: 300, overagePer1000: '1000' },
  ...{ hardLimit: null, ...more },
});
const OPEN: BillingPeriod = billingPeriod.initial;

interface Facts extends Partial<Pick<CloseInvoice, 'earlier' | 'countedTo'>> {
  readonly days?: Iterable<readonly [date: string, recipients: number]>;
  readonly chosen?: readonly ChosenPlan[];
  readonly createdAt?: string;
  readonly month?: Month;
  readonly customer?: Customer;
  readonly issuer?: Issuer;
}

const close = ({
  chosen = [],
  createdAt = '2026-01-01T00:00:00.000Z',
  month = '2026-11',
  days = [],
  customer,
  issuer,
  ...facts
}: Facts): Invoice => {
  const [closed] = closeInvoice(OPEN, {
    billed: { organizationId: 'org_mine', createdAt, chosenPlans: chosen, settings: { customer: customer ?? null } },
    plans: { ...BUILT_IN_PLANS, issuer },
    period: requirePeriod(month),
    days: countedDays(days, '5'),
    countedTo: { position: '42', at: null },
    earlier: [],
    since: '2026-08',
    ...facts,
  });
  if (closed?.type !== 'InvoiceClosed') throw new Error('nothing was closed');
  return closed.data;
};

const shown = ({ lines }: Invoice) =>
  lines.map(
    ({ kind, from, to, plan: { id }, quantity, amount }) => `${kind} ${from}..${to} ${id} ${quantity} = ${amount}`,
  );

describe('an invoice', () => {
  test('charges the plan for the month and recipients beyond those included', () => {
    const chosen = [{ plan: plan(), from: '2026-10-05' }];
    const days = new Map([
      ['2026-10-31', 1000],
      ['2026-11-01', 200],
      ['2026-11-30', 150],
      ['2026-12-01', 1000],
    ]);
    const invoice = close({ chosen, days });
    expect(shown(invoice)).toEqual([
      'plan 2026-11-01..2026-12-01 starter 30 = 3000',
      'recipients 2026-11-01..2026-12-01 starter 350 = 50',
    ]);
    expect([invoice.total, invoice.currency, invoice.invoiceId]).toEqual([
      ...[3050, 'EUR', invoiceIdOf('org_mine', '2026-11')],
    ]);
  });

  test('shares the month by days if plans change; the last plan of a day has the whole day', () => {
    const chosen = [
      { plan: plan(), from: '2026-10-05' },
      { plan: plan({ id: 'brief' }), from: '2026-11-11' },
      { plan: plan({ id: 'large', price: 9000, included: 900 }), from: '2026-11-11' },
      { plan: plan({ id: 'later' }), from: '2026-12-01' },
    ];
    const days = new Map([
      ['2026-11-10', 100],
      ['2026-11-11', 601],
    ]);
    expect(shown(close({ chosen, days }))).toEqual([
      'plan 2026-11-01..2026-11-11 starter 10 = 1000',
      'recipients 2026-11-01..2026-11-11 starter 100 = 0',
      'plan 2026-11-11..2026-12-01 large 20 = 6000',
      'recipients 2026-11-11..2026-12-01 large 601 = 1',
    ]);
  });

  test('begins with the day on which the organization was made', () => {
    const chosen = [{ plan: plan(), from: '2026-11-21' }];
    expect(shown(close({ chosen, createdAt: '2026-11-16T10:00:00.000Z' }))).toEqual([
      'plan 2026-11-16..2026-11-21 unlimited 5 = 0',
      'recipients 2026-11-16..2026-11-21 unlimited 0 = 0',
      'plan 2026-11-21..2026-12-01 starter 10 = 1000',
      'recipients 2026-11-21..2026-12-01 starter 0 = 0',
    ]);
  });

  test('corrects what earlier ones stated, and says after which place of the log its events begin', () => {
    const chosen = [{ plan: plan(), from: '2026-08-01' }];
    const october = close({
      chosen,
      month: '2026-10',
      days: new Map([['2026-10-02', 400]]),
      countedTo: { position: '7', at: null },
    });
    const days = new Map([['2026-10-02', 390]]);
    const november = close({ chosen, days, earlier: [october] });
    expect(shown(november).at(-1)).toBe('late_recipients 2026-10-01..2026-11-01 starter -10 = -10');
    expect(november.lines.map(({ after }) => after)).toEqual(['42', '42', '7']);
    expect(november.lines.at(-1)).toMatchObject({ counted: 390, charged: 100 });
    const december = close({ chosen, month: '2026-12', days, earlier: [november, october] });
    expect(shown(december)).toHaveLength(2);
    expect(october.lines.map(({ after }) => after)).toEqual(['5', '5']);
  });

  test('adds no amounts of another currency to those of the month', () => {
    const euros = [{ plan: plan(), from: '2026-08-01' }];
    const october = close({ chosen: euros, month: '2026-10', days: [['2026-10-02', 400]] });
    const dollars = [...euros, { plan: plan({ id: 'dollars', currency: 'USD' }), from: '2026-11-01' }];
    const november = close({ chosen: dollars, days: [['2026-10-02', 390]], earlier: [october] });
    expect([november.currency, november.total, november.lines.length]).toEqual(['USD', 3000, 2]);
  });

  const ISSUER: Issuer = {
    ...{ name: 'Mail Ltd', address: '2 Low Road\nLeeds', taxId: 'GB1', numberPrefix: 'ML-' },
    tax: { name: 'VAT', rate: '19' },
  };
  const CUSTOMER: Customer = { name: 'Shop Ltd', address: '1 High Street\nLondon', taxId: null };
  const chosen = [{ plan: plan({ price: 1013 }), from: '2026-01-01' }];

  test('names both parties as they are set when it is closed, and adds tax, rounded once', () => {
    expect(close({ chosen, issuer: ISSUER, customer: CUSTOMER })).toMatchObject({
      issuer: { name: 'Mail Ltd', address: '2 Low Road\nLeeds', taxId: 'GB1' },
      customer: CUSTOMER,
      total: 1013,
      tax: { name: 'VAT', rate: '19', amount: 192 }, // 192.47
    });
    expect(close({ chosen, issuer: { ...ISSUER, tax: null }, customer: CUSTOMER }).tax).toBeUndefined();
  });

  test('adds no tax unless it names both parties', () => {
    expect(close({ chosen, issuer: ISSUER })).not.toHaveProperty('tax');
    expect(close({ chosen, customer: CUSTOMER })).not.toHaveProperty('tax');
    expect(close({ chosen })).not.toHaveProperty('issuer');
  });

  test('has a number that follows the one of the month before, with any settings', () => {
    const createdAt = '2025-11-30T23:59:59.999Z';
    const numbers = (['2025-11', '2025-12', '2026-01', '2026-11'] as const).map(
      (month) => close({ month, createdAt, issuer: ISSUER }).number,
    );
    expect(numbers).toEqual(['ML-MINE-0001', 'ML-MINE-0002', 'ML-MINE-0003', 'ML-MINE-0013']);
    expect(close({ month: '2026-02', createdAt }).number).toBe('MINE-0004');
  });

  test('is closed once', () => {
    const invoice = close({});
    const closed = billingPeriod.evolve(OPEN, { type: 'InvoiceClosed', data: invoice }, {} as never);
    expect(closeInvoice(closed, {} as never)).toEqual([]);
  });

  test('and later ones add up to the cost of the final counts, whenever facts arrive', () => {
    const months: readonly Month[] = ['2026-08', '2026-09', '2026-10', '2026-11'];
    const counts = fc.array(fc.integer({ min: 0, max: 2000 }), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(
        fc.array(counts, { minLength: 4, maxLength: 4 }),
        fc.integer({ min: 0, max: 99_999 }),
        (rounds, rate) => {
          const terms = plan({ overagePer1000: `${rate}.37` });
          const chosen = [{ plan: terms, from: '2026-01-01' }];
          const invoices: Invoice[] = [];
          for (const [round, month] of months.entries()) {
            const days = new Map(
              months.slice(0, round + 1).map((each, of) => [`${each}-15`, rounds[round]?.[of] ?? 0]),
            );
            invoices.push(close({ chosen, month, days, earlier: invoices.toReversed() }));
          }
          const last = rounds.at(-1) ?? [];
          const costs = months.map((month, of) => {
            const ofDays = (Date.parse(`${nextMonth(month)}-01`) - Date.parse(`${month}-01`)) / 86_400_000;
            return 3000 + overageOf(terms, { days: ofDays, ofDays }, last[of] ?? 0);
          });
          const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
          expect(sum(invoices.map(({ total }) => total))).toBe(sum(costs));
          const counted = invoices.flatMap(({ lines }) => lines.filter(({ kind }) => kind !== 'plan'));
          expect(sum(counted.map(({ quantity }) => quantity))).toBe(sum(last));
        },
      ),
    );
  });
});

describe('a quota', () => {
  const told = (state: BillingPeriod, used: number) =>
    tellQuota(state, { organizationId: 'org_mine', month: '2026-11', plan: plan({ included: 10 }), used }).map(
      ({ type }) => type,
    );

  test('is announced at 80 % and at 100 %, each once a month', () => {
    expect([7, 8, 9, 10, 11].map((used) => told(OPEN, used))).toEqual([
      [],
      ['QuotaWarned'],
      ['QuotaWarned'],
      ['QuotaWarned', 'QuotaExceeded'],
      ['QuotaWarned', 'QuotaExceeded'],
    ]);
    expect(told({ ...OPEN, isWarned: true }, 9)).toEqual([]);
    expect(told({ ...OPEN, isWarned: true }, 10)).toEqual(['QuotaExceeded']);
    expect(told({ ...OPEN, isWarned: true, isExceeded: true }, 11)).toEqual([]);
  });

  test('of a plan without one is never announced', () => {
    expect(quotaLevel(BUILT_IN_PLANS.default, 1_000_000)).toBeNull();
    expect(quotaLevel(plan({ included: 0 }), 1)).toBeNull();
  });
});
