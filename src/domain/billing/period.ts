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

const dateOf = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 'YYYY-MM-DD'.length);

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
  if (period === null) throw new RangeError(`${month} is no month that could be billed`);
  return period;
};

export const nextMonth = (month: Month): Month => monthOf(requirePeriod(month).end);

export const previousMonth = (month: Month): Month => monthOf(dateOf(Date.parse(`${month}-01`) - DAY_MS));

/** Number of days between two dates. */
export const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / DAY_MS;
