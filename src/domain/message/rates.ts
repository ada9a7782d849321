/**
 * Rates of recipients' outcomes. This is their only definition: the API, its tables, the dashboard, the command
 * line, the views for analysts and the Grafana dashboard all show the same number for the same mail.
 */

/** Each outcome that has a rate, and the recipients that it is divided by. */
export const RATES = {
  delivered: 'accepted',
  deferred: 'accepted',
  bounced: 'accepted',
  opened: 'delivered',
  clicked: 'delivered',
  complained: 'delivered',
  unsubscribed: 'delivered',
} as const;
export type RateDefinitions = typeof RATES;
export type Rate = keyof RateDefinitions;

export const RATE_NAMES = Object.keys(RATES) as readonly Rate[]; // its very names

export const isRate = (name: string): name is Rate => Object.hasOwn(RATES, name);

/** 0.9873, to within a millionth. Fewer: rare complaints become 0. More: noise. */
const RATE_DIGITS = 6;

type Counts = Readonly<Record<Rate | RateDefinitions[Rate], number>>;

/** @returns null if there are no recipients to divide by. */
export const rateOf = (counts: Counts, name: Rate): number | null => {
  const of = counts[RATES[name]];
  return of === 0 ? null : Number((counts[name] / of).toFixed(RATE_DIGITS));
};
