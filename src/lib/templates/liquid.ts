import { Liquid, type Template } from 'liquidjs';
import { LRUCache } from 'lru-cache';
import { addHtmlEscapeFilters, addTextEscapeFilters } from './escape-filters.ts';
import {
  isOnCalendar,
  OUTPUT_END,
  OUTPUT_START,
  type TemplateCheck,
  TemplateFailed,
  type TemplateProblem,
  type TemplateRenderer,
  type VariableUse,
} from './template-renderer.ts';

/** Limits on a Liquid source, enforced before any recursive or quadratic code sees it. */

/** A single larger part contains html that belongs in a layout, or data. */
const SOURCE_CHARACTERS_MAX = 200_000;
/** Nesting of tags. Parsing and rendering are recursive. */
const DEPTH_MAX = 100;
/** Parsing a tag takes microseconds, so more of them block the event loop. */
const TAGS_MAX = 5_000;
/** A path, or a chain of filters. A longer one is evaluated without a check of the time. */
const TAG_CHARACTERS_MAX = 2_000;

/** Offset of the next `{{` or `{%`; -1: not found. */
const nextTag = (source: string, from: number): number => {
  for (let at = source.indexOf('{', from); at >= 0; at = source.indexOf('{', at + 1)) {
    if (source[at + 1] === '{' || source[at + 1] === '%') return at;
  }
  return -1;
};

/** Enough for `{%-`, some space, and the name. */
const BLOCK_NAME_CHARACTERS = 40;
const BLOCK = /^%-?\s*(end)?(?:if|unless|for|case|capture|comment|raw)\b/;

interface Tag {
  /** Characters, or the rest of the source if the tag does not end. */
  readonly length: number;
  /** Change in the number of open blocks: 1 opens one, -1 ends one. */
  readonly opens: number;
}

const tagAt = (source: string, start: number): Tag => {
  const end = source.indexOf(source[start + 1] === '{' ? '}}' : '%}', start + 2);
  const [found, ends] = BLOCK.exec(source.slice(start + 1, start + 1 + BLOCK_NAME_CHARACTERS)) ?? [];
  const opens = found === undefined ? 0 : 1;
  return { length: (end < 0 ? source.length : end + 2) - start, opens: ends === undefined ? opens : -1 };
};

function* tagsIn(source: string): Generator<Tag> {
  for (let start = nextTag(source, 0); start >= 0; ) {
    const tag = tagAt(source, start);
    yield tag;
    start = nextTag(source, start + tag.length);
  }
}

/** Checks the limits. @returns the problem, or null. */
const tooLarge = (source: string): string | null => {
  if (source.length > SOURCE_CHARACTERS_MAX) return `it is longer than ${SOURCE_CHARACTERS_MAX} characters`;
  let depth = 0;
  let tags = 0;
  for (const { length, opens } of tagsIn(source)) {
    depth += opens;
    tags += 1;
    if (length > TAG_CHARACTERS_MAX) return `a tag is longer than ${TAG_CHARACTERS_MAX} characters`;
    if (depth > DEPTH_MAX) return `its tags are more than ${DEPTH_MAX} deep in one another`;
    if (tags > TAGS_MAX) return `it has more than ${TAGS_MAX} tags`;
  }
  return null;
};

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
type CutFilter = (filter: FilterImpl, text: string, ...more: unknown[]) => unknown;

/**
 * liquidjs cuts at UTF-16 units or code points, which would show half an emoji, or an accent without its letter, as a
 * box.
 */
const CUTS: Readonly<Record<string, CutFilter>> = {
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
const addFilters = (liquid: Liquid): void => {
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

/**
 * Liquid by liquidjs, without the features by which an untrusted template could harm a process: no files, no regular
 * expressions, no `strftime`, own properties only. Its limits of time and memory are checked between tags, so the cost
 * of one tag or filter is bounded by the size of sources, values and ranges.
 */

/** Rendering is synchronous. Longer delays other requests, shorter rejects long lists. */
const RENDER_MS_MAX = 30;
/**
 * The limit is in wall-clock time, and a busy machine may deprive a rendering of the processor. It is restarted until
 * the attempts together had the processor for nearly as long as one may take.
 */
const ATTEMPTS_CPU_MS_MAX = 0.9 * RENDER_MS_MAX;
/** Longer delays other requests, shorter costs turns: most renderings take less. */
const TURN_MS_MAX = 5;
/** In units of liquidjs (characters, list items). More lets one range or `append` take longer than a rendering may. */
const MEMORY_UNITS_MAX = 1_000_000;
const MICROSECONDS = 1_000;
/** Total length of cached sources: some thousand templates. */
const KEPT_CHARACTERS_MAX = 20_000_000;

const TAGS: ReadonlySet<string> = new Set([
  'assign',
  'break',
  'capture',
  'case',
  'comment',
  'continue',
  'cycle',
  'echo',
  'for',
  'if',
  'raw',
  'unless',
  '#',
]);

const FILTERS: ReadonlySet<string> = new Set([
  'abs',
  'append',
  'at_least',
  'at_most',
  'capitalize',
  'ceil',
  'compact',
  'concat',
  'default',
  'divided_by',
  'downcase',
  'escape',
  'escape_once',
  'first',
  'floor',
  'join',
  'last',
  'map',
  'minus',
  'modulo',
  'newline_to_br',
  'plus',
  'prepend',
  'raw',
  'remove',
  'remove_first',
  'replace',
  'replace_first',
  'reverse',
  'round',
  'size',
  'slice',
  'sort',
  'sort_natural',
  'split',
  'strip',
  'strip_newlines',
  'sum',
  'times',
  'truncate',
  'truncatewords',
  'uniq',
  'upcase',
  'url_encode',
  'where',
]);

const MARKS = /[\uFDD0\uFDD1]/g;

/** How outputs are escaped. `marked` makes them longer, which a `capture` would see. */
type Escaping = 'none' | 'plain' | 'marked';

const marking = (escaped: (this: unknown, value: unknown) => string) =>
  function (this: unknown, value: unknown): string {
    return OUTPUT_START + escaped.call(this, value).replaceAll(MARKS, '') + OUTPUT_END;
  };

const addEscapeFilters = (liquid: Liquid, escaping: Escaping): void => {
  if (escaping === 'none') addTextEscapeFilters(liquid);
  else {
    const escaped = addHtmlEscapeFilters(liquid);
    liquid.options.outputEscape = escaping === 'marked' ? marking(escaped) : escaped;
  }
};

const createEngine = (escaping: Escaping): Liquid => {
  const liquid = new Liquid({
    templates: {},
    ownPropertyOnly: true,
    strictFilters: true,
    parseLimit: SOURCE_CHARACTERS_MAX,
    renderLimit: RENDER_MS_MAX,
    memoryLimit: MEMORY_UNITS_MAX,
  });
  for (const name of Object.keys(liquid.tags)) if (!TAGS.has(name)) delete liquid.tags[name];
  for (const name of Object.keys(liquid.filters)) if (!FILTERS.has(name)) delete liquid.filters[name];
  addFilters(liquid);
  addEscapeFilters(liquid, escaping);
  return liquid;
};

const START = { line: 1, column: 1 };

/** Error of liquidjs for a rendering that exceeded its wall-clock limit. */
const TOO_LONG = /template render limit exceeded/;

/** True if a rendering failed because it did not have the processor. @param before when the first attempt began. */
const wasInterrupted = (error: unknown, before: NodeJS.CpuUsage): boolean => {
  if (!(error instanceof Error && TOO_LONG.test(error.message))) return false;
  const { user, system } = process.threadCpuUsage(before);
  return user + system < ATTEMPTS_CPU_MS_MAX * MICROSECONDS;
};

/** liquidjs appends `, line:2, col:3` to its sentences. */
const problemOf = (error: unknown): TemplateProblem => {
  if (error instanceof RangeError) return { ...START, sentence: 'it is too deep' };
  const text = error instanceof Error ? error.message : String(error);
  const [, said = text, line, column] = /^(.*?)(?:, line:(\d+), col:(\d+))?$/s.exec(text) ?? [];
  const sentence = LIMITS.find(([pattern]) => pattern.test(said))?.[1] ?? said;
  return line === undefined ? { ...START, sentence } : { line: Number(line), column: Number(column), sentence };
};

const LIMITS: readonly (readonly [RegExp, string])[] = [
  [TOO_LONG, `it takes longer than ${RENDER_MS_MAX} ms`],
  [/memory alloc limit exceeded/, 'it takes too much memory'],
  [/Maximum call stack/, 'it is too deep'],
];

const usesIn = (liquid: Liquid, templates: Template[]): readonly VariableUse[] =>
  Object.values(liquid.analyzeSync(templates, { partials: false }).globals).flatMap(([first]) =>
    first?.location === undefined
      ? []
      : [{ name: String(first.segments[0]), line: first.location.row, column: first.location.col }],
  );

const failed = ({ line, column, sentence }: TemplateProblem): TemplateFailed =>
  new TemplateFailed(`${sentence} (line ${line}, column ${column})`);

const asFailed = (error: unknown): TemplateFailed =>
  error instanceof TemplateFailed ? error : failed(problemOf(error));

const rendered = (rendering: () => string): string => {
  const before = process.threadCpuUsage();
  for (;;) {
    try {
      return rendering();
    } catch (error) {
      if (!wasInterrupted(error, before)) throw asFailed(error);
    }
  }
};

const escapingOf = (source: string, escapes: boolean): Escaping => {
  if (!escapes) return 'none';
  return source.includes('capture') ? 'plain' : 'marked';
};

/** Processor time spent by this thread's renderings in this turn of the event loop. */
const createTurn = () => {
  let spentUs = 0;
  let isMeasured = false;
  const begin = (): void => {
    if (isMeasured) return;
    isMeasured = true;
    setImmediate(() => {
      isMeasured = false;
      spentUs = 0;
    });
  };
  return {
    spend: <T>(work: () => T): T => {
      begin();
      const before = process.threadCpuUsage();
      try {
        return work();
      } finally {
        const { user, system } = process.threadCpuUsage(before);
        spentUs += user + system;
      }
    },
    isOver: (): boolean => spentUs > TURN_MS_MAX * MICROSECONDS,
  };
};

let checking: Liquid | undefined;

/** Checks a source. A hostile one with many variables takes seconds: never call this on the event loop. */
export const checkLiquid = (source: string): TemplateCheck => {
  const large = tooLarge(source);
  if (large !== null) return { problem: { ...START, sentence: large }, uses: [] };
  try {
    checking ??= createEngine('none');
    return { problem: null, uses: usesIn(checking, checking.parse(source)) };
  } catch (error) {
    return { problem: problemOf(error), uses: [] };
  }
};

export const createLiquidRenderer = (): TemplateRenderer => {
  const engines = { none: createEngine('none'), plain: createEngine('plain'), marked: createEngine('marked') };
  const compiled = new LRUCache<string, Template[]>({
    maxSize: KEPT_CHARACTERS_MAX,
    sizeCalculation: (_, source) => source.length + 1,
  });
  const turn = createTurn();

  /** @throws {TemplateFailed}, and any error of liquidjs. */
  const compile = (escaping: Escaping, source: string): Template[] => {
    const key = escaping + source;
    const known = compiled.get(key);
    if (known !== undefined) return known;
    const large = tooLarge(source);
    if (large !== null) throw failed({ ...START, sentence: large });
    const templates = engines[escaping].parse(source);
    compiled.set(key, templates);
    return templates;
  };

  return {
    isTurnOver: turn.isOver,

    prepare: (source, { escapes }) => {
      if (!source.includes('{')) return;
      try {
        turn.spend(() => compile(escapingOf(source, escapes), source));
      } catch (error) {
        throw asFailed(error);
      }
    },

    render: (source, values, { locale, escapes, charactersMax }) => {
      const escaping = escapingOf(source, escapes);
      const scope = { ...values, $locale: locale };
      const text = source.includes('{')
        ? turn.spend(() => rendered(() => String(engines[escaping].renderSync(compile(escaping, source), scope))))
        : source;
      if (text.length <= charactersMax) return text;
      throw failed({ ...START, sentence: `its result is longer than ${charactersMax} characters` });
    },
  };
};
