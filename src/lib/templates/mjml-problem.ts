import { depthProblem, type Markup, problemAt } from './markup.ts';
import type { TemplateProblem } from './template-renderer.ts';

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

export const isMjml = ({ name }: Markup): boolean => name === 'mjml' || name.startsWith('mj-');

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
export const mjmlProblem = (source: string, text: string, markup: readonly Markup[]): TemplateProblem | null =>
  depthProblem(source, markup) ?? structureProblem(source, text, markup) ?? sizeProblem(source, markup);
