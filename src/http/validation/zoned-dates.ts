import { z } from 'zod';
import { isTimeParameter, timeOf } from './fields.ts';

/**
 * Dates without a time in requests. A date is a day of the time zone that the request names, or of the organization's:
 * `since=2026-11-27` begins at that day's midnight there. The validation leaves dates as they are, since it does not know
 * who asks. `defineEndpoint` turns them into times for all routes.
 */

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;

export const isDate = (text: string): boolean => DATE.test(text);

const OFFSET = /^GMT(?:(?<sign>[+-])(?<hours>\d{2}):(?<minutes>\d{2})(?::(?<seconds>\d{2}))?)?$/;

/** How far the clocks of a zone are ahead of UTC. */
const offsetMs = (zone: string, ms: number): number => {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  const name = format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT';
  const { sign, hours = '0', minutes = '0', seconds = '0' } = OFFSET.exec(name)?.groups ?? {};
  const size = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  return sign === '-' ? -size : size;
};

/** Midnight of a day by the clocks of a zone. If these skip midnight: when they skip it. */
const midnightMs = (date: string, zone: string, daysLater = 0): number => {
  const utcMs = Date.parse(date) + daysLater * DAY_MS;
  const before = offsetMs(zone, utcMs - DAY_MS);
  const candidates = [before, offsetMs(zone, utcMs + DAY_MS)].map((offset) => ({ offset, ms: utcMs - offset }));
  return candidates.find(({ offset, ms }) => offsetMs(zone, ms) === offset)?.ms ?? utcMs - before;
};

/** Days at the ends of the range that storage supports are cut there. */
const within = (ms: number): string => timeOf(ms) ?? (ms < 0 ? '1970-01-01T00:00:00.000Z' : '9999-12-31T23:59:59.999Z');

/** When a day begins. ISO 8601. */
export const startOfDay = (date: string, zone: string): string => within(midnightMs(date, zone));

/** The last millisecond of a day. ISO 8601. */
export const endOfDay = (date: string, zone: string): string => within(midnightMs(date, zone, 1) - 1);

/** Fields of a schema that accept a date, by name; those of an object within it have fields of their own. */
export type DateFields = ReadonlyMap<string, DateFields | null>;

interface Wrapped extends z.core.$ZodTypeDef {
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
}

/** null: it is a time parameter; undefined: it holds none. */
const fieldsOf = (schema: z.core.$ZodType): DateFields | null | undefined => {
  if (isTimeParameter(schema)) return null;
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries(schema.shape as Readonly<Record<string, z.core.$ZodType>>).flatMap(
      ([name, field]) => {
        const found = fieldsOf(field);
        return found === undefined ? [] : [[name, found] as const];
      },
    );
    return fields.length === 0 ? undefined : new Map(fields);
  }
  const wrapped = schema._zod.def as Wrapped; // of an optional, a default, a pipe; others have neither
  const inner = wrapped.innerType ?? wrapped.in;
  return inner === undefined ? undefined : fieldsOf(inner);
};

const NONE: DateFields = new Map();

/** Fields that `readDates` reads, found once for each route. */
export const dateFieldsOf = (schema: z.core.$ZodType): DateFields => fieldsOf(schema) ?? NONE;

const readOne = (fields: DateFields | null, value: unknown, zone: string): unknown => {
  if (fields === null) return typeof value === 'string' && isDate(value) ? startOfDay(value, zone) : value;
  return typeof value === 'object' && value !== null ? readDates(fields, value, zone) : value;
};

/** A valid body or query with its dates as times. */
export const readDates = <Value>(fields: DateFields, value: Value, zone: string): Value => {
  if (fields.size === 0 || typeof value !== 'object' || value === null) return value;
  const read = Object.entries(value).map(([name, one]) => {
    const inner = fields.get(name);
    return [name, inner === undefined ? one : readOne(inner, one, zone)] as const;
  });
  return Object.fromEntries(read) as Value; // the same names, and strings in place of strings
};
