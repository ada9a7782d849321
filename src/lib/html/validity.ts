export interface HtmlProblem {
  /** One-based. */
  readonly line: number;
  /** One-based, in UTF-16 code units. */
  readonly column: number;
  /** `unexpected end tag </div>`. */
  readonly message: string;
}

/** More do not help to correct the text; fewer make clients send it many times. */
export const HTML_PROBLEMS_MAX = 20;

/**
 * Elements open at once. Blink shows no more (`kMaximumHTMLParserDOMTreeDepth`); deeper ones cost everybody who reads
 * the mail more than they show.
 */
export const HTML_DEPTH_MAX = 512;

/** Stands for an escaped value in the shape of html. A noncharacter, as `OUTPUT_START` of the templates. */
export const SHAPE_VALUE = '\uFDD0';

export interface HtmlChecker {
  /**
   * The first problems in the order they stand in the text, at most `HTML_PROBLEMS_MAX`; none: the html is valid.
   * What takes too long to check is a problem too.
   * @param organizationId those with work waiting take turns.
   * @param shape the html without escaped values that stand in it, each as `SHAPE_VALUE`: valid html of a shape whose
   *   values are text or within quotes tells that all html of that shape is valid.
   * @throws {HtmlCheckUnavailable} it was not checked: its turn did not come in time.
   */
  check(html: string, organizationId: string, shape?: string): Promise<readonly HtmlProblem[]>;
  close(): Promise<void>;
}

/** A fault of ours, worth a retry. */
export class HtmlCheckUnavailable extends Error {
  override readonly name = 'HtmlCheckUnavailable';
}
