import { z } from 'zod';
import { ERROR_CATALOGUE, type ErrorCode } from '../domain/kernel/errors.ts';
import { type IdPrefix, idPattern } from '../domain/kernel/ids.ts';
import { unsubscribeUrlProblem } from '../domain/message/draft.ts';
import { asciiDomain } from '../lib/mime/mime.ts';
import type { Problem } from './problems.ts';

/** Fields that requests and answers of many resources share, and the dates in them. */

/** ISO 8601 in UTC with milliseconds. */
export const timeSchema = () => z.iso.datetime({ precision: 3 });

const asOfSchema = z.strictObject({
  time: timeSchema().describe('Time of the last event at or before the requested moment.'),
  leaf_index: z.number().int().describe('Index of that event in the audit log.'),
});
/** The moment of the log at which a resource was read. */
export type AsOf = z.infer<typeof asOfSchema>;

/** Field added to responses that support `at`. */
export const asOfFields = () => ({
  as_of: asOfSchema.optional().describe('Moment that the response describes. Present only if the request has `at`.'),
});

/** A page of a list. */
export const listSchema = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  });

/** Field of a list that may be read while its read model lags. */
export const completeUntilField = () => ({
  complete_until: timeSchema()
    .optional()
    .describe('Present while the list lags: everything recorded until this time is included.'),
});

/** Decides between an incomplete list and an error while the read model lags. */
export const consistencyParameter = () =>
  z
    .literal('strict')
    .optional()
    .describe(
      '`strict`: respond with `503` while the list lags, as during an upgrade. Default: return what the list has, with `complete_until`.',
    );

export interface List<Item> {
  readonly object: 'list';
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
  /** The list lags: everything recorded until this time is in it. */
  readonly complete_until?: string;
}

export const listOf = <Item>(data: readonly Item[], hasMore: boolean, cursor: string | null): List<Item> => ({
  object: 'list',
  data,
  has_more: hasMore,
  next_cursor: cursor,
});

/** An HTML page. */
export const pageSchema = z.string().meta({ id: 'Page' });

export const errorCodeSchema = z.enum(Object.keys(ERROR_CATALOGUE) as readonly ErrorCode[]); // the keys of that very object

/** The body of every error (spec §2). */
export const errorSchema = z
  .strictObject({
    error: z.strictObject({
      message: z.string(),
      code: errorCodeSchema,
      details: z.record(z.string(), z.array(z.string())).optional(),
      retry_after: z.number().int().optional(),
    }),
  })
  .meta({ id: 'Error' });

const EARLIEST_MS = 0;
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * ISO 8601 in UTC; null outside the years 1970 to 9999, the range that storage, comparison and display all support.
 */
export const timeOf = (ms: number): string | null =>
  ms >= EARLIEST_MS && ms <= LATEST_MS ? new Date(ms).toISOString() : null;

const PAGE_DEFAULT = 25;
const PAGE_MAX = 100;
/** Longer than any valid cursor. */
const CURSOR_CHARACTERS_MAX = 512;

/** An integer in a query parameter. */
export const integerParameter = (minimum: number, maximum: number) =>
  z
    .string()
    .refine(
      (text) => /^\d{1,9}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum,
      `must be an integer between ${minimum} and ${maximum}`,
    )
    .transform(Number)
    .meta({ type: 'integer', minimum, maximum });

export const REQUEST_ID_PATTERN = '^req_[0-9a-f]{32}$';
/** A template is known by its alias too (`isAlias`). */
export const TEMPLATE_PATTERN = `${idPattern('tpl')}|^[a-z0-9-]{1,64}$`;

const twentySix = (prefix: IdPrefix): string => `${prefix}_ followed by 26 characters`;

/** Filters by it find what was rendered from no template. An alias has no parentheses. */
export const NO_TEMPLATE = '(none)';

/** Forms of ids that lists are filtered by, each with what to use instead of a value of another form. */
const FILTER_IDS = {
  message: [idPattern('msg'), `a message id, ${twentySix('msg')}: GET /v1/messages lists them`],
  internetMessage: [
    '^\\s*<?[^\\s<>@]+@[^\\s<>@]+>?\\s*$',
    'a Message-ID, such as <msg_…@example.com>: to get a message by its id, use GET /v1/messages/<id>',
  ],
  domain: [idPattern('dom'), `a domain id, ${twentySix('dom')}: GET /v1/domains lists them`],
  key: [idPattern('key'), `an API key id, ${twentySix('key')}: GET /v1/api-keys lists them`],
  sender: [
    `${idPattern('key')}|${idPattern('mbr')}`,
    `an API key id, ${twentySix('key')}, or a member id, ${twentySix('mbr')}: GET /v1/api-keys and GET /v1/members list them`,
  ],
  member: [idPattern('mbr'), `a member id, ${twentySix('mbr')}: GET /v1/members lists them`],
  template: [
    `${TEMPLATE_PATTERN}|^\\(none\\)$`,
    `a template id, ${twentySix('tpl')}, an alias of the characters a-z, 0-9 and - (GET /v1/templates lists them), or ${NO_TEMPLATE}`,
  ],
  request: [REQUEST_ID_PATTERN, 'the X-Request-Id of a response, req_ followed by 32 characters'],
} as const;

/**
 * An id in a query parameter. A value that no resource of the kind can have is an error: a list without items would hide
 * a mistyped value.
 */
export const idParameter = (kind: keyof typeof FILTER_IDS) => {
  const [pattern, words] = FILTER_IDS[kind];
  const form = new RegExp(pattern);
  return z
    .string()
    .refine((text) => form.test(text), `must be ${words}`)
    .meta({ pattern })
    .optional();
};

const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

const DATE_CHARACTERS = '2026-01-31'.length;

/** `Date.parse` accepts 30 February as 2 March. */
const isDay = (date: string): boolean => timeOf(Date.parse(date))?.startsWith(date) ?? false;

/** The time in UTC. A date without a time is read as UTC too. null: not a time. */
export const parseTime = (text: string): string | null =>
  TIME.test(text) && isDay(text.slice(0, DATE_CHARACTERS)) ? timeOf(Date.parse(text)) : null;

const TIME_PARAMETERS = new WeakSet<object>();

/** Whether a schema was made by `timeParameter`; a description does not change its definition. */
const isTimeParameter = ({ _zod: { def } }: z.core.$ZodType): boolean => TIME_PARAMETERS.has(def);

/** A time in ISO 8601 in the years 1970 to 9999, or a date, which stays one until the zone of the organization is known. */
export const timeParameter = () => {
  const parameter = z
    .string()
    .refine(
      (text) => parseTime(text) !== null,
      'must be a time in ISO 8601 in the years 1970 to 9999, 2026-01-31T12:00:00Z',
    )
    .transform((text) => (text.length === DATE_CHARACTERS ? text : (parseTime(text) ?? '')));
  TIME_PARAMETERS.add(parameter.def);
  return parameter;
};

/** PostgreSQL's text cannot hold NUL. */
export const nulProblems = (query: unknown): readonly Problem[] =>
  Object.entries(query ?? {})
    .filter(([, value]) => [value].flat().some((one) => typeof one === 'string' && one.includes('\0')))
    .map(([name]) => [name, `${name} must not contain NUL`]);

/** Query parameters of every list. */
export const pageParameters = {
  limit: integerParameter(1, PAGE_MAX).default(PAGE_DEFAULT).describe(`Items per page. Default: ${PAGE_DEFAULT}.`),
  after: z.string().max(CURSOR_CHARACTERS_MAX).optional().describe('`next_cursor` of the previous page.'),
};

const TAG = /^([^:]{1,256}):(.{0,256})$/su;

/** A tag by name and value, `order:1234`; parsed to what its digest is made of. */
export const tagParameter = () =>
  z
    .string()
    .refine((text) => TAG.test(text), 'must be <name>:<value>, such as order:1234')
    .transform((text) => text.replace(':', '\0'));

const DOMAIN = /^[^\s@\p{Cc}]{1,253}$/u;

/** A recipient domain as people write it, `münchen.example`; parsed to lower-case A-labels, as addresses are stored. */
export const recipientDomain = () =>
  z
    .string()
    .refine((text) => DOMAIN.test(text), 'must be a domain: the part of an address after the @')
    .transform((text) => {
      const name = text.replace(/\.$/, '').toLowerCase();
      return asciiDomain(name) || name;
    });

const WITH_ZONE = /T.*(?:Z|[+-]\d{2}:\d{2})$/;

/** A time in a body, ISO 8601 with zone; parsed to UTC with milliseconds. A date alone is refused. */
export const timeField = () =>
  z
    .string()
    .refine((text) => WITH_ZONE.test(text), 'must be a time in ISO 8601 with its zone, 2026-01-31T12:00:00Z')
    .pipe(timeParameter())
    .meta({ format: 'date-time' });

type DefinedFields<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** The fields that are not undefined. */
export const definedIn = <Fields extends object>(fields: Fields): DefinedFields<Fields> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as DefinedFields<Fields>; // those left

/** Whether it has an unpaired surrogate, which no encoding can carry. */
const broken = (text: string): boolean => !text.isWellFormed();
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Text that may have line breaks. NUL cannot be stored. */
export const text = (maximum: number) =>
  z
    .string()
    .max(maximum)
    .refine((value) => !value.includes('\0') && !broken(value), 'must not contain NUL or unpaired surrogates');

const isLine = (value: string): boolean => !CONTROL.test(value) && !broken(value);

/** Text without line breaks, safe in a header, a log or a list. */
export const line = (maximum: number, minimum = 1) =>
  z.string().min(minimum).max(maximum).refine(isLine, 'must not contain line breaks or control characters');

/** They turn the text around them backwards (UAX #9 §2): a sender could make a page say something else. */
const BIDI_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** A line that a page shows inside a sentence of its own. */
export const shownLine = (maximum: number) =>
  line(maximum)
    .refine((text) => text.trim() !== '', 'must not be blank')
    .refine((text) => !BIDI_CONTROLS.test(text), 'must not contain characters that change the direction of text');

const isTimeZone = (text: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).format(0) !== '' && /^[A-Za-z]/.test(text);
  } catch {
    return false;
  }
};

/** A time zone by its IANA name; offsets are rejected. */
export const timeZone = () => z.string().refine(isTimeZone, 'must be a time zone by its IANA name, Europe/Berlin');

/** A URL that recipients open or load. */
export const url = z.string().superRefine((text, context) => {
  const problem = unsubscribeUrlProblem(text);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

/** Value of a message header: HTAB is white space there (RFC 5322 §2.2.2) and is sent as a space. */
export const headerText = (maximum: number, minimum = 1) =>
  z
    .string()
    .min(minimum)
    .max(maximum)
    .refine((value) => isLine(value.replaceAll('\t', ' ')), 'must not contain line breaks or control characters');

const countOf = (value: unknown): readonly [count: number, unit: string] => {
  if (Array.isArray(value)) return [value.length, 'items'];
  return typeof value === 'object' && value !== null ? [Object.keys(value).length, 'keys'] : [0, ''];
};

/**
 * A list or object with at most `maximum` members, counted before any member is validated: zod checks its own bounds
 * only after validating every member and reporting each problem.
 */
export const atMost = <Schema extends z.ZodType>(maximum: number, schema: Schema) =>
  z.preprocess((value: z.input<Schema>, context) => {
    const [count, unit] = countOf(value);
    if (count <= maximum) return value;
    context.addIssue({ code: 'custom', message: `must have at most ${maximum} ${unit}` });
    return z.NEVER;
  }, schema);

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
type DateFields = ReadonlyMap<string, DateFields | null>;

interface WrapperDef extends z.core.$ZodTypeDef {
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
  const wrapped = schema._zod.def as WrapperDef; // of an optional, a default, a pipe; others have neither
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
