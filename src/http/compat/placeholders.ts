import { RESERVED_NAMES } from '../../domain/template/template.ts';

/**
 * Converts placeholders of other services' templates (Mustache, Mustachio and Handlebars) to Liquid and back:
 * `{{name}}`, `{{user.name}}`, `{{{html}}}`, `{{! a comment }}`, and `{{{@content}}}` in layouts. Sections, loops and
 * helpers are refused with their line and the Liquid to write. Converting them is not safe: our templates declare the
 * types of their variables, and theirs do not say whether one is a text, a number or a list; empty text, 0 and an empty
 * list are false there and true in Liquid; and what a name inside a loop means depends on the engine.
 */

type VariableKind = 'string' | 'object';

interface LiquidSource {
  readonly source: string;
  /** Input variables by name, with their types. */
  readonly variables: ReadonlyMap<string, VariableKind>;
}

const PLACEHOLDER = /\{\{\{?([^{}]*)\}?\}\}/g;
const PATH = /^[A-Za-z_]\w{0,63}(?:\.[A-Za-z_]\w{0,63})*$/;
/** Position of a template's HTML in its layout. */
const CONTENT = '@content';
const COMMENT = '!';
const LIQUID_TAG = '{%';
const SHOWN_CHARACTERS_MAX = 60;

const lineOf = (source: string, at: number): number => source.slice(0, at).split('\n').length;

const isPath = (name: string): boolean => PATH.test(name);
const isReserved = (name: string): boolean => RESERVED_NAMES.includes(name.split('.', 1).join(''));
const isConvertible = (name: string): boolean => isPath(name) || name === CONTENT || name.startsWith(COMMENT);

/** Blocks of Handlebars and Mustache, and how Liquid writes them. Empty text and an empty list are `blank`. */
const BLOCKS: readonly (readonly [RegExp, (value: string) => string])[] = [
  [/^#each\s+([\w.]+)/, (value) => `{% for item in ${value} %} … {% endfor %}`],
  [/^#if\s+([\w.]+)/, (value) => `{% if ${value} != blank %} … {% endif %}`],
  [/^#unless\s+([\w.]+)/, (value) => `{% if ${value} == blank %} … {% endif %}`],
  [/^\^\s*([\w.]+)/, (value) => `{% if ${value} == blank %} … {% endif %}`],
  [/^#\s*([\w.]+)$/, (value) => `{% for item in ${value} %} for a list, or {% if ${value} != blank %} for a value`],
];

const remedyFor = (name: string): string => {
  const [liquid] = BLOCKS.flatMap(([block, write]) => {
    const value = block.exec(name)?.[1];
    return value === undefined ? [] : [write(value)];
  });
  return liquid === undefined ? 'convert it by hand' : `use ${liquid} in POST /v1/templates`;
};

/** Why a source cannot be converted; null: it can. It follows the name of the source. */
const problemIn = (source: string): string | null => {
  const tag = source.indexOf(LIQUID_TAG);
  if (tag >= 0) return `line ${lineOf(source, tag)} contains {%, which starts a Liquid tag: convert it by hand`;
  const found = [...source.matchAll(PLACEHOLDER)].map(({ 0: shown, 1: inner = '', index }) => ({
    shown: `line ${lineOf(source, index)} has ${shown.slice(0, SHOWN_CHARACTERS_MAX)}`,
    name: inner.trim(),
  }));
  const other = found.find(({ name }) => !isConvertible(name));
  if (other !== undefined) return `${other.shown}, which is written differently in Liquid: ${remedyFor(other.name)}`;
  const reserved = found.find(({ name }) => isReserved(name));
  return reserved === undefined ? null : `${reserved.shown}, a name that Liquid uses itself: rename the variable`;
};

const variablesIn = (source: string): LiquidSource['variables'] => {
  const found = new Map<string, VariableKind>();
  const paths = [...source.matchAll(PLACEHOLDER)].map(([, inner = '']) => inner.trim()).filter(isPath);
  for (const path of paths) {
    const [root = '', ...rest] = path.split('.');
    if (rest.length > 0) found.set(root, 'object');
    else if (!found.has(root)) found.set(root, 'string');
  }
  return found;
};

const written = (whole: string, name: string, raw: boolean): string => {
  if (name === CONTENT) return '{{ content }}';
  if (name.startsWith(COMMENT)) return '';
  return raw && whole.startsWith('{{{') ? `{{ ${name} | raw }}` : `{{ ${name} }}`;
};

const PARTS = ['subject', 'html', 'text'] as const;
type Part = (typeof PARTS)[number];

export interface TemplateSources extends Readonly<Record<Part, string>> {}

interface PlaceholderOptions {
  /** True if triple braces output HTML unescaped. */
  readonly raw: boolean;
  /** Names of the parts in error messages. Default: ours. */
  readonly names?: Readonly<Record<Part, string>>;
}

export interface LiquidTemplate {
  readonly sources: TemplateSources;
  /** A variable that is used as an object anywhere is one. */
  readonly variables: ReadonlyMap<string, VariableKind>;
  /** The part in the vendor's words, and a sentence that begins with it. Not empty: nothing else of this is usable. */
  readonly problems: readonly (readonly [part: string, sentence: string])[];
}

/** Sorts objects last, so that they win. */
const byKind = ([, one]: readonly [string, string], [, other]: readonly [string, string]): number =>
  other.localeCompare(one);

/** The parts of a template in Liquid. */
export const liquidOf = (
  sources: TemplateSources,
  { raw, names = { subject: 'subject', html: 'html', text: 'text' } }: PlaceholderOptions,
): LiquidTemplate => {
  const converted = (part: Part): string =>
    sources[part].replaceAll(PLACEHOLDER, (whole: string, inner: string) =>
      written(whole, inner.trim(), raw && part === 'html'),
    );
  return {
    sources: { subject: converted('subject'), html: converted('html'), text: converted('text') },
    variables: new Map(PARTS.flatMap((part) => [...variablesIn(sources[part])]).toSorted(byKind)),
    problems: PARTS.flatMap((part) => {
      const problem = problemIn(sources[part]);
      return problem === null ? [] : [[names[part], `${names[part]} ${problem}`] as const];
    }),
  };
};

const OUTPUT = /\{\{-?\s*([^{}]*?)\s*-?\}\}/g;
const RAW = /\s*\|\s*raw$/;

const placeholder = (whole: string, inner: string): string => {
  if (inner === 'content') return `{{{${CONTENT}}}}`;
  if (isPath(inner)) return `{{${inner}}}`;
  const path = inner.replace(RAW, '');
  return isPath(path) ? `{{{${path}}}}` : whole;
};

/** Liquid in the vendors' placeholders. Filters and tags, which they do not know, stay as they are. */
export const placeholdersOf = (liquid: string): string => liquid.replaceAll(OUTPUT, placeholder);

/** True for a layout: its html has a place for the html of other templates. */
export const hasContentPlace = (html: string): boolean =>
  [...html.matchAll(PLACEHOLDER)].some(([, inner = '']) => ['content', CONTENT].includes(inner.trim()));

/** HTML of a template. One that has only a text shows it verbatim. */
export const htmlOrText = ({ html, text }: Pick<TemplateSources, 'html' | 'text'>): string =>
  html === '' && text !== '' ? `<pre>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</pre>` : html;
