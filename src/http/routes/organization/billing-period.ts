import { timeOf } from '../../validation/time.ts';

/** A calendar month in UTC. */
export interface BillingPeriod {
  /** ISO 8601. */
  readonly start: string;
  readonly end: string;
}

const MONTH = /^(\d{4})-(0[1-9]|1[0-2])$/;

/** @param month 1 to 12. @returns null where it does not begin and end in years that times can have. */
const periodOf = (year: number, month: number): BillingPeriod | null => {
  // `Date.UTC` takes the years 0 to 99 for those of the twentieth century.
  const start = year < 100 ? null : timeOf(Date.UTC(year, month - 1));
  const end = timeOf(Date.UTC(year, month));
  return start === null || end === null ? null : { start, end };
};

/** @param text `2026-11`. @returns null where it is no month, or one before 1970-01 or after 9999-11. */
export const billingPeriod = (text: string): BillingPeriod | null => {
  const [, year, month] = MONTH.exec(text) ?? [];
  return year === undefined ? null : periodOf(Number(year), Number(month));
};

/** The month that a time lies in. @throws {RangeError} the clock is outside those years. */
export const periodAround = (time: Date): BillingPeriod => {
  const period = periodOf(time.getUTCFullYear(), time.getUTCMonth() + 1);
  if (period === null) throw new RangeError('the clock is wrong');
  return period;
};

/** As the read model wants it. */
export const datesOf = ({ start, end }: BillingPeriod): { readonly start: string; readonly end: string } => ({
  start: start.slice(0, 'YYYY-MM-DD'.length),
  end: end.slice(0, 'YYYY-MM-DD'.length),
});
