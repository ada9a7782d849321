import { dateIn } from './date-in.ts';

/** Parses search text such as `status:bounced to:ann@x "two words"` into filters, or says what is wrong with it. */

/** A part of the text: a filter with its value, or a word. */
interface Token {
  /** The typed text, with quotes. */
  readonly text: string;
  readonly from: number;
  readonly to: number;
  /** null: a word without a filter. */
  readonly name: string | null;
  readonly value: string;
}

/** A filter's name and colon; then runs of characters or quoted text. An open quote extends to the end. */
const TOKEN = /(?<lone>[A-Za-z_]+):\s*$|(?:(?<name>[A-Za-z_]+):\s*)?(?<value>(?:"[^"]*(?:"|$)|[^\s"])+)/g;

const unquoted = (text: string): string => text.replaceAll('"', '');

export const tokensIn = (text: string): readonly Token[] =>
  [...text.matchAll(TOKEN)].map((match) => {
    const { name, value = '', lone } = match.groups ?? {};
    const [from, to] = [match.index, match.index + match[0].length];
    return { text: match[0], from, to, name: (name ?? lone)?.toLowerCase() ?? null, value };
  });

/** Quotes a value that would otherwise be several tokens. */
export const quoted = (value: string): string => (/[\s"]/.test(value) ? `"${unquoted(value)}"` : value);

/** A token that cannot be used. */
export interface Problem {
  /** A sentence: what is wrong, and what would work. */
  readonly message: string;
  /** Each could replace the token; an empty one removes it. */
  readonly fixes: readonly string[];
  readonly from: number;
  readonly to: number;
}

/** A value for a filter, or why it cannot be one. */
export type Value = { readonly value: string } | { readonly message: string; readonly near: string | null };

export interface FilterRule {
  /** URL parameter. */
  readonly parameter: string;
  /** True if quotes are part of the value. */
  readonly keepsQuotes?: true;
  parse(value: string): Value;
}

export interface SearchRules {
  /** By the word that is typed. */
  readonly filters: Readonly<Record<string, FilterRule>>;
  /** Words that are offered; `filters` has further ones, such as names of the API. */
  readonly offered: readonly string[];
  /** The filter of text without a name, such as an id; null: it is not of that kind. */
  guess(text: string): string | null;
  /** The filter of other words, all together. */
  readonly words: string;
}

export interface ParsedSearch {
  /** Parameters, if there is no problem. */
  readonly changes: Readonly<Record<string, string | null>>;
  readonly problems: readonly Problem[];
}

/** Number of changed, added, removed or swapped characters (Damerau, Levenshtein). */
const distance = (one: string, other: string): number => {
  const rows = [Array.from({ length: other.length + 1 }, (_, at) => at)];
  const at = (row: number, to: number): number => rows[row]?.[to] ?? Number.POSITIVE_INFINITY;
  const changed = (row: number, to: number): number => at(row - 1, to - 1) + (one[row - 1] === other[to - 1] ? 0 : 1);
  const swapped = (row: number, to: number): number =>
    one[row - 1] === other[to - 2] && one[row - 2] === other[to - 1]
      ? at(row - 2, to - 2) + 1
      : Number.POSITIVE_INFINITY;
  for (let row = 1; row <= one.length; row += 1) {
    rows.push([row]);
    for (let to = 1; to <= other.length; to += 1)
      rows[row]?.push(Math.min(changed(row, to), swapped(row, to), at(row - 1, to) + 1, at(row, to - 1) + 1));
  }
  return at(one.length, other.length);
};

/** Longer texts are no typing errors, and comparing them takes long. */
const COMPARED_CHARACTERS_MAX = 40;
const ERRORS_MAX = 2;

/** The choice that was probably meant; null: none is close. */
export const nearest = (text: string, choices: readonly string[]): string | null => {
  const typed = text.toLowerCase().slice(0, COMPARED_CHARACTERS_MAX);
  const begun = choices.find((choice) => typed.length > 1 && choice.toLowerCase().startsWith(typed));
  if (begun !== undefined) return begun;
  const [best] = choices
    .map((choice) => ({ choice, errors: distance(typed, choice.toLowerCase().slice(0, COMPARED_CHARACTERS_MAX)) }))
    .toSorted((one, other) => one.errors - other.errors);
  return best !== undefined && best.errors <= Math.min(ERRORS_MAX, typed.length - 1) ? best.choice : null;
};

/** One of a few values. @param name of the filter, for the sentence. */
export const oneOf =
  (name: string, choices: readonly string[]) =>
  (value: string): Value => {
    const found = choices.find((choice) => choice.toLowerCase() === value.toLowerCase());
    if (found !== undefined) return { value: found };
    return {
      message: `“${value}” is not a value of ${name}. Use ${choices.join(', ')}.`,
      near: nearest(value, choices),
    };
  };

/** A resource by its name or id. */
export const named =
  (kind: string, id: RegExp, idsByName: ReadonlyMap<string, string>) =>
  (value: string): Value => {
    if (id.test(value)) return { value };
    const names = [...idsByName.keys()];
    const name = names.find((one) => one === value) ?? names.find((one) => one.toLowerCase() === value.toLowerCase());
    if (name !== undefined) return { value: idsByName.get(name) ?? value };
    const known = names.slice(0, NAMES_MAX).join(', ');
    return {
      message: `There is no ${kind} with the name “${value}”. ${known === '' ? 'Use its id.' : `Use its id, or a name such as ${known}.`}`,
      near: nearest(value, names),
    };
  };
const NAMES_MAX = 3;

/** `2d`, `6h`, `today`, `yesterday`, a day or a time. @param isUtc false: in the time zone of the browser. */
export const time =
  (name: string, isUtc: boolean) =>
  (value: string): Value => {
    const found = dateIn(value, { isUtc, hasTime: true });
    if (found !== null) return { value: found };
    return {
      message: `“${value}” is not a time. Use ${name}:2d, ${name}:6h, ${name}:today or ${name}:2026-01-31.`,
      near: null,
    };
  };

export const anything = (value: string): Value => ({ value });

interface Use {
  readonly token: Token;
  readonly name: string;
  readonly rule: FilterRule;
}

const asTyped = (name: string, value: string): string => `${name}:${quoted(value)}`;

const unknownName = ({ offered, words }: SearchRules, { text, from, to, name }: Token): Problem => {
  const near = nearest(name ?? '', offered);
  const value = text.slice(text.indexOf(':') + 1).trim();
  return {
    message: `“${name}” is not a filter. Filters are ${offered.join(', ')}.`,
    fixes: [...(near === null ? [] : [`${near}:${value}`]), `${words}:${quoted(text)}`],
    from,
    to,
  };
};

const typedValue = ({ keepsQuotes }: FilterRule, { value }: Token): string =>
  (keepsQuotes === true ? value : unquoted(value)).trim();

const problemOf = (
  { name, rule, token }: Use,
  before: readonly Use[],
): Problem | { readonly parameter: string; readonly value: string } => {
  const { from, to } = token;
  const given = typedValue(rule, token);
  if (given === '') return { message: `${name}: has no value. Type one after the colon.`, fixes: [''], from, to };
  if (before.some((other) => other.rule.parameter === rule.parameter))
    return { message: `${name} can be used once. Remove one of the two.`, fixes: [''], from, to };
  const parsed = rule.parse(given);
  if ('value' in parsed) return { parameter: rule.parameter, value: parsed.value };
  return { message: parsed.message, fixes: parsed.near === null ? [''] : [asTyped(name, parsed.near), ''], from, to };
};

/** Tokens; a text that is an id or a code as a whole, such as `451 4.7.1`, is one. */
const splitBy = (text: string, { guess }: SearchRules): readonly Token[] => {
  const name = guess(text.trim());
  return name === null ? tokensIn(text) : [{ text, from: 0, to: text.length, name, value: text.trim() }];
};

/** All words together. A problem with them is shown at the first. */
const useOfWords = (words: readonly Token[], { filters, words: name }: SearchRules): readonly Use[] => {
  const [[first], { [name]: rule }] = [words, filters];
  if (first === undefined || rule === undefined) return [];
  const value = words.map((word) => word.value).join(' ');
  return [{ token: { ...first, value }, name, rule }];
};

interface Uses {
  readonly uses: readonly Use[];
  readonly unknown: readonly Problem[];
}

/** Uses of filters: those with a name, ids, and all other words as one. */
const usesOf = (text: string, rules: SearchRules): Uses => {
  const { guess, filters } = rules;
  const all = splitBy(text, rules).map((token) => ({ token, name: token.name ?? guess(token.value) }));
  const named = all.map(({ token, name }) => ({
    token,
    name: name ?? '',
    rule: Object.hasOwn(filters, name ?? '') ? filters[name ?? ''] : undefined,
  }));
  const isUse = (one: (typeof named)[number]): one is Use => one.rule !== undefined;
  const unknown = named.filter((one) => !isUse(one) && one.name !== '');
  const words = named.filter(({ name }) => name === '');
  return {
    uses: [
      ...named.filter(isUse),
      ...useOfWords(
        words.map(({ token }) => token),
        rules,
      ),
    ],
    unknown: unknown.map(({ token }) => unknownName(rules, token)),
  };
};

type Changes = ParsedSearch['changes'];

/** Filters that begin and end a period. */
const PERIODS = [
  ['since', 'until'],
  ['outcome_since', 'outcome_until'],
] as const;

const periodProblems = (changes: Changes, uses: readonly Use[]): readonly Problem[] =>
  PERIODS.flatMap(([beginning, ending]) => {
    const end = uses.find(({ rule }) => rule.parameter === ending)?.token;
    const [since, until] = [changes[beginning], changes[ending]];
    if (end === undefined || !since || !until || since < until) return [];
    const message = `${ending} is not after ${beginning}, so nothing can match.`;
    return [{ message, fixes: [''], from: end.from, to: end.to }];
  });

export const parseSearch = (text: string, rules: SearchRules): ParsedSearch => {
  const { uses, unknown } = usesOf(text, rules);
  const results = uses.map((use, at) => problemOf(use, uses.slice(0, at)));
  const changes: Changes = Object.fromEntries(
    results.flatMap((one) => ('parameter' in one ? [[one.parameter, one.value] as const] : [])),
  );
  const problems = [...unknown, ...results.filter((one) => 'message' in one), ...periodProblems(changes, uses)];
  return { changes: problems.length > 0 ? {} : changes, problems };
};

/** Completes the token before the caret. */

export interface Offer {
  /** Text of the token. */
  readonly text: string;
  /** Explains it. */
  readonly about?: string;
}

/** The token that the caret is in or behind; empty behind a space. */
export const tokenAt = (text: string, caret: number): Pick<Token, 'text' | 'from' | 'to' | 'name' | 'value'> => {
  const found = tokensIn(text).find(({ from, to }) => from < caret && caret <= to);
  return found ?? { text: '', from: caret, to: caret, name: null, value: '' };
};

/** The text with a part replaced, and the caret behind it. */
export const replaced = (
  text: string,
  { from, to }: { readonly from: number; readonly to: number },
  by: string,
): { readonly text: string; readonly caret: number } => {
  const space = by.endsWith(':') || by === '' ? '' : ' ';
  const rest = text.slice(to).replace(/^\s+/, '');
  return { text: `${text.slice(0, from)}${by}${space}${rest}`, caret: from + by.length + space.length };
};
