import { DomainError } from '../../../domain/domain-error.ts';
import { ERROR_STATUSES } from '../../errors/error-statuses.ts';
import { detailsOf, PROBLEMS_MAX } from '../../validation/details.ts';
import type { Problem } from '../../validation/wording.ts';

const SENTENCES = 'some messages are refused, so that none was sent: see details';

/** `to is required` of the fourth message is `messages[3].to is required`. */
const problemsOf = ([index, { message, details }]: readonly [number, DomainError]): readonly Problem[] => {
  const place = `messages[${index}]`;
  if (details === undefined) return [[place, `${place}: ${message}`]];
  return Object.entries(details).flatMap(([field, sentences]) =>
    sentences.map((sentence): Problem => {
      const isAboutField = sentence.startsWith(field);
      return [`${place}.${field}`, isAboutField ? `${place}.${sentence}` : sentence];
    }),
  );
};

/**
 * One refusal for a whole batch: of what refuses its messages, what a client has to correct first (400 before 403 before
 * 422), and all of that.
 */
export const batchRefusal = (refusals: ReadonlyMap<number, DomainError>): DomainError => {
  const statusOf = ({ code }: DomainError): number => ERROR_STATUSES[code];
  const lowest = Math.min(...[...refusals.values()].map(statusOf));
  const told = [...refusals].filter(([, one]) => statusOf(one) === lowest);
  const codes = new Set(told.map(([, { code }]) => code));
  // Broken HTML has a code of its own where nothing else is wrong.
  if (codes.size > 1) codes.delete('invalid_html');
  const [code = 'invalid_request'] = codes;
  const problems: Problem[] = [];
  for (const one of told) {
    if (problems.length >= PROBLEMS_MAX) break;
    problems.push(...problemsOf(one));
  }
  return new DomainError(code, SENTENCES, { details: detailsOf(problems) });
};
