import type { ClosedInvoice } from '../../commands/billing.ts';
import { shareOf } from '../../domain/billing/invoice.ts';
import { chargeableOf, type InvoiceLine, includedIn, type Plan, requirePeriod } from '../../domain/billing/plan.ts';

/** Facts from which a person can recompute each line of an invoice, and the calculation in words. */

const digitsOf = (currency: string): number =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 0;

/** Moves the decimal point to the left, as text, so that the result is exact. @param amount decimal digits. */
const shifted = (amount: string, digits: number): string => {
  const [whole = '0', fraction = ''] = amount.split('.');
  const padded = whole.padStart(digits + 1, '0');
  const parts = `${padded.slice(padded.length - digits)}${fraction}`;
  const decimals = digits === 0 ? fraction : parts.replace(/0+$/, '').padEnd(digits, '0');
  const shown = BigInt(padded.slice(0, padded.length - digits)).toLocaleString('en');
  return decimals === '' ? shown : `${shown}.${decimals}`;
};

/** Exact amount of minor units, such as `-1,287.50 EUR`. */
export const money = (amount: number, currency: string): string =>
  `${amount < 0 ? '-' : ''}${shifted(String(Math.abs(amount)), digitsOf(currency))} ${currency}`;

/** Exact rate per 1,000 recipients. @param rate decimal string of minor units. */
const rateMoney = ({ overagePer1000: rate, currency }: Pick<Plan, 'overagePer1000' | 'currency'>): string =>
  `${shifted(rate, digitsOf(currency))} ${currency}`;

/** A document without both parties is no invoice. */
export const titleOf = ({ issuer, customer }: ClosedInvoice['invoice']): 'Invoice' | 'Usage statement' =>
  issuer === undefined || customer === undefined ? 'Usage statement' : 'Invoice';

/** First day of the period: the organization's first one begins with the organization. */
export const startOf = ({ month, lines }: ClosedInvoice['invoice']): string => {
  const { start } = requirePeriod(month);
  return (
    lines
      .filter((line) => line.month === month)
      .map(({ from }) => from)
      .toSorted()[0] ?? start
  );
};

/** `counted`: recipients that the line charges for, of `late_recipients` the current count. null: not recorded. */
const countedBy = ({ kind, quantity, counted }: InvoiceLine): number | null =>
  kind === 'late_recipients' ? (counted ?? null) : quantity;

/** The numbers of a line's calculation. Those that do not apply to it are null. */
export const factsOf = (line: InvoiceLine) => {
  const { kind, plan } = line;
  const share = shareOf(line);
  const counted = countedBy(line);
  if (kind === 'plan') {
    return {
      unit: 'days' as const,
      days: share.days,
      days_of_month: share.ofDays,
      price: plan.price,
      rate_per_1000: null,
      counted: null,
      included: null,
      chargeable: null,
      already_charged: null,
    };
  }
  return {
    unit: 'recipients' as const,
    days: share.days,
    days_of_month: share.ofDays,
    price: null,
    rate_per_1000: plan.overagePer1000,
    counted,
    included: includedIn(plan, share),
    chargeable: counted === null ? null : chargeableOf(plan, share, counted),
    already_charged: kind === 'late_recipients' ? (line.charged ?? null) : null,
  };
};

const number = (value: number): string => value.toLocaleString('en');

/** `1 day`, `9,212 recipients`. @param unit the plural. */
export const quantityOf = (value: number, unit: 'days' | 'recipients'): string =>
  `${number(value)} ${value === 1 ? unit.slice(0, -1) : unit}`;

/** Recipients included in the days of a line; null: all. */
const includedWords = ({ plan, ...line }: InvoiceLine): string | null => {
  const share = shareOf(line);
  const included = includedIn(plan, share);
  if (included === null || plan.included === null) return null;
  const { days, ofDays } = share;
  const part = days === ofDays ? '' : ` (${number(plan.included)} x ${days} / ${ofDays} days, rounded up)`;
  return `${number(included)} included${part}`;
};

const overageWords = (counted: number, chargeable: number, line: InvoiceLine): string => {
  const included = includedWords(line);
  const recipients = quantityOf(counted, 'recipients');
  if (included === null) return `${recipients}, all included`;
  if (chargeable === 0) return `${recipients}, ${included}: nothing to charge`;
  return `${recipients} - ${included} = ${number(chargeable)} x ${rateMoney(line.plan)} / 1,000`;
};

/** The calculation of a line in words. Each line is rounded once. */
export const calculationOf = (line: InvoiceLine): string => {
  const { days, days_of_month: ofDays, counted, chargeable, already_charged: charged } = factsOf(line);
  const { plan, kind, amount, quantity } = line;
  const total = money(amount, plan.currency);
  if (kind === 'plan') return `${money(plan.price, plan.currency)} x ${days} / ${ofDays} days = ${total}`;
  if (counted === null || chargeable === null)
    return `${quantityOf(quantity, 'recipients')} since the earlier invoice = ${total}`;
  const words = overageWords(counted, chargeable, line);
  if (charged === null) return chargeable === 0 ? words : `${words} = ${total}`;
  return `${words}, less ${money(charged, plan.currency)} already charged = ${total}`;
};
