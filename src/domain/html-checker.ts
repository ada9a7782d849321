/**
 * PORT: whether a body is valid HTML in the sense of the API (mis-nesting, elements left open, input that ends inside
 * a tag, garbage that the standard's parser drops). Adapter: `adapters/html-checker`.
 */

export interface HtmlProblem {
  /** One-based. */
  readonly line: number;
  /** One-based, in UTF-16 code units. */
  readonly column: number;
  /** `unexpected end tag </div>`. */
  readonly message: string;
}

/** More would not help whoever corrects the text; fewer would make him send it many times. */
export const HTML_PROBLEMS_MAX = 20;

export interface HtmlChecker {
  /**
   * The first problems in the order they stand in the text, at most `HTML_PROBLEMS_MAX`; none: the html is valid.
   * @throws {HtmlCheckUnavailable} it was not checked: the threads are busy or a time limit ended it.
   */
  check(html: string): Promise<readonly HtmlProblem[]>;
  close(): Promise<void>;
}

/** A fault of ours, worth a retry: checking takes time in proportion to the size, so a limit means a busy machine. */
export class HtmlCheckUnavailable extends Error {
  override readonly name = 'HtmlCheckUnavailable';
}
