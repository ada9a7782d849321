import type { Aggregate } from '../kernel/aggregate.ts';
import { sha256 } from '../kernel/digest.ts';
import { LOG_START, type Position } from '../kernel/event-store.ts';
import type { BillingPeriodEvent } from '../kernel/events.ts';
import { formatId } from '../kernel/ids.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import type { Customer, Issuer } from './parties.ts';
import {
  type ChosenPlan,
  daysBetween,
  type InvoiceLine,
  type Month,
  monthOf,
  overageOf,
  type Period,
  type Plan,
  type Plans,
  percentOf,
  periodSince,
  priceOf,
  quotaOf,
  requirePeriod,
  type Share,
} from './plan.ts';

/**
 * Quota notices and the invoice of one organization and month. Each is recorded once: the append to their common stream
 * expects the revision that was read.
 */

export type Invoice = Extract<BillingPeriodEvent, { readonly type: 'InvoiceClosed' }>['data'];

export interface BillingPeriod {
  readonly isWarned: boolean;
  readonly isExceeded: boolean;
  /** Null while the month is open. */
  readonly invoice: Invoice | null;
}

export const billingPeriod: Aggregate<BillingPeriod, BillingPeriodEvent> = {
  category: CATEGORIES.invoice,
  initial: { isWarned: false, isExceeded: false, invoice: null },
  evolve: (state, event) => {
    switch (event.type) {
      case 'QuotaWarned':
        return { ...state, isWarned: true };
      case 'QuotaExceeded':
        return { ...state, isExceeded: true };
      case 'InvoiceClosed':
        return { ...state, invoice: event.data };
      default:
        return event satisfies never;
    }
  },
};

export const invoiceIdOf = (organizationId: string, month: Month): string =>
  formatId('inv', sha256(`${organizationId}\0${month}`));

/** Share of the quota, in percent, at which the organization is warned. */
const WARNING_PERCENT = 80;

/** The quota level to report, or null below the warning level. */
export const quotaLevel = (plan: Plan, used: number): 'warning' | 'exceeded' | null => {
  const limit = quotaOf(plan)?.limit ?? 0;
  if (limit === 0 || used * 100 < limit * WARNING_PERCENT) return null;
  return used < limit ? 'warning' : 'exceeded';
};

export interface TellQuota {
  readonly organizationId: string;
  readonly month: Month;
  readonly plan: Plan;
  readonly used: number;
}

/** Records each level once a month, even if the plan changed. */
export const tellQuota = (
  { isWarned, isExceeded }: BillingPeriod,
  { organizationId, month, plan, used }: TellQuota,
): readonly BillingPeriodEvent[] => {
  const level = quotaLevel(plan, used);
  if (level === null) return [];
  const limit = quotaOf(plan)?.limit ?? 0;
  const invoiceId = invoiceIdOf(organizationId, month);
  const data = { organizationId, invoiceId, month, planId: plan.id, limit, used };
  return [
    ...(isWarned ? [] : [{ type: 'QuotaWarned' as const, data }]),
    ...(level === 'warning' || isExceeded ? [] : [{ type: 'QuotaExceeded' as const, data }]),
  ];
};

/** Days on which one plan applied; `to` is the day after the last. */
type Part = Pick<InvoiceLine, 'month' | 'from' | 'to' | 'plan'>;

/** Each plan applies from its first day until the first day of a later choice. */
const partsOf = (
  period: Period,
  { chosenPlans, createdAt }: BilledOrganization,
  plans: Pick<Plans, 'default'>,
): readonly Part[] => {
  const { month, start, end } = periodSince(period, createdAt);
  const first: Part = { month, from: start, to: end, plan: plans.default };
  return chosenPlans.reduce<readonly Part[]>(
    (parts, { plan, from }) => {
      const before = parts.filter((one) => one.from < from);
      const last = before.at(-1);
      if (last === undefined) return [{ ...first, plan }];
      const cut = [...before.slice(0, -1), { ...last, to: last.to < from ? last.to : from }];
      return from >= end ? cut : [...cut, { ...first, from, plan }];
    },
    [first],
  );
};

export const shareOf = ({ month, from, to }: Pick<Part, 'month' | 'from' | 'to'>): Share => {
  const { start, end } = requirePeriod(month);
  return { days: daysBetween(from, to), ofDays: daysBetween(start, end) };
};

/** Messages accepted on a day (UTC), including their later outcomes. */
interface CountedDay {
  readonly recipients: number;
  /** Position before all counted events. */
  readonly after: Position;
}

/** Counted days by date. */
export type CountedDays = ReadonlyMap<string, CountedDay>;

/** @returns a sentence for each day on which a count and what the log says differ. */
export const differencesOf = (counted: CountedDays, log: CountedDays): readonly string[] =>
  [...new Set([...counted.keys(), ...log.keys()])].toSorted().flatMap((day) => {
    const [one, other] = [counted.get(day), log.get(day)];
    if (one?.recipients !== other?.recipients)
      return [`${day}: counted ${one?.recipients ?? 0} recipients, but the log has ${other?.recipients ?? 0}`];
    return one?.after === other?.after ? [] : [`${day}: the counted events do not begin where the log has them`];
  });

const countedIn = (days: CountedDays, { from, to }: Part): readonly CountedDay[] =>
  [...days].flatMap(([day, counted]) => (day >= from && day < to ? [counted] : []));

const recipientsOf = (counted: readonly CountedDay[]): number =>
  counted.reduce((sum, { recipients }) => sum + recipients, 0);

const linesOf = (days: CountedDays, part: Part, countedTo: Position): readonly InvoiceLine[] => {
  const share = shareOf(part);
  const counted = countedIn(days, part);
  const recipients = recipientsOf(counted);
  const [after = countedTo] = counted.map((day) => day.after).toSorted();
  return [
    { ...part, kind: 'plan', quantity: share.days, after, amount: priceOf(part.plan, share) },
    { ...part, kind: 'recipients', quantity: recipients, after, amount: overageOf(part.plan, share, recipients) },
  ];
};

/** Corrects one part of an earlier month: the current count minus everything that earlier invoices stated for it. */
const lateLine = (
  days: CountedDays,
  stated: readonly [InvoiceLine, ...InvoiceLine[]],
  after: Position,
): readonly InvoiceLine[] => {
  const [{ month, from, to, plan }] = stated;
  const part: Part = { month, from, to, plan };
  const sum = (field: 'quantity' | 'amount'): number => stated.reduce((all, one) => all + one[field], 0);
  const counted = recipientsOf(countedIn(days, part));
  const quantity = counted - sum('quantity');
  if (quantity === 0) return [];
  const charged = sum('amount');
  const amount = overageOf(plan, shareOf(part), counted) - charged;
  return [{ ...part, kind: 'late_recipients', quantity, after, amount, counted, charged }];
};

const lateLines = (days: CountedDays, earlier: readonly Invoice[], since: Month): readonly InvoiceLine[] => {
  const after = earlier[0]?.countedTo.position ?? LOG_START;
  const stated = earlier.flatMap(({ lines }) => lines.filter(({ kind, month }) => kind !== 'plan' && month >= since));
  const byPart = Map.groupBy(stated, ({ month, from }) => `${month} ${from}`);
  return [...byPart.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : lateLine(days, [first, ...others], after),
  );
};

/** Months after which late facts are no longer invoiced. Scheduling and retries of mail end in less than two. */
export const LATE_MONTHS = 3;

/** Facts about an organization that its invoices need. */
export interface BilledOrganization {
  readonly organizationId: string;
  readonly createdAt: string;
  readonly chosenPlans: readonly ChosenPlan[];
  readonly settings: { readonly customer: Customer | null };
}

/** Enough letters of the organization's id that numbers of two organizations differ. */
const ID_CHARACTERS = 10;
const DIGITS = 4;
const MONTHS_A_YEAR = 12;

const monthsUntil = (month: Month): number =>
  Number(month.slice(0, 'YYYY'.length)) * MONTHS_A_YEAR + Number(month.slice('YYYY-'.length));

/**
 * The number of a month's invoice, consecutive within its organization: each month since the creation is closed once, in
 * order, with one invoice.
 */
const numberOf = ({ organizationId, createdAt }: BilledOrganization, month: Month, prefix: string | null): string => {
  const id = organizationId.slice('org_'.length, 'org_'.length + ID_CHARACTERS).toUpperCase();
  const count = monthsUntil(month) - monthsUntil(monthOf(createdAt)) + 1;
  return `${prefix ?? ''}${id}-${String(count).padStart(DIGITS, '0')}`;
};

interface InvoicedParties {
  readonly billed: BilledOrganization;
  readonly issuer: Issuer | undefined;
  readonly month: Month;
  readonly total: number;
}

/** Tax is added only on an invoice, which names both parties. */
const partiesOf = ({ billed, issuer, month, total }: InvoicedParties): Partial<Invoice> => {
  const { customer } = billed.settings;
  const number = numberOf(billed, month, issuer?.numberPrefix ?? null);
  if (issuer === undefined) return { number, ...(customer === null ? {} : { customer }) };
  const { name, address, taxId: id, tax } = issuer;
  const shown = { number, issuer: { name, address, taxId: id } };
  if (customer === null) return shown;
  return { ...shown, customer, ...(tax === null ? {} : { tax: { ...tax, amount: percentOf(total, tax.rate) } }) };
};

export interface CloseInvoice {
  readonly billed: BilledOrganization;
  readonly plans: Pick<Plans, 'default' | 'issuer'>;
  readonly period: Period;
  /** Days of this month and of the months of `earlier`, from the log up to `countedTo`. */
  readonly days: CountedDays;
  readonly countedTo: Invoice['countedTo'];
  /** Invoices of up to `LATE_MONTHS` earlier months, the latest first. */
  readonly earlier: readonly Invoice[];
  /** The first of those months. */
  readonly since: Month;
}

const currencyOf = (lines: readonly InvoiceLine[]): string =>
  (lines.find(({ amount }) => amount !== 0) ?? lines.at(-1))?.plan.currency ?? 'EUR';

/** Closes a month once. */
export const closeInvoice = (state: BillingPeriod, command: CloseInvoice): readonly BillingPeriodEvent[] => {
  if (state.invoice !== null) return [];
  const { billed, plans, period, days, countedTo, earlier, since } = command;
  const { organizationId } = billed;
  const { month } = period;
  const parts = partsOf(period, billed, plans);
  const current = parts.flatMap((part) => linesOf(days, part, countedTo.position));
  const late = lateLines(days, earlier, since);
  const currency = currencyOf([...current, ...late]);
  // An amount in another currency cannot be added. Only the operator can change the currency, from a month to the next.
  const lines = [...current, ...late.filter(({ amount, plan }) => amount === 0 || plan.currency === currency)];
  const total = lines.reduce((sum, { amount }) => sum + amount, 0);
  const invoiceId = invoiceIdOf(organizationId, month);
  const parties = partiesOf({ billed, issuer: plans.issuer, month, total });
  const data = { organizationId, invoiceId, month, currency, lines, total, countedTo, ...parties };
  return [{ type: 'InvoiceClosed', data }];
};
