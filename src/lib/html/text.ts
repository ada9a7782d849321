import type { LinkFact, Span } from './facts.ts';
import { targetOf } from './hosts.ts';
import type { HtmlProblem } from './tokens.ts';

/**
 * Tools for reading plain text: quoting it in a finding, counting its visible characters, finding lines and columns,
 * patterns and URLs in it.
 */

/** Enough to recognize the text while the response stays small. */
const QUOTED_CHARACTERS_MAX = 60;
/** Characters that would move, hide or break the text around them. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;

/** The beginning of a user's text, in quotes, safe to embed in a sentence. */
export const quoted = (text: string): string => {
  const cut = text.slice(0, QUOTED_CHARACTERS_MAX).toWellFormed().replace(UNPRINTABLE, '').trim();
  return `"${cut}${text.length > QUOTED_CHARACTERS_MAX ? '…' : ''}"`;
};

/** White space, and characters without width or a visible shape. Preheaders are padded with them. */
const UNSEEN_OR_SPACE = /(?:[\s\p{Cf}\u2800]|[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0])+/gu;

/** Number of visible characters of a text. */
export const seenCharacters = (text: string): number => text.replace(UNSEEN_OR_SPACE, '').length;

/** Line and column of an offset. */
export type Places = (offset: number) => Pick<HtmlProblem, 'line' | 'column'>;

const LF = 0x0a;
const CR = 0x0d;

/** LF, CR LF and CR end a line (HTML Standard §13.2.3.5). */
const endsLine = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code === LF || (code === CR && text.charCodeAt(at + 1) !== LF);
};

const lineStarts = (text: string): readonly number[] => {
  const starts = [0];
  for (let at = 0; at < text.length; at += 1) if (endsLine(text, at)) starts.push(at + 1);
  return starts;
};

/** Returns the offset of a line and column. Lines are counted once, on the first call. */
export const createOffsets = (text: string): ((place: Pick<HtmlProblem, 'line' | 'column'>) => number) => {
  let starts: readonly number[] | null = null;
  return ({ line, column }) => {
    starts ??= lineStarts(text);
    return (starts[line - 1] ?? text.length) + column - 1;
  };
};

/** Lines are counted once, on the first call. */
export const createPlaces = (text: string): Places => {
  let starts: readonly number[] | null = null;
  return (offset) => {
    starts ??= lineStarts(text);
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
};

export interface Hit {
  readonly text: string;
  readonly offset: number;
}

/** Yields every match. @param pattern global, and linear on any input. */
export function* hitsIn(text: string, pattern: RegExp): Generator<Hit> {
  for (const { 0: hit, index } of text.matchAll(pattern)) yield { text: hit, offset: index };
}

/** Yields the matches that begin inside a span. @param spans in order. */
export function* hitsInSpans(source: string, spans: readonly Span[], pattern: RegExp): Generator<Hit> {
  let at = 0;
  for (const hit of hitsIn(source, pattern)) {
    while ((spans[at]?.end ?? Number.POSITIVE_INFINITY) <= hit.offset) at += 1;
    if ((spans[at]?.start ?? Number.POSITIVE_INFINITY) <= hit.offset) yield hit;
  }
}

const URL_IN_TEXT = /\bhttps?:\/\/[^\s<>"'`{}|\\^]+/gi;
/** Characters that end a sentence or a bracket around the URL. */
const AFTER = new Set('.,;:!?)]*_');
const CHARACTERS_MAX = 2000;

const withoutEnd = (url: string): string => {
  let end = url.length;
  while (AFTER.has(url[end - 1] ?? '')) end -= 1;
  return url.slice(0, end);
};

/** URLs in a plain text, which mail programs turn into links. */
export const textLinks = (text: string): readonly LinkFact[] =>
  Array.from(text.matchAll(URL_IN_TEXT), ({ 0: url, index }) => {
    const href = withoutEnd(url.slice(0, CHARACTERS_MAX));
    return { offset: index, href, target: targetOf(href), text: href };
  });
