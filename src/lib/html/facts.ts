import type { Target } from './hosts.ts';
import type { HtmlProblem } from './tokens.ts';

/** Position in the text as it was sent, in UTF-16 code units. */
interface TextPlace {
  readonly offset: number;
}

export interface LinkFact extends TextPlace {
  readonly href: string;
  readonly target: Target;
  /** Visible text of the link, cut after some hundred characters. */
  readonly text: string;
}

export interface ImageFact extends TextPlace {
  readonly src: string;
  readonly target: Target;
  /** Null: no such attribute. */
  readonly alt: string | null;
  /** Value as written in the attribute or the style. */
  readonly width: string | null;
  readonly height: string | null;
  readonly hidden: boolean;
}

/** Text under one element that no reader sees. */
export interface HiddenTextFact extends TextPlace {
  /** `display: none`. */
  readonly by: string;
  /** Count without white space and fillers. */
  readonly characters: number;
  /** No visible content precedes it. */
  readonly atStart: boolean;
  /** It has a class or an id by which a style sheet may show it. */
  readonly selectable: boolean;
}

export interface ElementFact extends TextPlace {
  /** `<script>`, `onclick`. */
  readonly what: string;
}

/** A piece of the source that is text: neither markup nor CSS nor comment. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** `code`: text in `<code>`, `<kbd>` or `<samp>`, which shows what is typed. */
  readonly kind: 'text' | 'code' | 'attribute';
}

/** All facts that the rules need about the html, read in one pass. */
export interface HtmlFacts {
  readonly source: string;
  readonly problems: readonly HtmlProblem[];
  /** Names of attributes that occur twice in their tag. */
  readonly repeatedAttributes: readonly ElementFact[];
  /** Links in the order of the source, like all lists here. */
  readonly links: readonly LinkFact[];
  readonly images: readonly ImageFact[];
  readonly hiddenTexts: readonly HiddenTextFact[];
  /** Elements that run code, ask for input or load a page. */
  readonly activeContents: readonly ElementFact[];
  readonly externalStyles: readonly ElementFact[];
  readonly spans: readonly Span[];
  /** The beginning of the visible text. */
  readonly visibleText: string;
  /** Count for the whole html, without white space and fillers. */
  readonly visibleCharacters: number;
  readonly depth: number;
  /** The html element; null: the source has none. */
  readonly root: (TextPlace & { readonly lang: string }) | null;
  /** A style sheet depends on the device or its settings. */
  readonly hasMediaQueries: boolean;
}
