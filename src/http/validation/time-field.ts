import { z } from 'zod';
import { timeParameter } from './query.ts';

const WITH_ZONE = /T.*(?:Z|[+-]\d{2}:\d{2})$/;

/** A field of a body: an instant in ISO 8601. Parsed, it is in UTC with milliseconds. A date alone is 24 hours long. */
export const timeField = () =>
  z
    .string()
    .refine((text) => WITH_ZONE.test(text), 'must be a time in ISO 8601 with its zone, 2026-01-31T12:00:00Z')
    .pipe(timeParameter())
    .meta({ format: 'date-time' });
