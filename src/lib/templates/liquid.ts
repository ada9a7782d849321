import { Liquid, type Template } from 'liquidjs';
import { LRUCache } from 'lru-cache';
import { addHtmlEscapeFilters, addTextEscapeFilters } from './escape-filters.ts';
import { addFilters } from './filters.ts';
import { SOURCE_CHARACTERS_MAX, tooLarge } from './liquid-bounds.ts';
import {
  OUTPUT_END,
  OUTPUT_START,
  type TemplateCheck,
  TemplateFailed,
  type TemplateProblem,
  type TemplateRenderer,
  type VariableUse,
} from './template-renderer.ts';

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
