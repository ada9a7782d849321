import type { Caller } from '../domain/caller.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { HtmlChecker } from '../domain/ports/html-checker.ts';
import {
  isHtmlAlone,
  type SendBody,
  SUBJECT_CHARACTERS_MAX,
  sendBody,
  sendProblems,
} from '../http/routes/messages/send-body.ts';
import { headersUpTo, mailboxes } from '../http/routes/messages/send-fields.ts';
import { detailsOf } from '../http/validation/details.ts';
import { headerText } from '../http/validation/text.ts';
import { problemsIn } from '../http/validation/wording.ts';
import { HEADERS_MAX, type SubmittedBody } from './send-body-of.ts';

/** RFC 5321 §4.5.3.1.8: a server takes a hundred in one transaction. */
export const RECIPIENTS_MAX = 100;

/** The envelope has somebody, whatever the header says; and a message may have no subject (RFC 5322 §3.6). */
const submittedBody = sendBody.extend({
  to: mailboxes.default([]),
  subject: headerText(SUBJECT_CHARACTERS_MAX, 0).default(''),
  headers: headersUpTo(HEADERS_MAX).default({}),
});

/** The very same checks as of a body that came by HTTP. @throws {DomainError} `invalid_request`, `invalid_html`. */
export const readSubmitted = async (
  checker: HtmlChecker,
  { body, problems }: SubmittedBody,
  sender: Pick<Caller, 'organizationId'>,
): Promise<SendBody> => {
  const read = submittedBody.safeParse(body);
  const shape = read.success ? [] : problemsIn(read.error.issues, body, 'body');
  const all = [...problems, ...shape, ...(await sendProblems(checker, RECIPIENTS_MAX)(body, sender))];
  if (all.length === 0 && read.success) return read.data;
  const code = isHtmlAlone(all) ? 'invalid_html' : 'invalid_request';
  throw new DomainError(code, 'the message is invalid: see details', { details: detailsOf(all) });
};
