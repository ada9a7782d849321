import type { Target } from './hosts.ts';
import type { HtmlProblem } from './validity.ts';

/** Where something begins in the text as it was sent, in UTF-16 code units. */
interface TextPlace {
  readonly offset: number;
}

export interface LinkFact extends TextPlace {
  readonly href: string;
  readonly target: Target;
  /** What a reader sees of it, cut after some hundred characters. */
  readonly text: string;
}

export interface ImageFact extends TextPlace {
  readonly src: string;
  readonly target: Target;
  /** Null: it has no such attribute. */
  readonly alt: string | null;
  /** As written, from the attribute or the style. */
  readonly width: string | null;
  readonly height: string | null;
  readonly hidden: boolean;
}

/** Text under one element that no reader sees. */
export interface HiddenTextFact extends TextPlace {
  /** `display: none`. */
  readonly by: string;
  /** White space and fillers not counted. */
  readonly characters: number;
  /** Nothing that is seen stands before it. */
  readonly atStart: boolean;
  /** It has a class or an id by which a style sheet may show it. */
  readonly selectable: boolean;
}

export interface ElementFact extends TextPlace {
  /** `<script>`, `onclick`. */
  readonly what: string;
}

/** A piece of the source in which text stands: neither markup nor CSS nor comment. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** `code`: text that is shown as it is typed, in `<code>`, `<kbd>` or `<samp>`. */
  readonly kind: 'text' | 'code' | 'attribute';
}

/** All that the rules ask of the html, read in one pass. */
export interface HtmlFacts {
  readonly source: string;
  readonly problems: readonly HtmlProblem[];
  /** Names of attributes that their tag has already. */
  readonly repeatedAttributes: readonly ElementFact[];
  /** In the order of the source, as all lists here. */
  readonly links: readonly LinkFact[];
  readonly images: readonly ImageFact[];
  readonly hiddenTexts: readonly HiddenTextFact[];
  /** What runs, asks for input or loads a page. */
  readonly activeContents: readonly ElementFact[];
  readonly externalStyles: readonly ElementFact[];
  readonly spans: readonly Span[];
  /** The beginning of what a reader sees. */
  readonly visibleText: string;
  /** Of all of it; white space and fillers not counted. */
  readonly visibleCharacters: number;
  readonly depth: number;
  /** The html element; null: the source has none. */
  readonly root: (TextPlace & { readonly lang: string }) | null;
  /** A style sheet asks what it is shown on. */
  readonly hasMediaQueries: boolean;
}
