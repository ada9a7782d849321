import { sendMessage } from '../commands/message/send-message.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { MailParser } from '../domain/ports/mail-parser.ts';
import type { AuthTools } from '../http/auth/auth.ts';
import type { BodyBudget } from '../http/bodies/body-budget.ts';
import type { HttpDependencies } from '../http/dependencies.ts';
import { originOf } from '../http/request-origin.ts';
import { sendRequestOf, withFreshDomain } from '../http/routes/messages/send-request.ts';
import { type Admission, callerNow } from './admission.ts';
import { readSubmitted } from './read-submitted.ts';
import { sendBodyOf } from './send-body-of.ts';

/** What submission is built on: of the API, and what it shares with it. */
export interface SubmissionHouse {
  readonly deps: HttpDependencies;
  readonly door: AuthTools;
  readonly bodies: BodyBudget;
  readonly mailParser: MailParser;
}

export interface Submission {
  readonly admission: Admission;
  /** `req_…` */
  readonly requestId: string;
  /** Addresses, as parsed, each once. */
  readonly envelope: readonly string[];
  /** The message as it arrived, in pieces. */
  readonly chunks: readonly Uint8Array[];
  /** Aborted once its sender was told to come again: it is not accepted any more. */
  readonly late: AbortSignal;
}

/**
 * Accepts a message that came by SMTP durably, by the same command as HTTP.
 * @returns its id.
 * @throws {DomainError} by the catalogue.
 */
export const submitMessage = async (house: SubmissionHouse, submission: Submission): Promise<string> => {
  const { deps, door, mailParser } = house;
  const touch = (): void => deps.eventLoop?.touch({ route: 'SMTP DATA', requestId: submission.requestId });
  const { organizationId } = await callerNow(door, submission.admission);
  touch();
  const mail = await mailParser.parse(submission.chunks, organizationId);
  if (typeof mail === 'string') throw new DomainError('invalid_request', `the message cannot be read: ${mail}`);
  touch();
  const submitted = sendBodyOf(mail, submission.envelope);
  const body = await readSubmitted(deps.htmlChecker, submitted, { organizationId });
  const caller = await callerNow(door, submission.admission); // reading it all took a while
  const sender = await withFreshDomain(door.directory, caller);
  touch();
  const { beyond, idempotencyKey } = submitted;
  const request = await sendRequestOf({ deps, door }, sender, body, beyond);
  submission.late.throwIfAborted();
  const sent = await sendMessage(
    deps.context,
    originOf(sender, { id: submission.requestId, ip: submission.admission.address }),
    sender,
    { ...request, body: { ...submitted.body, ...beyond }, idempotencyKey },
  );
  return sent.message.accepted.messageId;
};
