import { z } from 'zod';
import { timeOf } from './time.ts';

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

const parseTime = (text: string): string | null => (TIME.test(text) ? timeOf(Date.parse(text)) : null);

/** A time in ISO 8601 in the years 1970 to 9999, or a date for its midnight in UTC. */
export const timeParameter = () =>
  z
    .string()
    .refine(
      (text) => parseTime(text) !== null,
      'must be a time in ISO 8601 in the years 1970 to 9999, 2026-01-31T12:00:00Z',
    )
    .transform((text) => parseTime(text) ?? '');

/** What every list takes. */
export const pageParameters = {
  limit: integerParameter(1, PAGE_MAX).default(PAGE_DEFAULT),
  after: z.string().max(CURSOR_CHARACTERS_MAX).optional(),
};
