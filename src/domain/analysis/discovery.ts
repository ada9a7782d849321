import type { HtmlProblem } from '../html-checker.ts';
import type { MessageFacts } from './facts.ts';
import type { RuleName } from './rule-table.ts';

/** One time that a rule applies. There can be very many, of which few are shown: those tell their message when asked. */
export interface Discovery {
  readonly rule: RuleName;
  readonly field: string;
  /** What and where, as a sentence without its capital and its full stop. */
  readonly message: () => string;
  /** In the field's text: its offset, or its line and column. */
  readonly at?: number | Pick<HtmlProblem, 'line' | 'column'>;
}

/** One family of rules. */
export type Check = (facts: MessageFacts) => Iterable<Discovery>;

/** @param said the message, where making it costs nothing. */
export const discovery = (
  rule: RuleName,
  field: string,
  said: string | (() => string),
  at?: Discovery['at'],
): Discovery => ({
  ...{ rule, field, message: typeof said === 'string' ? () => said : said },
  ...(at === undefined ? {} : { at }),
});
