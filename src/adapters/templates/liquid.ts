import { Liquid, type Template } from 'liquidjs';
import { LRUCache } from 'lru-cache';
import {
  type TemplateCheck,
  TemplateFailed,
  type TemplateProblem,
  type TemplateRenderer,
  type VariableUse,
} from '../../domain/ports/template-renderer.ts';
import { addFilters } from './filters.ts';

/**
 * Liquid by liquidjs, with what a stranger's template could do to a process taken away: no files, no regular
 * expressions, no `strftime`, own properties alone. Its limits of time and memory are looked at between tags, so what one
 * tag or filter can take is bounded by the size of sources, values and ranges.
 */

/** Larger ones of one part are html that belongs into a layout, or data. */
const SOURCE_CHARACTERS_MAX = 200_000;
/** Rendering is synchronous: longer keeps other requests waiting, shorter refuses long lists. */
const RENDER_MS_MAX = 30;
/**
 * The limit is by the clock on the wall, and a busy machine takes its processor away from a rendering: it is begun again
 * until the attempts together had the processor for longer than one needs.
 */
const ATTEMPTS_CPU_MS_MAX = 1.5 * RENDER_MS_MAX;
/** In units of liquidjs (characters, list items): more lets one range or `append` take longer than a rendering may. */
const MEMORY_UNITS_MAX = 1_000_000;
/** Tags in one another. Parsing and rendering are recursive. */
const DEPTH_MAX = 100;
const MICROSECONDS = 1_000;
/** Parsing a tag takes microseconds: more of them hold the event loop. */
const TAGS_MAX = 5_000;
/** A path, or a chain of filters; a longer one is evaluated without a look at the time. */
const TAG_CHARACTERS_MAX = 2_000;
/** Of compiled sources, by their length: some thousand templates. */
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

const createEngine = (escapes: boolean): Liquid => {
  const liquid = new Liquid({
    templates: {},
    ownPropertyOnly: true,
    strictFilters: true,
    parseLimit: SOURCE_CHARACTERS_MAX,
    renderLimit: RENDER_MS_MAX,
    memoryLimit: MEMORY_UNITS_MAX,
    ...(escapes ? { outputEscape: 'escape' as const } : {}),
  });
  for (const name of Object.keys(liquid.tags)) if (!TAGS.has(name)) delete liquid.tags[name];
  for (const name of Object.keys(liquid.filters)) if (!FILTERS.has(name)) delete liquid.filters[name];
  addFilters(liquid);
  return liquid;
};

/** Where the next `{{` or `{%` is; -1: there is none. */
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
  /** Characters, or what is left of a source where it does not end. */
  readonly length: number;
  /** Of blocks that are open: 1 opens one, -1 ends one. */
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

/** What is refused before anything recursive or quadratic looks at it; null: nothing. */
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

const START = { line: 1, column: 1 };

/** What liquidjs says of a rendering that took longer than its limit, by the clock on the wall. */
const TOO_LONG = /template render limit exceeded/;

/** Whether a rendering failed because others had the processor meanwhile. @param before when the first attempt began. */
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

const rendered = (rendering: () => string): string => {
  const before = process.threadCpuUsage();
  for (;;) {
    try {
      return rendering();
    } catch (error) {
      if (!wasInterrupted(error, before)) throw failed(problemOf(error));
    }
  }
};

export const createLiquidRenderer = (): TemplateRenderer => {
  const [plain, escaping] = [createEngine(false), createEngine(true)];
  const compiled = new LRUCache<string, Template[]>({
    maxSize: KEPT_CHARACTERS_MAX,
    sizeCalculation: (_, source) => source.length + 1,
  });

  /** @throws what liquidjs throws. */
  const compile = (liquid: Liquid, source: string): Template[] => {
    const key = `${liquid === escaping ? 'e' : 'p'}${source}`;
    const known = compiled.get(key);
    if (known !== undefined) return known;
    const templates = liquid.parse(source);
    compiled.set(key, templates);
    return templates;
  };

  return {
    check: (source): TemplateCheck => {
      const large = tooLarge(source);
      if (large !== null) return { problem: { ...START, sentence: large }, uses: [] };
      try {
        return { problem: null, uses: usesIn(plain, compile(plain, source)) };
      } catch (error) {
        return { problem: problemOf(error), uses: [] };
      }
    },

    render: (source, values, { locale, escapes, charactersMax }) => {
      const large = tooLarge(source);
      if (large !== null) throw failed({ ...START, sentence: large });
      const liquid = escapes ? escaping : plain;
      const text = rendered(() => String(liquid.renderSync(compile(liquid, source), { ...values, $locale: locale })));
      if (text.length <= charactersMax) return text;
      throw failed({ ...START, sentence: `its result is longer than ${charactersMax} characters` });
    },
  };
};
