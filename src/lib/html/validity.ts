export interface HtmlProblem {
  /** One-based. */
  readonly line: number;
  /** One-based, in UTF-16 code units. */
  readonly column: number;
  /** `unexpected end tag </div>`. */
  readonly message: string;
}

/** More do not help to correct the text; fewer make clients resubmit it many times. */
export const HTML_PROBLEMS_MAX = 20;

/**
 * Maximum number of open elements. Blink shows no more (`kMaximumHTMLParserDOMTreeDepth`); deeper ones cost every
 * reader's mail program more than they show.
 */
export const HTML_DEPTH_MAX = 512;

/** Placeholder for an escaped value in the shape of html. A noncharacter, like `OUTPUT_START` of the templates. */
export const SHAPE_VALUE = '\uFDD0';

export interface HtmlChecker {
  /**
   * Returns the first problems in source order, at most `HTML_PROBLEMS_MAX`; an empty list means that the html is
   * valid.
   * Html that takes too long to check is a problem too.
   * @param organizationId organizations with waiting work take turns.
   * @param shape the html with each escaped value replaced by `SHAPE_VALUE`. If html is valid and the values in its
   * shape are text or quoted, all html of that shape is valid.
   * @throws {HtmlCheckUnavailable} the html was not checked because its turn did not come in time.
   */
  check(html: string, organizationId: string, shape?: string): Promise<readonly HtmlProblem[]>;
  close(): Promise<void>;
}

/** A fault of ours, worth a retry. */
export class HtmlCheckUnavailable extends Error {
  override readonly name = 'HtmlCheckUnavailable';
}
