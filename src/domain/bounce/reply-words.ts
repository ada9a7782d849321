import type { BounceCategory } from './categories.ts';

/** One line of the classifier's table. */
export interface ReplyWords {
  readonly category: BounceCategory;
  /** In lower case, with addresses left out and single spaces. Takes linear time. */
  readonly words: RegExp;
  /** Only where this host answered. */
  readonly mx?: RegExp;
  /** Only beside an enhanced code of this subject and detail, `7.1`. */
  readonly status?: string;
  /** Who writes so: documentation of a provider, or the program. */
  readonly source: string;
  /** A reply as it comes, `550 5.1.1 No such user`: the test of this line. */
  readonly example: string;
}

/** A line about one category, whoever answers. */
export const saying =
  (category: BounceCategory) =>
  (words: RegExp, source: string, example: string): ReplyWords => ({ category, words, source, example });
