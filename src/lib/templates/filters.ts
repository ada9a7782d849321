import type { Liquid } from 'liquidjs';
import { isOnCalendar } from './calendar.ts';

/**
 * Our own filters, for values shown in the language of the mail's reader. They replace those that format by `strftime`.
 */

/** Cached formatters, each of which takes tens of microseconds to make. */
const FORMATTERS_MAX = 200;

const remembered = <Formatter>(make: (key: string) => Formatter): ((key: string) => Formatter) => {
  const made = new Map<string, Formatter>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const formatter = make(key);
    if (made.size >= FORMATTERS_MAX) made.clear();
    made.set(key, formatter);
    return formatter;
  };
};

const STYLES = ['full', 'long', 'medium', 'short'] as const;
type Style = (typeof STYLES)[number];
const isStyle = (text: string): text is Style => (STYLES as readonly string[]).includes(text);

const dates = remembered((key) => {
  const [locale = '', dateStyle = 'medium', timeStyle = '', timeZone = 'UTC'] = key.split('|');
  return new Intl.DateTimeFormat(locale, {
    timeZone,
    ...(isStyle(dateStyle) ? { dateStyle } : {}),
    ...(isStyle(timeStyle) ? { timeStyle } : {}),
  });
});

const numbers = remembered((key) => {
  const [locale = '', digits = '', currency = ''] = key.split('|');
  return new Intl.NumberFormat(locale, {
    ...(digits === '' ? {} : { minimumFractionDigits: Number(digits), maximumFractionDigits: Number(digits) }),
    ...(currency === '' ? {} : { style: 'currency', currency }),
  });
});

const DIGITS_MAX = 10;

const number = (value: unknown): number => {
  const found = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof found !== 'number' || !Number.isFinite(found))
    throw new Error(`'${String(value).slice(0, 50)}' is not a number`);
  return found;
};

const CALENDAR_DATE = /^\d{4}-\d{2}-\d{2}$/;
/** A time without an offset would be read in the time zone of the machine. */
const WITHOUT_OFFSET = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?$/;

const moment = (text: string): Date => {
  const found = new Date(WITHOUT_OFFSET.test(text) ? `${text}Z` : text);
  const isWrong = text === 'now' || Number.isNaN(found.getTime()) || !isOnCalendar(text);
  if (isWrong) throw new Error(`'${text.slice(0, 50)}' is not a date`);
  return found;
};

const style = (value: unknown, name: string): string => {
  const text = String(value);
  if (isStyle(text) || text === 'none') return text;
  throw new Error(`${name} must be one of ${[...STYLES, 'none'].join(', ')}`);
};

const known = <Formatter>(make: () => Formatter, what: string): Formatter => {
  try {
    return make();
  } catch {
    throw new Error(`unknown ${what}`);
  }
};

interface Filter {
  readonly context: { readonly environments: object };
}

const localeOf = (filter: Filter): string =>
  (filter.context.environments as { readonly $locale?: string }).$locale ?? 'en';

const isMissing = (value: unknown): boolean => value === undefined || value === null || value === '';

const formatDate = (locale: string, value: unknown, styles: readonly unknown[]): string => {
  const [dateStyle = 'medium', timeStyle = 'none', zone = 'UTC'] = styles;
  const styled = [locale, style(dateStyle, 'the style of a date'), style(timeStyle, 'the style of a time')];
  const formatterIn = (where: unknown) =>
    known(() => dates([...styled, where].join('|')), `time zone '${String(where).slice(0, 50)}'`);
  const formatter = formatterIn(zone);
  const text = String(value);
  // A calendar day is the same day everywhere.
  return (CALENDAR_DATE.test(text) ? formatterIn('UTC') : formatter).format(moment(text));
};

const formatNumber = (locale: string, value: unknown, digits: unknown): string => {
  const isRight =
    digits === '' || (typeof digits === 'number' && Number.isInteger(digits) && digits >= 0 && digits <= DIGITS_MAX);
  if (!isRight) throw new Error(`number takes 0 to ${DIGITS_MAX} digits`);
  return numbers([locale, digits].join('|')).format(number(value));
};

const formatMoney = (locale: string, value: unknown, currency: unknown): string => {
  if (!/^[A-Z]{3}$/.test(String(currency))) throw new Error('money needs a currency, such as "EUR"');
  return numbers([locale, '', currency].join('|')).format(number(value));
};

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** Memory units per character: segmenting takes ten times as long as other filters. */
const SEGMENTING_UNITS = 10;
/** Each of these is a character of its own. Most text consists of them, and needs no segmenting. */
const PLAIN = /^[\t\n -~]*$/;

interface FilterImpl {
  readonly context: { readonly memoryLimit: { use(units: number): void } };
}

const textOf = (value: unknown): string => (isMissing(value) ? '' : String(value));
const countOf = (value: unknown): number => Number(value) || 0;

const segmentsOf = ({ context: { memoryLimit } }: FilterImpl, text: string): string[] => {
  memoryLimit.use(text.length * SEGMENTING_UNITS);
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
};

/** The offset after this many characters. Reads no more of the text. */
const offsetAfter = ({ context: { memoryLimit } }: FilterImpl, text: string, count: number): number => {
  let seen = 0;
  for (const { index, segment } of graphemes.segment(text)) {
    if (seen >= count) return index;
    seen += 1;
    memoryLimit.use(segment.length * SEGMENTING_UNITS);
  }
  return text.length;
};

const sliceText = (filter: FilterImpl, text: string, begin: number, length: number): string => {
  const from = begin < 0 ? segmentsOf(filter, text).length + begin : begin;
  if (from < 0 || length < 0) return '';
  const rest = text.slice(offsetAfter(filter, text, from));
  return rest.slice(0, offsetAfter(filter, rest, length));
};

const truncateText = (filter: FilterImpl, text: string, length: number, ellipsis: string): string => {
  if (offsetAfter(filter, text, length) >= text.length) return text;
  const kept = Math.max(length - segmentsOf(filter, ellipsis).length, 0);
  return text.slice(0, offsetAfter(filter, text, kept)) + ellipsis;
};

/** @returns undefined to use liquidjs's own filter. */
type Cut = (filter: FilterImpl, text: string, ...more: unknown[]) => unknown;

/**
 * liquidjs cuts at UTF-16 units or code points, which would show half an emoji, or an accent without its letter, as a
 * box.
 */
const CUTS: Readonly<Record<string, Cut>> = {
  split: (filter, text, separator) => (separator === '' ? segmentsOf(filter, text) : undefined),
  replace: (filter, text, pattern, replacement) =>
    pattern === '' ? segmentsOf(filter, text).join(textOf(replacement)) : undefined,
  slice: (filter, text, begin, length = 1) => sliceText(filter, text, countOf(begin), countOf(length)),
  truncate: (filter, text, length = 50, ellipsis = '...') =>
    truncateText(filter, text, countOf(length), textOf(ellipsis)),
  first: (filter, text) => sliceText(filter, text, 0, 1),
  last: (filter, text) => sliceText(filter, text, -1, 1),
};

const addCuts = (liquid: Liquid): void => {
  for (const [name, cut] of Object.entries(CUTS)) {
    const original = liquid.filters[name];
    if (typeof original !== 'function') throw new Error(`liquidjs has no filter '${name}'`);
    liquid.registerFilter(name, function (value, ...more) {
      const text = textOf(value);
      const isPlain = Array.isArray(value) || PLAIN.test(text);
      return (isPlain ? undefined : cut(this, text, ...more)) ?? original.call(this, value, ...more);
    });
  }
};

/**
 * `{{ due | date: "long" }}`, `{{ at | date: "medium", "short", "Europe/Berlin" }}`, `{{ total | money: "EUR" }}`,
 * `{{ n | number: 2 }}`.
 */
export const addFilters = (liquid: Liquid): void => {
  addCuts(liquid);
  liquid.registerFilter('date', function (this: Filter, value, ...styles) {
    return isMissing(value) ? '' : formatDate(localeOf(this), value, styles);
  });
  liquid.registerFilter('number', function (this: Filter, value, digits = '') {
    return isMissing(value) ? '' : formatNumber(localeOf(this), value, digits);
  });
  liquid.registerFilter('money', function (this: Filter, value, currency = '') {
    return isMissing(value) ? '' : formatMoney(localeOf(this), value, currency);
  });
};
