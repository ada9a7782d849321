import { createOffsets, createPlaces } from '../../lib/html/html.ts';
import type { TemplatePlace } from '../../lib/templates/templates.ts';

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

/** A Liquid tag, or a block whose content is not parsed as Liquid. */
const TAG = /\{%-?\s*(raw|comment)\s*-?%\}[\s\S]*?\{%-?\s*end\1\s*-?%\}|\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}/g;
/** The text of a line without its indentation. */
const LINE = /\S[^\r\n]*/g;

const isTag = (source: string, offset: number): boolean =>
  source.startsWith('{{', offset) || source.startsWith('{%', offset);

/** Inserts marks into a source. @param source must be renderable: its tags are closed, and there are not too many. */
export const withMarks = (source: string): string => {
  let marked = '';
  let end = 0;
  const add = (piece: string): void => {
    const start = end;
    marked += piece.replace(LINE, (line, at: number) => mark(start + at) + line);
  };
  for (const { 0: tag, index } of source.matchAll(TAG)) {
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
export type PlaceInSource = (place: TemplatePlace) => TemplatePlace | null;

/**
 * @param rendered rendering of `source`, possibly within other text.
 * @param marked the same for `withMarks(source)`.
 */
export const placesInSource = (source: string, rendered: string, marked: string): PlaceInSource => {
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
