import type { Span } from '../facts.ts';

export interface Hit {
  readonly text: string;
  readonly offset: number;
}

/** Every match. @param pattern global, and linear on whatever it is given. */
export function* hitsIn(text: string, pattern: RegExp): Generator<Hit> {
  for (const { 0: hit, index } of text.matchAll(pattern)) yield { text: hit, offset: index };
}

/** Those that begin inside a span. @param spans in order. */
export function* hitsInSpans(source: string, spans: readonly Span[], pattern: RegExp): Generator<Hit> {
  let at = 0;
  for (const hit of hitsIn(source, pattern)) {
    while ((spans[at]?.end ?? Number.POSITIVE_INFINITY) <= hit.offset) at += 1;
    if ((spans[at]?.start ?? Number.POSITIVE_INFINITY) <= hit.offset) yield hit;
  }
}
