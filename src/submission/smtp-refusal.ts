import { DomainError, type ErrorCode } from '../domain/kernel/errors.ts';
import { errorAnswer } from '../http/errors/error-response.ts';

/** A negative reply: `responseCode`, and a text that begins with the enhanced code (RFC 3463). */
export class SmtpRefusal extends Error {
  override readonly name = 'SmtpRefusal';
  readonly responseCode: number;
  constructor(responseCode: number, text: string) {
    super(text);
    this.responseCode = responseCode;
  }
}

type Reply = readonly [code: number, enhanced: string];

/** RFC 5321 §4.5.3.1.5: a reply line holds 512 octets, its code and CRLF included. */
const TEXT_CHARACTERS_MAX = 480;
/** More do not fit on the line, or would not be read. */
const SENTENCES_MAX = 5;

const CONTENT: Reply = [554, '5.6.0'];
const POLICY: Reply = [550, '5.7.1'];
const LATER: Reply = [451, '4.3.0'];
/** By the HTTP status of the same error. Any other status is about the message. */
const REPLIES: Readonly<Record<number, Reply>> = {
  401: POLICY,
  403: POLICY,
  409: LATER,
  413: [552, '5.3.4'],
  429: [451, '4.7.0'],
  500: LATER,
  503: LATER,
};
/** Replies to AUTH (RFC 4954 §6). A temporary fault of this service must not look like a wrong password. */
const AUTH_REPLIES: Readonly<Record<number, Reply>> = {
  401: [535, '5.7.8'],
  403: [535, '5.7.8'],
};
const AUTH_LATER: Reply = [454, '4.7.0'];

/** The first problems, if any, on one line in ASCII. */
const textOf = (error: unknown, message: string): string => {
  // The details of `unauthorized` are about an HTTP header.
  const hasNoDetails = !(error instanceof DomainError) || error.code === 'unauthorized';
  const sentences = hasNoDetails ? [] : Object.values(error.details ?? {}).flat();
  const text = sentences.length === 0 ? message : sentences.slice(0, SENTENCES_MAX).join('; ');
  return text.replace(/[^ -~]/gu, '?').slice(0, TEXT_CHARACTERS_MAX);
};

const replyOf = (error: unknown, replies: (status: number) => Reply): SmtpRefusal => {
  if (error instanceof SmtpRefusal) return error;
  const { status, body } = errorAnswer(error);
  const [code, enhanced] = replies(status);
  return new SmtpRefusal(code, `${enhanced} ${textOf(error, body.error.message)}`);
};

/** Errors that concern the sender, who may not send now, rather than the message. */
const OF_POLICY: ReadonlySet<string> = new Set(['domain_not_verified', 'quota_exceeded'] satisfies ErrorCode[]);

/** The reply to a refused message: the HTTP status of the error as a code of RFC 5321. */
export const messageRefusal = (error: unknown): SmtpRefusal =>
  replyOf(error, (status) => {
    const isOfPolicy = error instanceof DomainError && OF_POLICY.has(error.code);
    return isOfPolicy ? POLICY : (REPLIES[status] ?? CONTENT);
  });

/** The reply to a failed AUTH. */
export const authRefusal = (error: unknown): SmtpRefusal =>
  replyOf(error, (status) => AUTH_REPLIES[status] ?? AUTH_LATER);
