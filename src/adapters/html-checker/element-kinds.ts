import {
  ENDED_BY_START,
  FOREIGN_BREAKOUT,
  FOREIGN_ROOTS,
  HTML_IN_FOREIGN,
  ONCE,
  OPTIONAL_END,
  PARAGRAPH_END_REQUIRED_IN,
  SCOPE_BOUNDARIES,
  VOID_ELEMENTS,
} from './elements.ts';

/** What is asked about each start tag, so that it takes one look-up. */
export interface ElementKind {
  readonly name: string;
  readonly isVoid: boolean;
  readonly isOnce: boolean;
  readonly isScopeBoundary: boolean;
  readonly isForeignRoot: boolean;
  readonly isHtmlInForeign: boolean;
  readonly isForeignBreakout: boolean;
  /** The elements that its start tag ends when they are the innermost open ones. */
  readonly ends: ReadonlySet<string> | undefined;
}

const kind = (name: string): ElementKind => ({
  name,
  isVoid: VOID_ELEMENTS.has(name),
  isOnce: ONCE.has(name),
  isScopeBoundary: SCOPE_BOUNDARIES.has(name),
  isForeignRoot: FOREIGN_ROOTS.has(name),
  isHtmlInForeign: HTML_IN_FOREIGN.has(name),
  isForeignBreakout: FOREIGN_BREAKOUT.has(name),
  ends: ENDED_BY_START.get(name),
});

/** Of all that something is known about; most others are rare. */
const KINDS: ReadonlyMap<string, ElementKind> = new Map(
  [
    ...[VOID_ELEMENTS, ONCE, OPTIONAL_END, SCOPE_BOUNDARIES, FOREIGN_ROOTS, HTML_IN_FOREIGN, PARAGRAPH_END_REQUIRED_IN],
    ENDED_BY_START,
  ].flatMap((named) => [...named.keys()].map((name) => [name, kind(name)] as const)),
);

export const kindOf = (name: string): ElementKind => KINDS.get(name) ?? kind(name);
