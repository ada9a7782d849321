import type { HtmlProblem } from '../../domain/ports/html-checker.ts';
import { isPlainlyValid } from './plain-markup.ts';
import { standardProblems } from './standard-problems.ts';

/**
 * Problems of the html in the order they stand in it, at most `HTML_PROBLEMS_MAX`. Nearly all mail is in order, which
 * is seen much faster than what is wrong with the rest. Time and memory are linear in the size.
 */
export const checkHtml = (html: string): readonly HtmlProblem[] => (isPlainlyValid(html) ? [] : standardProblems(html));
