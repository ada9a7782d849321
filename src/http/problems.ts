import type { z } from 'zod';
import type { Details } from '../domain/kernel/errors.ts';
import { nearest } from './nearest.ts';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** Names come from clients and may be long. */
const NAME_CHARACTERS_MAX = 100;
/** Unknown keys reported by one issue. */
const KEYS_TOLD_MAX = 100;

const nameOf = (key: PropertyKey): string => {
  const name = String(key);
  return name.length > NAME_CHARACTERS_MAX ? `${name.slice(0, NAME_CHARACTERS_MAX)}…` : name;
};

/** `to[1]`, `rate_limits.send`. */
const pathText = (path: Path): string =>
  path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? nameOf(key) : `${text}.${nameOf(key)}`;
  }, '');

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

const UNIT_WORDS: Readonly<Record<string, string>> = {
  string: ' characters',
  array: ' items',
  record: ' keys',
  object: ' keys',
};

const bound = (origin: string, words: string, value: number | bigint): string => {
  const unit = UNIT_WORDS[origin];
  if (unit === undefined) return `must be ${words} ${value}`;
  return words === 'at least' && value === 1 ? 'must not be empty' : `must have ${words} ${value}${unit}`;
};

/** Value at the path of an issue. */
const valueAt = (data: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    data,
  );

/** A sentence without its subject: `must be a string`. */
const predicate = (issue: Issue): string => {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPE_WORDS[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return bound(issue.origin, 'at least', issue.minimum);
    case 'too_big':
      return bound(issue.origin, 'at most', issue.maximum);
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'custom':
      return issue.message;
    default:
      return 'is malformed';
  }
};

/** Issues of the branch of a union that matched furthest; null: none matched further than the others. */
const deepest = (issue: z.core.$ZodIssueInvalidUnion): readonly Issue[] | null => {
  const depth = (issues: readonly Issue[]): number => Math.max(0, ...issues.map(({ path }) => path.length));
  const best = issue.errors.toSorted((left, right) => depth(right) - depth(left))[0] ?? [];
  return depth(best) === 0 ? null : best.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
};

/** A problem with a request: the field it is listed under, and a sentence. */
export type Problem = readonly [field: string, sentence: string];

/** Part of a request that a schema validates. */
export type Part = 'body' | 'query';

const UNKNOWN: Readonly<Record<Part, string>> = {
  body: 'is not a known field',
  query: 'is not a known query parameter',
};

/** Suggestions for one object. Each compares a name with all fields of the object: ten take less than a millisecond. */
const SUGGESTIONS_MAX = 10;
const KNOWN = 'known: ';

/** For `safeParse`: the message of an unknown key lists the fields that its object has, for `problemsIn` to suggest. */
export const LIST_KNOWN_FIELDS = {
  error: ({ code, inst }: { readonly code: string; readonly inst?: unknown }): string | undefined => {
    if (code !== 'unrecognized_keys') return undefined;
    const { shape } = inst as { readonly shape?: object };
    return shape === undefined ? undefined : KNOWN + Object.keys(shape).join(' ');
  },
};

const suggestionFor = (key: string, { message }: Issue): string => {
  if (!message.startsWith(KNOWN)) return '';
  const name = nearest(key, message.slice(KNOWN.length).split(' '));
  return name === undefined ? '' : `: did you mean ${name}?`;
};

const problemsOf = (issue: Issue, data: unknown, part: Part): readonly Problem[] => {
  const prefix = issue.path;
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .slice(0, KEYS_TOLD_MAX)
      .map((key, index) => [
        nameOf(prefix[0] ?? key),
        `${pathText([...prefix, key])} ${UNKNOWN[part]}${index < SUGGESTIONS_MAX ? suggestionFor(key, issue) : ''}`,
      ]);
  }
  const inner = issue.code === 'invalid_union' ? deepest(issue) : null;
  if (inner !== null) return inner.flatMap((one) => problemsOf(one, data, part));
  const field = nameOf(prefix[0] ?? part);
  const subject = prefix.length === 0 ? part : pathText(prefix);
  return [[field, `${subject} ${saidOf(issue, valueAt(data, prefix), part)}`]];
};

/** Zod's own words for a union without a sentence of its own, which tell a reader nothing. */
const NO_SENTENCE = 'Invalid input';

/** Says what each branch accepts: `must be a string or must be an array`. */
const unionSentence = (issue: z.core.$ZodIssueInvalidUnion): string => {
  if (issue.message !== NO_SENTENCE) return issue.message;
  const each = issue.errors.flatMap((issues) => issues.slice(0, 1).map(predicate));
  return [...new Set(each)].join(' or ') || 'is malformed';
};

const saidOf = (issue: Issue, value: unknown, part: Part): string => {
  if (issue.code !== 'custom' && value === undefined) return 'is required';
  if (part === 'query' && Array.isArray(value)) return 'is given more than once';
  return issue.code === 'invalid_union' ? unionSentence(issue) : predicate(issue);
};

/** Drops further issues of a value of the wrong type: an array has a length, as a string has. */
const withoutEchoes = (issues: readonly Issue[]): readonly Issue[] => {
  const mistyped = new Set(issues.filter(({ code }) => code === 'invalid_type').map(({ path }) => pathText(path)));
  if (mistyped.size === 0) return issues;
  return issues.filter(({ code, path }) => code === 'invalid_type' || !mistyped.has(pathText(path)));
};

/** All problems that a schema found in the data. */
export const problemsIn = (issues: readonly Issue[], data: unknown, part: Part): readonly Problem[] =>
  withoutEchoes(issues).flatMap((issue) => problemsOf(issue, data, part));

/** Sentences about data that is no request. */
export const sentencesIn = (issues: readonly Issue[], data: unknown): readonly string[] =>
  problemsIn(issues, data, 'body').map(([, sentence]) => sentence);

/** A copy of the data without the properties at these paths. Each object on the way is copied once. */
const without = (data: unknown, paths: readonly Path[]): unknown => {
  if (typeof data !== 'object' || data === null) return data;
  const copy = (Array.isArray(data) ? [...data] : { ...data }) as Record<PropertyKey, unknown>;
  for (const [name, under] of Map.groupBy(paths, ([first = '']) => first)) {
    if (under.some(({ length }) => length === 1)) delete copy[name];
    else
      copy[name] = without(
        copy[name],
        under.map(([, ...rest]) => rest),
      );
  }
  return copy;
};

/** Issues of the values themselves: of a union, those of the branch that matched furthest. */
const innermost = (issue: Issue): readonly Issue[] => {
  const inner = issue.code === 'invalid_union' ? deepest(issue) : null;
  return inner === null ? [issue] : inner.flatMap(innermost);
};

/** An item of an array cannot be absent. */
const isNullProperty = (data: unknown, path: Path): boolean =>
  typeof path.at(-1) === 'string' && valueAt(data, path) === null;

/** Parsed data, or its problems; `data` is what was parsed. */
export interface ParseResult<Output> {
  readonly data: unknown;
  readonly output: Output | undefined;
  readonly problems: readonly Problem[];
}

/**
 * Parses a body. A null field is absent unless its schema accepts null: a null that the schema refuses is
 * removed, and the rest is parsed again.
 */
export const parseBody = <Schema extends z.ZodType>(schema: Schema, sent: unknown): ParseResult<z.output<Schema>> => {
  const first = schema.safeParse(sent, LIST_KNOWN_FIELDS);
  if (first.success) return { data: sent, output: first.data, problems: [] };
  const nulls = first.error.issues
    .flatMap(innermost)
    .map(({ path }) => path)
    .filter((path) => isNullProperty(sent, path));
  const data = nulls.length === 0 ? sent : without(sent, nulls);
  const { success, data: output, error } = nulls.length === 0 ? first : schema.safeParse(data, LIST_KNOWN_FIELDS);
  return { data, output, problems: success ? [] : problemsIn(error.issues, data, 'body') };
};

/** Problems reported for one request. More are of no use to a reader, fewer hide some. */
export const PROBLEMS_MAX = 100;

/** Groups problems by field, without duplicates. */
export const detailsOf = (problems: readonly Problem[], maximum = PROBLEMS_MAX): Details => {
  const details = new Map<string, string[]>();
  for (const [field, sentence] of problems.slice(0, maximum)) {
    const known = details.get(field) ?? [];
    if (!known.includes(sentence)) known.push(sentence);
    details.set(field, known);
  }
  return Object.fromEntries(details);
};
