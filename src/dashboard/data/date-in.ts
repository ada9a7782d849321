/** Reads dates as people type them. */

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

const CLOCK = String.raw`(?:[\sT,]+(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d))?)?`;
const ISO = new RegExp(String.raw`^(?<year>\d{4})-(?<month>\d{1,2})-(?<day>\d{1,2})${CLOCK}$`, 'i');
const WORDS = new RegExp(
  String.raw`^(?<day>\d{1,2})\.?\s+(?<name>[a-z]{3})[a-z]*\.?(?:\s+(?<year>\d{4}))?${CLOCK}$`,
  'i',
);
const AGO = /^(?<count>\d{1,4})\s*(?<unit>m|h|d|w)[a-z]*(?:\s+ago)?$/i;
/** ISO 8601 with its offset from UTC. */
const WITH_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/i;
const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

interface DateOptions {
  /** false: the time zone of the browser. */
  readonly isUtc: boolean;
  /** false: the start of the day. */
  readonly hasTime: boolean;
  /** Unix time in milliseconds. */
  readonly now?: number;
}

type Parts = readonly [year: number, month: number, day: number, hour: number, minute: number, second: number];

const at = (parts: Parts, isUtc: boolean): Date => (isUtc ? new Date(Date.UTC(...parts)) : new Date(...parts));

const partsOf = (date: Date, isUtc: boolean): Parts =>
  isUtc
    ? [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes(), 0]
    : [date.getFullYear(), date.getMonth(), date.getDate(), date.getHours(), date.getMinutes(), 0];

/** The start of the day. */
const startOf = ([year, month, day]: Parts): Parts => [year, month, day, 0, 0, 0];

const monthOf = ({ month, name }: Readonly<Record<string, string | undefined>>): number =>
  name === undefined ? Number(month) - 1 : MONTHS.indexOf(name.toLowerCase());

/** null: no such date, such as 31 February. */
const written = (typed: string, thisYear: number, isUtc: boolean): Date | null => {
  const groups = (ISO.exec(typed) ?? WORDS.exec(typed))?.groups;
  if (groups === undefined) return null;
  const { day, hour = '0', minute = '0', second = '0', year = String(thisYear) } = groups;
  const parts: Parts = [Number(year), monthOf(groups), Number(day), Number(hour), Number(minute), Number(second)];
  const date = at(parts, isUtc);
  const [readYear, readMonth, readDay, readHour, readMinute] = partsOf(date, isUtc);
  const isSame = [readYear, readMonth, readDay, readHour, readMinute].every((part, index) => part === parts[index]);
  return isSame ? date : null;
};

const withOffset = (typed: string): Date | null => {
  const date = WITH_OFFSET.test(typed) ? new Date(typed) : null;
  return date === null || Number.isNaN(date.getTime()) ? null : date;
};

/** The start of a day. */
const dayBefore = (days: number, now: number, isUtc: boolean): Date => {
  const [year, month, day] = partsOf(new Date(now), isUtc);
  return at([year, month, day - days, 0, 0, 0], isUtc);
};

const relative = (typed: string, now: number, isUtc: boolean): Date | null => {
  if (typed === 'now') return new Date(now);
  if (typed === 'today') return dayBefore(0, now, isUtc);
  if (typed === 'yesterday') return dayBefore(1, now, isUtc);
  const { count, unit } = AGO.exec(typed)?.groups ?? {};
  return count === undefined
    ? null
    : new Date(now - Number(count) * UNIT_MS[unit?.toLowerCase() as keyof typeof UNIT_MS]);
};

/**
 * Converts `28 Nov 2026, 14:05`, `2026-11-28`, `28 Nov` of this year, `yesterday` (its start), or `3d` for three days ago
 * to ISO 8601; null: not a date.
 */
export const dateIn = (text: string, { isUtc, hasTime, now = Date.now() }: DateOptions): string | null => {
  const typed = text.trim();
  const [thisYear] = partsOf(new Date(now), isUtc);
  const date = relative(typed.toLowerCase(), now, isUtc) ?? withOffset(typed) ?? written(typed, thisYear, isUtc);
  if (date === null) return null;
  return (hasTime ? date : at(startOf(partsOf(date, isUtc)), isUtc)).toISOString();
};
