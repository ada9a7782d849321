import { isOnCalendar, type Values } from '../../lib/templates/templates.ts';

/** Variables of a template: their declarations, and the validation of the values in a send. */

export const VARIABLE_TYPES = ['string', 'number', 'boolean', 'date', 'url', 'list', 'object'] as const;
export type VariableType = (typeof VARIABLE_TYPES)[number];

export interface Variable {
  readonly name: string;
  readonly type: VariableType;
  readonly required: boolean;
  /** Used if a send provides no value. */
  readonly default?: unknown;
  /** Used if a test send provides no values. */
  readonly example?: unknown;
  readonly description?: string;
}

/** Problems by variable, such as `is required`. */
export type VariableProblems = Readonly<Record<string, string>>;

/** ISO 8601: a date, or a time with its offset. */
const DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;
const URL_PROTOCOLS: readonly string[] = ['http:', 'https:', 'mailto:', 'tel:'];

const isUrl = (value: string): boolean => URL.canParse(value) && URL_PROTOCOLS.includes(new URL(value).protocol);

const CHECKS: Readonly<Record<VariableType, readonly [(value: unknown) => boolean, string]>> = {
  string: [(value) => typeof value === 'string', 'must be a string'],
  number: [(value) => typeof value === 'number' && Number.isFinite(value), 'must be a number'],
  boolean: [(value) => typeof value === 'boolean', 'must be true or false'],
  date: [
    (value) => typeof value === 'string' && DATE.test(value) && !Number.isNaN(Date.parse(value)) && isOnCalendar(value),
    'must be a date: 2026-01-31 or 2026-01-31T09:30:00Z',
  ],
  url: [
    (value) => typeof value === 'string' && isUrl(value),
    'must be a URL that begins with https:, http:, mailto: or tel:',
  ],
  list: [Array.isArray, 'must be a list'],
  object: [(value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'must be an object'],
};

/** @returns the problem with the value, for people; null if there is none. */
export const valueProblem = (type: VariableType, value: unknown): string | null => {
  const [isRight, problem] = CHECKS[type];
  return isRight(value) ? null : problem;
};

export interface ResolvedValues {
  /** Values for rendering: provided values and defaults of declared variables only. */
  readonly values: Values;
  readonly problems: VariableProblems;
  /** Provided but not declared, most often because of a typing error. */
  readonly unused: readonly string[];
}

/** The value of a variable; undefined if it has none but requires one. */
const givenOrDefault = ({ name, required, default: standard }: Variable, given: Values): unknown => {
  const value = Object.hasOwn(given, name) ? given[name] : null;
  if (value !== null && value !== undefined) return value;
  return standard ?? (required ? undefined : null);
};

const problemWith = ({ type }: Variable, value: unknown): string | null => {
  if (value === null) return null;
  return value === undefined ? 'is required' : valueProblem(type, value);
};

/** Validates the values of a send. @param given provided values by name. */
export const resolveValues = (variables: readonly Variable[], given: Values): ResolvedValues => {
  const values: Record<string, unknown> = Object.create(null);
  const problems: Record<string, string> = Object.create(null);
  for (const variable of variables) {
    const value = givenOrDefault(variable, given);
    const problem = problemWith(variable, value);
    if (problem === null) values[variable.name] = value;
    else problems[variable.name] = problem;
  }
  const declared = new Set(variables.map(({ name }) => name));
  return { values, problems, unused: Object.keys(given).filter((name) => !declared.has(name)) };
};

/** Values from examples, for a test send without values. */
export const exampleValues = (variables: readonly Variable[]): Values =>
  Object.fromEntries(
    variables.flatMap(({ name, example, default: standard }) => {
      const value = example ?? standard;
      return value === undefined ? [] : [[name, value]];
    }),
  );

/**
 * Converts numbers and booleans to text if a string is declared, because other template languages do not distinguish
 * them.
 */
export const textualValues = (variables: readonly Variable[], given: Values): Values => {
  const texts = new Set(variables.filter(({ type }) => type === 'string').map(({ name }) => name));
  const textOf = (value: unknown): unknown => (['number', 'boolean'].includes(typeof value) ? String(value) : value);
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, texts.has(name) ? textOf(value) : value]),
  );
};
