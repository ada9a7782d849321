import type { Caller } from '../domain/caller.ts';
import type { HtmlChecker } from '../domain/html-checker.ts';
import { Refusal } from '../domain/refusal.ts';
import { isHtmlAlone, type SendBody, sendBody, sendProblems } from '../http/routes/messages/send-body.ts';
import { mailboxes } from '../http/routes/messages/send-fields.ts';
import { detailsOf } from '../http/validation/details.ts';
import { problemsIn } from '../http/validation/wording.ts';
import type { SubmittedBody } from './send-body-of.ts';

/** The envelope has somebody, whatever the header says. */
const submittedBody = sendBody.extend({ to: mailboxes.default([]) });

/** The very same checks as of a body that came by HTTP. @throws {Refusal} `invalid_request`, `invalid_html`. */
export const readSubmitted = async (
  checker: HtmlChecker,
  { body, problems }: SubmittedBody,
  sender: Pick<Caller, 'organizationId'>,
): Promise<SendBody> => {
  const read = submittedBody.safeParse(body);
  const shape = read.success ? [] : problemsIn(read.error.issues, body, 'body');
  const all = [...problems, ...shape, ...(await sendProblems(checker)(body, sender))];
  if (all.length === 0 && read.success) return read.data;
  const code = isHtmlAlone(all) ? 'invalid_html' : 'invalid_request';
  throw new Refusal(code, 'the message is invalid: see details', { details: detailsOf(all) });
};
