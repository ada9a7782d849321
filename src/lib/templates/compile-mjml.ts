import type { MjmlError } from 'mjml';
import type { CompiledHtml } from './compiler.ts';
import {
  depthProblem,
  isVoid,
  type Markup,
  markupIn,
  problemAt,
  rewriteMarkup,
  type WithPlaceholders,
  withPlaceholders,
} from './markup.ts';
import type { TemplateProblem } from './template-renderer.ts';

/**
 * Writes the end tags that html may omit (HTML Standard, optional tags): an XML parser would nest the elements after
 * them. Any other open element stays as it is.
 */

const names = (text: string): ReadonlySet<string> => new Set(text.split(' '));

const OPTIONAL = names('li dt dd p tr td th thead tbody tfoot caption colgroup option optgroup rt rp');
const CELLS = names('td th p');
const ROWS = names('td th tr p');
const BLOCKS = names(
  'address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3 h4 ' +
    'h5 h6 header hgroup hr main menu nav ol p pre search section table ul',
);

interface Ending {
  /** Elements that the start tag ends. */
  readonly ends: ReadonlySet<string>;
  /** Elements that may be open inside them, and end too. */
  readonly inside: ReadonlySet<string>;
}

const P = names('p');
const ending = (ends: string, inside: ReadonlySet<string> = P): Ending => ({ ends: names(ends), inside });

const GROUP = ending('thead tbody tfoot caption colgroup', ROWS);
const ENDINGS: Readonly<Record<string, Ending>> = {
  li: ending('li'),
  dt: ending('dt dd'),
  dd: ending('dt dd'),
  rt: ending('rt rp'),
  rp: ending('rt rp'),
  option: ending('option'),
  optgroup: ending('optgroup', names('option')),
  td: ending('td th caption colgroup'),
  th: ending('td th caption colgroup'),
  tr: ending('tr caption colgroup', CELLS),
  thead: GROUP,
  tbody: GROUP,
  tfoot: GROUP,
};

const endingOf = (name: string): Ending | undefined => ENDINGS[name] ?? (BLOCKS.has(name) ? ending('p') : undefined);

/** Number of open elements that a start tag ends. */
const endedBy = (open: readonly string[], name: string): number => {
  const found = endingOf(name);
  if (found === undefined) return 0;
  const { ends, inside } = found;
  let ended = 0;
  for (let depth = 1; depth <= open.length; depth += 1) {
    const element = open.at(-depth) ?? '';
    if (ends.has(element)) ended = depth;
    else if (!inside.has(element)) break;
  }
  return ended;
};

/**
 * Number of elements that end inside the element of an end tag; none: it is not open, or an inner element needs its own
 * end tag.
 */
const endedInside = (open: readonly string[], name: string): number => {
  const at = open.lastIndexOf(name);
  const inner = at < 0 ? [] : open.slice(at + 1);
  return inner.every((each) => OPTIONAL.has(each)) ? inner.length : 0;
};

const endTags = (open: string[], count: number): string => {
  const ended = count === 0 ? [] : open.splice(-count).reverse();
  return ended.map((name) => `</${name}>`).join('');
};

/** Number of elements that end with a component: those open after the last one that needs its end tag. */
const endedAtLast = (open: readonly string[]): number =>
  open.length - 1 - open.findLastIndex((name) => !OPTIONAL.has(name));

/** Several of these may write one row together. */
const RAW = 'mj-raw';

const endedBefore = (open: readonly string[], { kind, name }: Markup, isComponent: boolean): number => {
  if (isComponent) return kind === 'end' && name !== RAW ? endedAtLast(open) : 0;
  return kind === 'end' ? endedInside(open, name) : endedBy(open, name);
};

/** @param isComponent true for the tags of components, which contain the html. */
const withImpliedEndTags = (
  text: string,
  markup: readonly Markup[],
  isComponent: (each: Markup) => boolean,
): string => {
  const open: string[] = [];
  return rewriteMarkup(text, markup, (tag, each) => {
    const { kind, name } = each;
    const ends = endTags(open, endedBefore(open, each, isComponent(each)));
    if (isComponent(each)) open.splice(0);
    else if (kind === 'start') open.push(name);
    else if (kind === 'end' && open.at(-1) === name) open.pop();
    return ends + tag;
  });
};

/** Problems of MJML that must be found before compiling, since the compiler would drop content or use up the memory. */

/** Elements whose text is never shown. */
const CONTAINERS: ReadonlySet<string> = new Set([
  'mjml',
  'mj-accordion',
  'mj-accordion-element',
  'mj-attributes',
  'mj-body',
  'mj-carousel',
  'mj-column',
  'mj-group',
  'mj-head',
  'mj-hero',
  'mj-html-attributes',
  'mj-navbar',
  'mj-section',
  'mj-selector',
  'mj-social',
  'mj-wrapper',
]);

const isMjml = ({ name }: Markup): boolean => name === 'mjml' || name.startsWith('mj-');

/** The part of a source being read. */
interface Reading {
  readonly source: string;
  readonly text: string;
  /** Components around the current position. */
  readonly open: Markup[];
  hasRoot: boolean;
}

const endTagProblem = ({ source, open }: Reading, { name, offset }: Markup): TemplateProblem | null => {
  const inner = open.at(-1);
  if (inner?.name === name) return null;
  if (inner === undefined) return problemAt(source, offset, `unexpected end tag </${name}>`);
  return open.some((each) => each.name === name)
    ? problemAt(source, inner.offset, `<${inner.name}> is never closed`)
    : problemAt(source, offset, `unexpected end tag </${name}>: <${inner.name}> is open`);
};

const startTagProblem = ({ source, open, hasRoot }: Reading, { name, offset }: Markup): TemplateProblem | null => {
  if (name === 'mj-include') return problemAt(source, offset, 'mj-include is not supported: use a layout');
  if (open.length > 0) return null;
  if (hasRoot) return problemAt(source, offset, 'nothing may follow </mjml>');
  return name === 'mjml' ? null : problemAt(source, offset, 'it must begin with <mjml>');
};

/** The compiler drops stray text. One character is a typo, which even an official template has; a word is a loss. */
const LOSS = /[\p{L}\p{N}]{2}/u;

const strayTextProblem = ({ source, text, open }: Reading, from: number, to: number): TemplateProblem | null => {
  if (!CONTAINERS.has(open.at(-1)?.name ?? '')) return null;
  const between = text.slice(from, to);
  if (!LOSS.test(between)) return null;
  const sentence = 'text is not shown here: use <mj-text>, or <mj-raw> around Liquid tags';
  return problemAt(source, from + between.search(/\S/), sentence);
};

/** Enters or leaves a component. */
const step = (reading: Reading, each: Markup): TemplateProblem | null => {
  const { open } = reading;
  const problem = each.kind === 'end' ? endTagProblem(reading, each) : startTagProblem(reading, each);
  reading.hasRoot = true;
  if (each.kind === 'start') open.push(each);
  if (each.kind === 'end') open.pop();
  return problem;
};

const endProblem = ({ source, open, hasRoot }: Reading): TemplateProblem | null => {
  const inner = open.at(-1);
  if (inner !== undefined) return problemAt(source, inner.offset, `<${inner.name}> is never closed`);
  return hasRoot ? null : problemAt(source, 0, 'it must begin with <mjml>');
};

const structureProblem = (source: string, text: string, markup: readonly Markup[]): TemplateProblem | null => {
  const reading: Reading = { source, text, open: [], hasRoot: false };
  let end = 0;
  for (const each of markup) {
    const problem = strayTextProblem(reading, end, each.offset) ?? (isMjml(each) ? step(reading, each) : null);
    if (problem !== null) return problem;
    end = each.end;
  }
  return endProblem(reading);
};

/** Elements whose contents are copied into other elements: attributes of classes, rules of sheets. */
const REPEATED: ReadonlySet<string> = new Set(['mj-attributes', 'mj-html-attributes', 'mj-style']);
/** Elements whose attributes are copied into each of their children. */
const INHERITED: ReadonlySet<string> = new Set(['mj-accordion', 'mj-carousel', 'mj-navbar', 'mj-social']);

/**
 * Repeated characters times the elements that may repeat them: at most 250 MB of memory, beyond which the whole process
 * is in danger. The largest official template has 0.6 million; less rejects sheets of 20 kB for 2,000 tags.
 */
const REPETITION_MAX = 50_000_000;
/** Each image of a carousel has rules for every other one: 5 MB at 500. Readers look at five. */
const CAROUSEL_IMAGES_MAX = 100;

const repeatedCharacters = (markup: readonly Markup[]): number => {
  let from = 0;
  let characters = 0;
  for (const { kind, name, offset, end } of markup) {
    if (REPEATED.has(name) && kind === 'start') from = offset;
    else if (REPEATED.has(name)) characters += offset - from;
    else if (INHERITED.has(name)) characters += end - offset;
  }
  return characters;
};

const sizeProblem = (source: string, markup: readonly Markup[]): TemplateProblem | null => {
  const images = markup.filter(({ name, kind }) => name === 'mj-carousel-image' && kind !== 'end');
  const tooMany = images[CAROUSEL_IMAGES_MAX];
  if (tooMany !== undefined)
    return problemAt(source, tooMany.offset, `carousels may have ${CAROUSEL_IMAGES_MAX} images in all`);
  return repeatedCharacters(markup) * markup.length <= REPETITION_MAX
    ? null
    : problemAt(source, 0, 'shared attributes and styles are too long for so many elements: shorten them');
};

/** @param text the source with placeholders of the same length in place of Liquid. */
const mjmlProblem = (source: string, text: string, markup: readonly Markup[]): TemplateProblem | null =>
  depthProblem(source, markup) ?? structureProblem(source, text, markup) ?? sizeProblem(source, markup);

/**
 * MJML by the official compiler. It tolerates more than a template may lose: unknown elements and text between
 * components disappear, and a missing end tag moves the content after it. These are rejected first, with line and
 * column. Known output errors are corrected before or after compiling: quotation marks in attributes, comments in a
 * carousel, and html next to `mj-html-attributes`, which the compiler reads as XML.
 */

const SINGLE_QUOTED = /"[^"]*"|'([^']*)'/g;

/** The compiler writes values unescaped between double quotes, and looks for end tags in lower case. */
const withPlainTags = (text: string, markup: readonly Markup[]): string =>
  rewriteMarkup(text, markup, (tag, each) =>
    isMjml(each)
      ? tag
          .replace(/^<\/?[a-z-]+/i, (start) => start.toLowerCase())
          .replaceAll(SINGLE_QUOTED, (whole, value?: string) =>
            value === undefined ? whole : `"${value.replaceAll('"', '&quot;')}"`,
          )
      : tag,
  );

const WITHOUT_COMMENTS = /<mj-(carousel|html-attributes)\b[\s\S]*?<\/mj-\1/g;
const COMMENT = /<!--[\s\S]*?-->/g;

/** The compiler treats comments as components, which are not allowed everywhere. Keeps the length. */
const withFewerComments = (text: string): string =>
  text.replaceAll(WITHOUT_COMMENTS, (block) => block.replaceAll(COMMENT, (comment) => comment.replaceAll(/\S/g, ' ')));

/** Closes elements for an XML parser, which would leave `<br>` open, and `<li>` before another one. */
const withClosedElements = (text: string): string => {
  const ended = withImpliedEndTags(text, markupIn(text), isMjml);
  return rewriteMarkup(ended, markupIn(ended), (tag, { kind }) =>
    kind === 'void' && !tag.endsWith('/>') ? `${tag.slice(0, -1)}/>` : tag,
  );
};

/** An XML writer turns an empty element into `<div/>`, which browsers leave open. */
const withEndTags = (html: string): string =>
  rewriteMarkup(html, markupIn(html), (tag, { kind, name }) =>
    kind === 'void' && !isVoid(name) && !tag.startsWith(`<${name}:`) ? `${tag.slice(0, -2)}></${name}>` : tag,
  );

const HAS_HTML_ATTRIBUTES = /<mj-html-attributes\b/;

const OPTIONS = {
  // MJML loads fonts from Google by name, which would tell a third party who reads the mail.
  fonts: {},
  ignoreIncludes: true,
  keepComments: true,
  filePath: '',
  noMigrateWarn: true,
} as const;

const offsetOfLine = (text: string, line: number): number => {
  let offset = 0;
  for (let each = 1; each < line; each += 1) offset = text.indexOf('\n', offset) + 1;
  return offset;
};

const NOT_INSIDE = /^(\S+) cannot be used inside (\S+), only inside: (.*)$/;

const isAboutAttribute = ({ message }: MjmlError): boolean => message.startsWith('Attribute');

const problemOfError = (source: string, text: string, { line, tagName, message }: MjmlError): TemplateProblem => {
  const lineStart = offsetOfLine(text, line);
  const offset = Math.max(lineStart, text.indexOf(`<${tagName}`, lineStart));
  const [, name, parent, parents] = NOT_INSIDE.exec(message) ?? [];
  const sentence =
    name === undefined
      ? `unknown element <${tagName}>`
      : `<${name}> is not allowed in <${parent}>, only in: ${parents}`;
  return problemAt(source, offset, sentence);
};

/** The errors of a strict validation; null if it failed for another reason. */
const errorsOf = (error: unknown): readonly MjmlError[] | null =>
  error instanceof Error && 'errors' in error ? (error.errors as readonly MjmlError[]) : null;

interface CompileResult {
  /** null: compiling failed. */
  readonly html: string | null;
  readonly errors: readonly MjmlError[];
  readonly reason: string;
}

const attempt = (compile: () => { readonly html: string }): CompileResult => {
  try {
    return { html: compile().html, errors: [], reason: '' };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { html: null, errors: errorsOf(error) ?? [], reason };
  }
};

/** Attributes that MJML does not know, and values of another type, are accepted, because mail clients ignore them. */
const compileText = async (text: string): Promise<CompileResult> => {
  const { default: compile } = await import('mjml');
  const strict = attempt(() => compile(text, { ...OPTIONS, validationLevel: 'strict' }));
  if (strict.html !== null || !strict.errors.every(isAboutAttribute)) return strict;
  return { ...attempt(() => compile(text, { ...OPTIONS, validationLevel: 'skip' })), errors: strict.errors };
};

const PLAIN_VALUE = 'MJML calculates with this value: write it here, without Liquid';

/** A width written in Liquid has no number to calculate with. */
const calculationProblem = (
  source: string,
  { firstIn }: WithPlaceholders,
  errors: readonly MjmlError[],
): TemplateProblem | null => {
  const offset = firstIn(errors.map(({ message }) => message).join());
  return offset === null ? null : problemAt(source, offset, PLAIN_VALUE);
};

const problemOf = (source: string, placeholders: WithPlaceholders, compiled: CompileResult): TemplateProblem | null => {
  const { html, errors, reason } = compiled;
  const misplaced = errors.find((each) => !isAboutAttribute(each));
  if (misplaced !== undefined) return problemOfError(source, placeholders.text, misplaced);
  const calculation = calculationProblem(source, placeholders, errors);
  if (html === null) return calculation ?? problemAt(source, 0, `the MJML could not be compiled: ${reason}`);
  if (calculation !== null && html.includes('NaN') && !source.includes('NaN')) return calculation;
  const lost = placeholders.lost(html);
  return lost === null ? null : problemAt(source, lost, PLAIN_VALUE);
};

export const compileMjml = async (source: string): Promise<CompiledHtml> => {
  const placeholders = withPlaceholders(source, false);
  const markup = markupIn(placeholders.text);
  const wrong = mjmlProblem(source, placeholders.text, markup);
  if (wrong !== null) return { problem: wrong };
  const plain = withFewerComments(withPlainTags(placeholders.text, markup));
  const isXml = HAS_HTML_ATTRIBUTES.test(plain);
  const compiled = await compileText(isXml ? withClosedElements(plain) : plain);
  const problem = problemOf(source, placeholders, compiled);
  if (problem !== null) return { problem };
  const html = compiled.html ?? '';
  return { html: placeholders.restore(isXml ? withEndTags(html) : html) };
};
