import type { Pausing } from '../../lib/async/async.ts';
import { createOffsets, createPlaces } from '../../lib/html/html.ts';
import {
  LIQUID_TAGS,
  OUTPUT_END,
  OUTPUT_START,
  TemplateFailed,
  type TemplatePlace,
  type TemplateRenderer,
  type Values,
} from '../../lib/templates/templates.ts';
import { VIEW_URL_PLACEHOLDER, VIEW_URL_VARIABLE } from '../message/tokens.ts';
import {
  bestTag,
  CONTENT_VARIABLE,
  htmlOf,
  type LocalizedContent,
  localized,
  type TemplateContent,
} from './content.ts';

/** A message rendered from a template, ready to be sent. */
export interface RenderedTemplate {
  readonly subject: string;
  readonly html: string;
  /** The HTML without the values of outputs, each replaced with `OUTPUT_START`. */
  readonly shape: string;
  /** Absent: derived from the HTML. */
  readonly text?: string;
  readonly from?: string;
  readonly replyTo?: readonly string[];
  /**
   * Maps a place in the rendered HTML or text to the template's source; null if that is impossible, as for layouts and
   * compiled HTML. The first call renders once more.
   */
  sourceOf(field: string, place: TemplatePlace): Pausing<SourcePlace | null>;
}

/** A place in a part of a template. */
export interface SourcePlace extends TemplatePlace {
  /** Field, such as `html` or `locales.de.text`. */
  readonly field: string;
}

/** RFC 5322 §2.1.1. */
const SUBJECT_CHARACTERS_MAX = 998;
const PREHEADER_CHARACTERS_MAX = 1_000;
const BODY_CHARACTERS_MAX = 1_000_000;
const ADDRESS_CHARACTERS_MAX = 998;
const DEFAULT_LOCALE = 'en';

/** Placeholder for the surrounded HTML in a rendered layout. A private-use character, which Liquid does not escape. */
const CONTENT_MARK = '\uE000content\uE000';
const BODY_TAG = /<body\b[^>]{0,2000}>/i;

/** The HTML to send, and its shape. */
export const readMarks = (marked: string): { readonly html: string; readonly shape: string } => {
  const pieces = marked.split(OUTPUT_START).map((piece, index) => {
    const [before = '', ...after] = piece.split(OUTPUT_END);
    return { whole: before + after.join(''), constant: index === 0 ? before + after.join('') : after.join('') };
  });
  return {
    html: pieces.map(({ whole }) => whole).join(''),
    shape: pieces.map(({ constant }) => constant).join(OUTPUT_START),
  };
};

/** Built-in variables. A variable of the same name that the template declares takes precedence. */
const BUILT_IN: Values = { [VIEW_URL_VARIABLE]: VIEW_URL_PLACEHOLDER };

/** Replaces line ends, because a value must not end a header. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();

const withPreheader = (html: string, preheader: string): string => {
  if (preheader === '') return html;
  const hidden = `<div style="display:none;max-height:0;overflow:hidden">${preheader}</div>`;
  const body = BODY_TAG.exec(html);
  if (body === null) return hidden + html;
  const at = body.index + body[0].length;
  return html.slice(0, at) + hidden + html.slice(at);
};

interface Rendering {
  readonly values: Values;
  readonly locale: string | null;
}

/** The content with one part replaced by its marked source. */
const markedIn = (content: TemplateContent, tag: string | null, part: Partial<LocalizedContent>): TemplateContent => {
  const { locales } = content;
  const localized = tag === null ? undefined : locales[tag];
  return tag === null || localized === undefined
    ? { ...content, ...part }
    : { ...content, locales: { ...locales, [tag]: { ...localized, ...part } } };
};

/** @param made the rendered output. */
const sourcePlaces = (
  renderer: TemplateRenderer,
  content: TemplateContent,
  rendering: Rendering,
  made: Pick<RenderedTemplate, 'html' | 'text'>,
): RenderedTemplate['sourceOf'] => {
  const tag = bestTag(content.locales, rendering.locale);
  const source = localized(content.locales, rendering.locale) ?? content;

  function* placesIn(field: 'html' | 'text'): Pausing<PlaceInSource> {
    const { [field]: written = '' } = source;
    const { [field]: rendered = '' } = made;
    try {
      const marked = yield* renderTemplate(
        renderer,
        markedIn(content, tag, { [field]: withMarks(written) }),
        rendering,
      );
      return placesInSource(written, rendered, marked[field] ?? '');
    } catch (error) {
      if (error instanceof TemplateFailed) return () => null; // the marks exceeded a limit
      throw error;
    }
  }

  const known: Partial<Record<'html' | 'text', PlaceInSource>> = {};
  const path = tag === null ? '' : `locales.${tag}.`;
  return function* find(field, place) {
    if (field !== 'html' && field !== 'text') return null;
    known[field] ??= yield* placesIn(field);
    const found = known[field](place);
    return found === null ? null : { field: path + field, ...found };
  };
};

type RenderPart = (name: string, source: string, charactersMax: number, given?: Values) => Pausing<string>;

/** Renders the HTML within the template's layouts. */
function* inLayouts(
  { compiled }: TemplateContent,
  { values, locale }: Rendering,
  part: RenderPart,
  html: string,
): Pausing<string> {
  let inner = html;
  for (const layout of compiled?.layouts ?? []) {
    const surrounding = localized(layout.locales, locale) ?? layout.html;
    const given = { ...values, [CONTENT_VARIABLE]: CONTENT_MARK };
    const outer = yield* part('layout', surrounding, BODY_CHARACTERS_MAX, given);
    inner = outer.split(CONTENT_MARK).join(inner);
  }
  return inner;
}

function* renderReplyTo(
  { replyTo: sources }: TemplateContent,
  part: RenderPart,
): Pausing<Pick<RenderedTemplate, 'replyTo'>> {
  if (sources === undefined) return {};
  const replyTo: string[] = [];
  for (const source of sources) replyTo.push(oneLine(yield* part('reply_to', source, ADDRESS_CHARACTERS_MAX)));
  return { replyTo };
}

/**
 * Renders a template's content with checked values (`resolveValues`). Yields before each part is parsed and before it
 * is rendered.
 * @param locale BCP 47. The best translation is used, or the default.
 * @throws {TemplateFailed} naming the part: `subject: …`.
 */
export function* renderTemplate(
  renderer: TemplateRenderer,
  content: TemplateContent,
  { values, locale }: Rendering,
): Pausing<RenderedTemplate> {
  const best: LocalizedContent = localized(content.locales, locale) ?? content;
  const compiled = htmlOf(content);
  const source = localized(compiled.locales, locale) ?? compiled.html;
  function* part(name: string, source: string, charactersMax: number, given: Values = values): Pausing<string> {
    try {
      const escapes = name === 'html' || name === 'preheader' || name === 'layout';
      const options = { locale: locale ?? DEFAULT_LOCALE, escapes, charactersMax };
      yield;
      renderer.prepare(source, options);
      yield;
      return renderer.render(source, { ...BUILT_IN, ...given }, options);
    } catch (error) {
      if (error instanceof TemplateFailed) throw new TemplateFailed(`${name}: ${error.message}`);
      throw error;
    }
  }
  const marked = withPreheader(
    yield* inLayouts(content, { values, locale }, part, yield* part('html', source, BODY_CHARACTERS_MAX)),
    oneLine(yield* part('preheader', best.preheader ?? '', PREHEADER_CHARACTERS_MAX)),
  );
  const { html, shape } = readMarks(marked);
  if (html.length > BODY_CHARACTERS_MAX)
    throw new TemplateFailed(`html: its result is longer than ${BODY_CHARACTERS_MAX} characters`);
  const bodies = {
    html,
    ...(best.text === undefined ? {} : { text: yield* part('text', best.text, BODY_CHARACTERS_MAX) }),
  };
  return {
    ...bodies,
    sourceOf: sourcePlaces(renderer, content, { values, locale }, bodies),
    subject: oneLine(yield* part('subject', best.subject, SUBJECT_CHARACTERS_MAX)),
    shape,
    ...(content.from === undefined ? {} : { from: oneLine(yield* part('from', content.from, ADDRESS_CHARACTERS_MAX)) }),
    ...(yield* renderReplyTo(content, part)),
  };
}

/**
 * Maps places in a rendering back to the template's source. The source is rendered a second time with marks that
 * contain offsets, before the text of each line and before each tag. They are placed where Liquid does not strip white
 * space, so that the rendering differs only by the marks. If it differs otherwise (a filter counted them), no place is
 * reported.
 */

/** Noncharacters, like `OUTPUT_START`. */
const MARK_START = '\uFDD2';
const MARK_END = '\uFDD3';
const MARKS = new RegExp(`${MARK_START}([0-9a-z]+)${MARK_END}`, 'g');
const RADIX = 36;

const mark = (offset: number): string => `${MARK_START}${offset.toString(RADIX)}${MARK_END}`;

/** The text of a line without its indentation. */
const LINE = /\S[^\r\n]*/g;

const isTag = (source: string, offset: number): boolean =>
  source.startsWith('{{', offset) || source.startsWith('{%', offset);

/** Inserts marks into a source. @param source must be renderable: its tags are closed, and there are not too many. */
const withMarks = (source: string): string => {
  let marked = '';
  let end = 0;
  const add = (piece: string): void => {
    const start = end;
    marked += piece.replace(LINE, (line, at: number) => mark(start + at) + line);
  };
  for (const { 0: tag, index } of source.matchAll(LIQUID_TAGS)) {
    const piece = source.slice(end, index);
    // A tag that strips white space also strips it from after the mark.
    const kept = tag[2] === '-' ? piece.trimEnd() : piece;
    add(kept);
    marked += mark(index) + piece.slice(kept.length) + tag;
    end = index + tag.length;
  }
  add(source.slice(end));
  return marked;
};

interface Mark {
  /** Offset in the rendering. */
  readonly at: number;
  /** Offset in the source. */
  readonly offset: number;
}

const marksIn = (marked: string): readonly Mark[] => {
  let removed = 0;
  return [...marked.matchAll(MARKS)].map(({ 0: { length }, 1: offset = '', index }) => {
    removed += length;
    return { at: index + length - removed, offset: Number.parseInt(offset, RADIX) };
  });
};

/** Returns null if the place is unknown. The output of a tag maps to the tag. */
type PlaceInSource = (place: TemplatePlace) => TemplatePlace | null;

/**
 * @param rendered rendering of `source`, possibly within other text.
 * @param marked the same for `withMarks(source)`.
 */
const placesInSource = (source: string, rendered: string, marked: string): PlaceInSource => {
  if (marked.replace(MARKS, '') !== rendered) return () => null;
  const marks = marksIn(marked);
  const placeOf = createPlaces(source);
  const offsetOf = createOffsets(rendered);
  return (place) => {
    const offset = offsetOf(place);
    const before = marks.findLast(({ at }) => at <= offset);
    if (before === undefined) return null;
    if (isTag(source, before.offset)) return placeOf(before.offset);
    const isConstant = source.startsWith(rendered.slice(before.at, offset + 1), before.offset);
    return isConstant ? placeOf(before.offset + offset - before.at) : null;
  };
};
