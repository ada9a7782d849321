import { z } from 'zod';
import { timeOf } from './time.ts';
import type { Problem } from './wording.ts';

const PAGE_DEFAULT = 25;
const PAGE_MAX = 100;
/** Ours are shorter. */
const CURSOR_CHARACTERS_MAX = 512;

/** An integer as a query parameter says it. */
export const integerParameter = (minimum: number, maximum: number) =>
  z
    .string()
    .refine(
      (text) => /^\d{1,9}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum,
      `must be an integer between ${minimum} and ${maximum}`,
    )
    .transform(Number)
    .meta({ type: 'integer', minimum, maximum });

const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

const DATE_CHARACTERS = '2026-01-31'.length;

/** `Date.parse` takes the 30th of February for the 2nd of March. */
const isDay = (date: string): boolean => timeOf(Date.parse(date))?.startsWith(date) ?? false;

const parseTime = (text: string): string | null =>
  TIME.test(text) && isDay(text.slice(0, DATE_CHARACTERS)) ? timeOf(Date.parse(text)) : null;

/** A time in ISO 8601 in the years 1970 to 9999, or a date for its midnight in UTC. */
export const timeParameter = () =>
  z
    .string()
    .refine(
      (text) => parseTime(text) !== null,
      'must be a time in ISO 8601 in the years 1970 to 9999, 2026-01-31T12:00:00Z',
    )
    .transform((text) => parseTime(text) ?? '');

/** PostgreSQL's text cannot hold NUL, and nothing that is looked for has one. */
export const nulProblems = (query: unknown): readonly Problem[] =>
  Object.entries(query ?? {})
    .filter(([, value]) => [value].flat().some((one) => typeof one === 'string' && one.includes('\0')))
    .map(([name]) => [name, `${name} must not contain NUL`]);

/** What every list takes. */
export const pageParameters = {
  limit: integerParameter(1, PAGE_MAX).default(PAGE_DEFAULT).describe(`Items of a page; ${PAGE_DEFAULT} when absent.`),
  after: z.string().max(CURSOR_CHARACTERS_MAX).optional().describe('`next_cursor` of the page before.'),
};
