/** Tokens of HTML as the tokenizers report them. Offsets are UTF-16 code units from the beginning of the source. */

/** Valid until the next token. Attribute values are decoded on access. */
export interface StartTag {
  /** In lower case. */
  readonly name: string;
  /** Offset of its `<`. */
  readonly offset: number;
  /** Written `<div/>`, which does not close it. */
  readonly isSelfClosing: boolean;
  readonly hasAttributes: boolean;
  readonly attributes: readonly Attribute[];
  attribute(name: string): string | undefined;
}

export interface Attribute {
  /** In lower case. */
  readonly name: string;
  /** Range from its name to its closing quote. */
  readonly start: number;
  readonly end: number;
  /** Value with character references decoded. */
  readonly value: string;
}

/** Receives the tokens in the order of the source. */
export interface TokenHandler {
  startTag(tag: StartTag): void;
  /** @param offset of its `<`. */
  endTag(name: string, offset: number): void;
  /** Absent: the text is not needed. Text between two tags can come in several pieces. */
  readonly text: ((text: string, start: number) => void) | undefined;
  /** A comment, doctype or processing instruction begins. */
  other(offset: number): void;
  /** Name of the innermost open element; empty: none is open. */
  innermost(): string;
  /** The content here is SVG or MathML. */
  isInForeign(): boolean;
}
