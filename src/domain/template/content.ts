import { isOnCalendar, type TemplateCheck, type Values, type VariableUse } from '../../lib/templates/templates.ts';
import { VIEW_URL_VARIABLE } from '../message/tokens.ts';

export const TEMPLATE_FORMATS = ['html', 'mjml'] as const;
type TemplateFormat = (typeof TEMPLATE_FORMATS)[number];

/** Content of a template in one language. All parts are Liquid. */
export interface LocalizedContent {
  readonly subject: string;
  readonly html: string;
  /** Absent: derived from the HTML. */
  readonly text?: string;
  /** Text that mail programs show after the subject in message lists. */
  readonly preheader?: string;
}

/** HTML that surrounds a template's HTML. `{{ content }}` marks the place. */
export interface Layout {
  readonly templateId: string;
  readonly version: number;
  readonly html: string;
  readonly locales: Readonly<Record<string, string>>;
}

/** Content of a draft or version. */
export interface TemplateContent extends LocalizedContent {
  readonly format: TemplateFormat;
  /** Whether styles are inlined into elements on publication. */
  readonly inlineCss: boolean;
  readonly from?: string;
  readonly replyTo?: readonly string[];
  /** Alias of the template that is its layout. */
  readonly layout?: string;
  readonly variables: readonly Variable[];
  /** Translations by BCP 47 tag, such as `de` or `de-AT`. */
  readonly locales: Readonly<Record<string, LocalizedContent>>;
  /**
   * For a version: the output of compiling its draft on publication, so that a rollback restores exactly what was sent.
   */
  readonly compiled?: CompiledContent;
}

export interface CompiledContent {
  /** Innermost first. */
  readonly layouts: readonly Layout[];
  /** Variables of the layouts that the template does not declare itself. */
  readonly layoutVariables: readonly Variable[];
  /** Output of MJML compilation or style inlining. Absent: the HTML is sent as written. */
  readonly html?: LocalizedHtml;
}

export interface LocalizedHtml {
  readonly html: string;
  readonly locales: Readonly<Record<string, string>>;
}

/** The HTML to render: compiled if it was compiled, otherwise as written. */
export const htmlOf = ({ html, locales, compiled }: TemplateContent): LocalizedHtml =>
  compiled?.html ?? {
    html,
    locales: Object.fromEntries(Object.entries(locales).map(([tag, one]) => [tag, one.html])),
  };

/** The content without compiled parts. */
export const sourceOf = ({ compiled: _, ...source }: TemplateContent): TemplateContent => source;

/** The content in its layouts without inlined styles; null if none were inlined or it was written in MJML. */
export const withoutInlining = (content: TemplateContent): TemplateContent | null => {
  const { format, compiled } = content;
  if (format !== 'html' || compiled?.html === undefined) return null;
  const { html: _, ...layouts } = compiled;
  return { ...content, compiled: layouts };
};

/** All variables that a send may provide. */
export const variablesOf = ({ variables, compiled }: TemplateContent): readonly Variable[] => [
  ...variables,
  ...(compiled?.layoutVariables ?? []),
];

/** Name in a layout of the HTML that it surrounds. */
export const CONTENT_VARIABLE = 'content';

/** Tags to look up, best first, such as `de-AT` and `de`. */
const fallbackTags = (locale: string): readonly string[] => {
  const parts = locale.split('-');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('-'));
};

/** Tag of the best translation for a locale; null for the default. */
export const bestTag = (locales: Readonly<Record<string, unknown>>, locale: string | null): string | null =>
  fallbackTags(locale ?? '').find((each) => Object.hasOwn(locales, each)) ?? null;

/** The best translation for a locale. */
export const localized = <Value>(locales: Readonly<Record<string, Value>>, locale: string | null): Value | null => {
  const tag = bestTag(locales, locale);
  return tag === null ? null : (locales[tag] ?? null);
};

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
type VariableProblems = Readonly<Record<string, string>>;

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

/** @returns the problem with the value, for people; otherwise null. */
export const valueProblem = (type: VariableType, value: unknown): string | null => {
  const [isRight, problem] = CHECKS[type];
  return isRight(value) ? null : problem;
};

interface ResolvedValues {
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

/** Sentences by content field: `html`, `locales.de.subject`, `variables.name`. */
type ContentProblems = Readonly<Record<string, readonly string[]>>;

/** Liquid sources by content field. */
export const sourcesOf = (content: TemplateContent): ReadonlyMap<string, string> => {
  const parts = ['subject', 'html', 'text', 'preheader'] as const;
  const all: [string, string | undefined][] = [
    ...parts.map((part): [string, string | undefined] => [part, content[part]]),
    ...Object.entries(content.locales).flatMap(([tag, localized]) =>
      parts.map((part): [string, string | undefined] => [`locales.${tag}.${part}`, localized[part]]),
    ),
    ['from', content.from],
    ...(content.replyTo ?? []).map((each, index): [string, string] => [`reply_to.${index}`, each]),
  ];
  return new Map(all.filter((each): each is [string, string] => each[1] !== undefined));
};

const place = (field: string, { line, column }: Pick<VariableUse, 'line' | 'column'>): string =>
  `${field} line ${line}, column ${column}`;

const declarationProblems = (content: TemplateContent, used: ReadonlySet<string>): readonly [string, string][] =>
  content.variables.flatMap(({ name, type, example, default: standard }): [string, string][] => {
    const field = `variables.${name}`;
    const wrong = (what: string, value: unknown): [string, string][] => {
      const problem = value === undefined || value === null ? null : valueProblem(type, value);
      return problem === null ? [] : [[field, `${field}: its ${what} ${problem}`]];
    };
    return [
      ...(used.has(name)
        ? []
        : [[field, `${field} is declared but not used: use it or remove it`] as [string, string]]),
      ...wrong('default', standard),
      ...wrong('example', example),
    ];
  });

const byField = (found: readonly (readonly [string, string])[]): ContentProblems => {
  const problems: Record<string, string[]> = {};
  for (const [field, sentence] of found) {
    problems[field] ??= [];
    problems[field].push(sentence);
  }
  return problems;
};

/** Parts in which each copy has its own view URL. */
const SHOWS_ADDRESS = /(?:^|\.)(?:html|text)$/;

const isBuiltIn = (field: string, name: string): boolean =>
  name === CONTENT_VARIABLE || (name === VIEW_URL_VARIABLE && SHOWS_ADDRESS.test(field));

/**
 * Problems that prevent publication of a draft: invalid Liquid, variables used but not declared, or declared but not
 * used, and defaults and examples of the wrong type. Each sentence names line and column.
 * @param checks check result for each of `sourcesOf`.
 */
export const contentProblems = (
  content: TemplateContent,
  checks: ReadonlyMap<string, TemplateCheck>,
): ContentProblems => {
  const declared = new Set(content.variables.map(({ name }) => name));
  const checked = [...checks].map(([field, check]) => ({ field, ...check }));
  const uses = checked.flatMap((each) => each.uses.map((use) => ({ ...use, field: each.field })));
  const used = new Set(uses.map(({ name }) => name));
  return byField([
    ...checked.flatMap(({ field, problem }): [string, string][] =>
      problem === null ? [] : [[field, `${place(field, problem)}: ${problem.sentence}`]],
    ),
    ...uses
      .filter(({ field, name }) => !declared.has(name) && !isBuiltIn(field, name))
      .map((use): [string, string] => [
        use.field,
        `${place(use.field, use)}: the variable '${use.name}' is not declared`,
      ]),
    ...declarationProblems(content, used),
  ]);
};
