import { z } from 'zod';
import { canonicalJson } from '../../lib/transparency/transparency.ts';
import { DomainError } from '../kernel/errors.ts';
import { dayOf } from '../kernel/event.ts';
import { type Issuer, partiesOfInvoice } from './parties.ts';

/**
 * Plans and exact arithmetic for their prices. Amounts are integers in the currency's minor unit (cents), and rates are
 * decimal strings in it. Nothing is computed in floating point.
 */

/** Exceeds any real plan, and keeps the product of a price and a year's recipients exact in JSON. */
const PRICE_MAX = 100_000_000_000;
const RECIPIENTS_MAX = 1_000_000_000_000;
/** Decimal places of a rate. */
const RATE_DIGITS = 6;
const RATE = new RegExp(`^(0|[1-9]\\d{0,6})(\\.\\d{1,${RATE_DIGITS}})?$`);

const wholeNumber = (max: number) => z.number().int().min(0).max(max);

/** The terms of a plan. Events contain a copy, so that a later change of the plans file changes no invoice. */
export const planSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must be 1 to 64 lower-case letters, digits, - or _'),
  name: z.string().trim().min(1).max(100),
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 currency code, such as EUR'),
  price: wholeNumber(PRICE_MAX).describe('Price per month, in the smallest unit of the currency, such as cents.'),
  included: wholeNumber(RECIPIENTS_MAX).nullable().describe('Recipients included per month. null: unlimited.'),
  overagePer1000: z
    .string()
    .regex(RATE, `must be a decimal string with at most ${RATE_DIGITS} digits after the point, such as "40.5"`)
    .describe(
      'Price per 1,000 recipients beyond the included ones, in the smallest unit of the currency, as a decimal string.',
    ),
  hardLimit: wholeNumber(RECIPIENTS_MAX)
    .nullable()
    .describe('Recipients per month beyond which messages are rejected. null: no limit.'),
});
export type Plan = Readonly<z.infer<typeof planSchema>>;

/** An unlimited plan, free of charge. */
const UNLIMITED: Plan = {
  id: 'unlimited',
  name: 'Unlimited',
  currency: 'EUR',
  price: 0,
  included: null,
  overagePer1000: '0',
  hardLimit: null,
};

/** Plans that the operator offers. */
export interface Plans {
  /** Plan of organizations that have not chosen one. */
  readonly default: Plan;
  /** Plans that organizations may choose. */
  readonly offered: readonly Plan[];
  /** Plans that only the operator gives to an organization. */
  readonly others?: readonly Plan[];
  /** The issuer of invoices. Absent: they are usage statements. */
  readonly issuer?: Issuer | undefined;
}

export const BUILT_IN_PLANS: Plans = { default: UNLIMITED, offered: [UNLIMITED] };

/** A plan that an organization chose. */
export interface ChosenPlan {
  readonly plan: Plan;
  /** The first day (UTC) on which it applies. A later choice replaces an earlier one from its own first day on. */
  readonly from: string;
}

interface ChosenPlans {
  /** Oldest choice first. */
  readonly chosenPlans: readonly ChosenPlan[];
}

/** The plan of an organization at a time (ISO 8601). */
export const planOf = ({ chosenPlans }: ChosenPlans, plans: Pick<Plans, 'default'>, time: string): Plan =>
  chosenPlans.findLast(({ from }) => from <= dayOf(time))?.plan ?? plans.default;

/** A chosen plan that does not apply yet at a time (ISO 8601); null: none. */
export const nextPlanOf = ({ chosenPlans }: ChosenPlans, time: string): ChosenPlan | null => {
  const last = chosenPlans.at(-1);
  return last !== undefined && last.from > dayOf(time) ? last : null;
};

const isFree = ({ price, overagePer1000: rate }: Plan): boolean => price === 0 && Number(rate) === 0;

const orUnlimited = (limit: number | null): number => limit ?? Number.POSITIVE_INFINITY;

/** Whether no price, rate, share or limit of a plan is below that of another. */
const isAtLeast = (plan: Plan, other: Plan): boolean =>
  plan.price >= other.price &&
  Number(plan.overagePer1000) >= Number(other.overagePer1000) &&
  orUnlimited(plan.included) >= orUnlimited(other.included) &&
  orUnlimited(plan.hardLimit) >= orUnlimited(other.hardLimit);

interface ChoosePlan extends ChosenPlans {
  readonly plans: Plans;
  readonly planId: string;
  /** ISO 8601. */
  readonly now: string;
  /** The operator can choose any plan of the file, and another currency. */
  readonly byOperator?: boolean | undefined;
  /** Creation of the organization (ISO 8601). Absent: before this month. */
  readonly createdAt?: string | undefined;
}

const findPlan = ({ plans, planId, byOperator }: ChoosePlan): Plan => {
  const choices = byOperator === true ? [...plans.offered, ...(plans.others ?? []), plans.default] : plans.offered;
  const plan = choices.find(({ id }) => id === planId);
  if (plan !== undefined) return plan;
  throw new DomainError(
    'plan_not_offered',
    byOperator === true
      ? `there is no plan '${planId}': \`outbox plans list\` lists the plans`
      : `you cannot choose the plan '${planId}': GET /v1/billing/plans lists the plans`,
  );
};

/** Paid plans that applied this month until now, or apply now. */
const paidThisMonth = ({ chosenPlans: chosen, plans, now }: ChoosePlan): readonly Plan[] => {
  const start = `${monthOf(now)}-01`;
  const since = chosen.filter(({ from }) => from > start && from <= dayOf(now)).map(({ plan }) => plan);
  return [planOf({ chosenPlans: chosen }, plans, start), ...since].filter((plan) => !isFree(plan));
};

/** The plan of each day of this month that comes before a day: the invoice has a line for each of them, also a free one. */
const plansBefore = (choice: ChoosePlan, day: string): readonly Plan[] => {
  const period = requirePeriod(monthOf(choice.now));
  const { start } = periodSince(period, choice.createdAt ?? period.start);
  const days = Array.from({ length: Math.max(0, daysBetween(start, day)) }, (_, index) =>
    dateOf(Date.parse(start) + index * DAY_MS),
  );
  return days.map((each) => planOf(choice, choice.plans, each));
};

/** @throws {DomainError} `resource_conflict`. */
const requireSameCurrency = ({ chosenPlans, plans, byOperator }: ChoosePlan, { currency }: Plan): void => {
  const paid = [plans.default, ...chosenPlans.map(({ plan }) => plan)].findLast((plan) => !isFree(plan));
  if (byOperator === true || paid === undefined || paid.currency === currency) return;
  throw new DomainError(
    'resource_conflict',
    'this plan has another currency than your current plan: ask the operator to change it',
  );
};

const startOf = (choice: ChoosePlan, plan: Plan): string => {
  const { plans, now } = choice;
  const from = isAtLeast(plan, planOf(choice, plans, now)) ? dayOf(now) : dateOf(Date.parse(now) + DAY_MS);
  const plansOfMonth = [...paidThisMonth(choice), ...plansBefore(choice, from)];
  return plansOfMonth.some(({ currency }) => currency !== plan.currency) ? requirePeriod(monthOf(now)).end : from;
};

/**
 * A plan that lowers nothing applies at once, and to the whole day. One that lowers a price, a rate, the included recipients or
 * the limit applies from the next day: otherwise an organization could send under one plan and pay for another. A plan in
 * another currency applies from the next month, because an invoice has one currency.
 * @returns null if the organization already chose the plan with the same terms.
 * @throws {DomainError} `plan_not_offered`, `resource_conflict`.
 */
export const choosePlan = (choice: ChoosePlan): ChosenPlan | null => {
  const plan = findPlan(choice);
  if (canonicalJson(plan) === canonicalJson(choice.chosenPlans.at(-1)?.plan ?? null)) return null;
  requireSameCurrency(choice, plan);
  return { plan, from: startOf(choice, plan) };
};

/** Recipients a month that a plan allows; null if unlimited. `isHard`: recipients beyond it are rejected. */
export const quotaOf = ({ hardLimit: limit, included }: Plan): { limit: number; isHard: boolean } | null => {
  if (limit !== null) return { limit, isHard: true };
  return included === null ? null : { limit: included, isHard: false };
};

/**
 * The only rounding rule: each invoice line is rounded once, from an exact fraction of minor units to the nearest
 * integer, half away from zero.
 */
export const rounded = (numerator: bigint, denominator: bigint): number => {
  const half = (numerator < 0n ? -numerator : numerator) * 2n + denominator;
  const amount = Number(half / (denominator * 2n));
  return numerator < 0n && amount !== 0 ? -amount : amount;
};

const RATE_UNIT = 10n ** BigInt(RATE_DIGITS);

/** Converts a rate to millionths of the minor unit. */
const millionths = (rate: string): bigint => {
  const [whole = '0', fraction = ''] = rate.split('.');
  return BigInt(whole) * RATE_UNIT + BigInt(fraction.padEnd(RATE_DIGITS, '0'));
};

/** A percentage of an amount. @param rate percent, as a decimal string. */
export const percentOf = (amount: number, rate: string): number =>
  rounded(BigInt(amount) * millionths(rate), 100n * RATE_UNIT);

/** Days of a month on which a plan applied. */
export interface Share {
  readonly days: number;
  readonly ofDays: number;
}

/** A plan's price for its share of the month. */
export const priceOf = ({ price }: Plan, { days, ofDays }: Share): number =>
  rounded(BigInt(price) * BigInt(days), BigInt(ofDays));

/** Recipients included in a plan's share of the month, rounded up; null if unlimited. */
export const includedIn = ({ included }: Plan, { days, ofDays }: Share): number | null =>
  included === null ? null : Number((BigInt(included) * BigInt(days) + BigInt(ofDays - 1)) / BigInt(ofDays));

/** Recipients beyond those included. */
export const chargeableOf = (plan: Plan, share: Share, recipients: number): number => {
  const included = includedIn(plan, share);
  return included === null ? 0 : Math.max(0, recipients - included);
};

/** Price of the recipients beyond those included. */
export const overageOf = (plan: Plan, share: Share, recipients: number): number =>
  rounded(BigInt(chargeableOf(plan, share, recipients)) * millionths(plan.overagePer1000), 1000n * RATE_UNIT);

/** Billing periods: calendar months in UTC. */

const MONTH = /^(\d{4})-(0[1-9]|1[0-2])$/;
const DAY_MS = 86_400_000;
const YEAR_MIN = 1970;
const YEAR_MAX = 9999;

/** `2026-11`. */
export type Month = string;

/** Days are dates `2026-11-01`; `end` is the first day of the next month. */
export interface Period {
  readonly month: Month;
  readonly start: string;
  readonly end: string;
}

const dateOf = (timeMs: number): string => dayOf(new Date(timeMs).toISOString());

/** The month of a time or date (ISO 8601). */
export const monthOf = (time: string): Month => time.slice(0, 'YYYY-MM'.length);

/** Parses a month. @returns null if it is not a month from 1970-01 to 9999-11. */
export const periodOf = (text: string): Period | null => {
  const [, year, month] = MONTH.exec(text) ?? [];
  if (year === undefined || Number(year) < YEAR_MIN || text === `${YEAR_MAX}-12`) return null;
  return { month: text, start: `${text}-01`, end: dateOf(Date.UTC(Number(year), Number(month), 1)) };
};

/** @throws {RangeError} if the month is outside those years. */
export const requirePeriod = (month: Month): Period => {
  const period = periodOf(month);
  if (period === null) throw new RangeError(`${month} is not a month that can be billed`);
  return period;
};

/** An organization's first period begins on the day on which it was created. */
export const periodSince = (period: Period, createdAt: string): Period => {
  const createdOn = dayOf(createdAt);
  return createdOn > period.start && createdOn < period.end ? { ...period, start: createdOn } : period;
};

export const nextMonth = (month: Month): Month => monthOf(requirePeriod(month).end);

export const previousMonth = (month: Month): Month => monthOf(dateOf(Date.parse(`${month}-01`) - DAY_MS));

/** Number of days between two dates. */
export const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / DAY_MS;

/** A range of days on which one plan applied; `to` is the day after the last. */
const part = z.object({ month: z.string(), from: z.iso.date(), to: z.iso.date(), plan: planSchema });

const line = part.extend({
  /** `late_recipients` corrects a count on an earlier invoice. */
  kind: z.enum(['plan', 'recipients', 'late_recipients']),
  /** Days of a plan, or recipients. `late_recipients` can be negative. */
  quantity: z.number().int(),
  /** Log position. The counted events come after it and concern messages accepted on these days. */
  after: z.string(),
  /** In the currency's minor unit. */
  amount: z.number().int(),
  /** Current count and amount already charged; only in `late_recipients`. Earlier versions did not record them. */
  counted: z.number().int().optional(),
  charged: z.number().int().optional(),
});
export type InvoiceLine = Readonly<z.infer<typeof line>>;

const quota = z.object({
  organizationId: z.string(),
  invoiceId: z.string(),
  month: z.string(),
  planId: z.string(),
  limit: z.number().int(),
  used: z.number().int(),
});

/** Stream of one organization and month: its quota notices and its invoice. */
export const billingPeriodEvents = {
  /** 80 % of the quota is used. Recorded once a month. */
  QuotaWarned: quota,
  /** All of the quota is used. Recorded once a month. */
  QuotaExceeded: quota,
  /** Recorded once a month. Later facts are on the next invoice. */
  InvoiceClosed: z.object({
    organizationId: z.string(),
    invoiceId: z.string(),
    month: z.string(),
    currency: z.string(),
    lines: z.array(line),
    total: z.number().int(),
    /** The last event of the log that was counted. */
    countedTo: z.object({ position: z.string(), at: z.string().nullable() }),
    ...partiesOfInvoice,
  }),
};
