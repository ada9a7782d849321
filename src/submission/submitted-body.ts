import type { Caller } from '../domain/api-key/caller.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import { isOwnHeader } from '../domain/message/draft.ts';
import type { RepeatedHeader } from '../domain/ports/contents.ts';
import { headerText } from '../http/fields.ts';
import { detailsOf, type Problem, problemsIn } from '../http/problems.ts';
import {
  type BeyondBody,
  type SendBody,
  SUBJECT_CHARACTERS_MAX,
  sendBody,
  sendProblems,
} from '../http/resources/messages/send-body.ts';
import {
  ALTERNATIVES_MAX,
  BODY_CHARACTERS_MAX,
  type HtmlPolicy,
  headerProblem,
  headersUpTo,
  headerValue,
  isHtmlAlone,
  MESSAGE_BASE64_MAX,
  mailboxes,
} from '../http/resources/messages/send-fields.ts';
import {
  canonicalAddress,
  isAttachmentType,
  isHeaderName,
  isListUnsubscribe,
  isMessageType,
  isReplyTo,
  mailboxText,
  type ParsedAlternative,
  type ParsedMail,
  type ParsedPart,
  type StoredAlternative,
  type WrittenAddress,
} from '../lib/mime/mime.ts';
import { addressed, instructionsOf, isInstruction } from './header-instructions.ts';

/** A submitted message as the body of a send over HTTP. */
export interface SubmittedBody {
  /** Body of `POST /v1/messages/send`, not validated yet. `to` may be absent: all recipients may be blind copies. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Parts of the message for which the body has no fields; validated. */
  readonly beyond: BeyondBody;
  readonly idempotencyKey: string | null;
  /** Parts that cannot be sent unchanged, and other errors. */
  readonly problems: readonly Problem[];
}

/** Includes those that mail servers on the way have added. Ordinary messages have fewer. */
const HEADERS_MAX = 100;
/** RFC 1847, 3156, 8551: a message is built anew, and no signature or encryption around its parts survives that. */
const SEALED = /^application\/(?:(?:x-)?pkcs7-(?:mime|signature)|pgp-(?:signature|encrypted))\b/i;
const SEALING = new Set(['signed', 'encrypted']);
/** RFC 6522, RFC 8098: its parts say something in their order alone. */
const REPORT = 'report';
/** At most once each (RFC 5322 §3.6, RFC 2369 §3, RFC 3834 §5): of two, it is unclear which counts. */
const AT_MOST_ONCE =
  /^(?:from|subject|reply-to|in-reply-to|references|list-(?:id|help|subscribe|owner|post|archive)|auto-submitted|feedback-id)$/;
/**
 * Trace headers: `Received` of all sorts, and results and seals of servers (RFC 8601, RFC 8617), which do not hold for a
 * message that is composed again.
 */
const TRACE =
  /^(?:x-received|received-spf|authentication-results|arc-(?:seal|message-signature|authentication-results)|domainkey-signature|x-google-dkim-signature)$/;

/** The limit of the API (`send-fields.ts`). Searching hostile HTML for ids takes time proportional to both lengths. */
const CONTENT_ID_CHARACTERS_MAX = 200;

/** By its id (RFC 2392 §2), which is percent-encoded in a URL. */
const isShownIn = (html: string, contentId: string): boolean =>
  contentId.length <= CONTENT_ID_CHARACTERS_MAX &&
  (html.includes(`cid:${contentId}`) || html.includes(`cid:${encodeURIComponent(contentId)}`));

const attachmentOf = ({ filename, contentType, contentId, content }: ParsedPart, index: number, html: string) => ({
  filename: filename ?? `attachment-${index + 1}`,
  content,
  // The API attaches none as what it is.
  ...(isMessageType(contentType) ? {} : { content_type: contentType }),
  // Some programs give every part an id. A part that the HTML does not show would be hidden as inline.
  ...(contentId !== undefined && isShownIn(html, contentId) ? { content_id: contentId } : {}),
});

const attachedAs = ({ disposition, contentType }: ParsedPart): Required<BeyondBody>['attached'][number] => ({
  disposition: disposition ?? 'none',
  ...(isMessageType(contentType) ? { contentType } : {}),
});

const isGiven = ({ name, value }: ParsedMail['headers'][number]): boolean =>
  value !== '' && !isOwnHeader(name) && !isReplyTo(name) && !isInstruction(name) && !TRACE.test(name.toLowerCase());

const isAtMostOnce = (name: string): boolean => AT_MOST_ONCE.test(name.toLowerCase()) || isListUnsubscribe(name);

interface Headers {
  /** The first of each name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly repeated: readonly RepeatedHeader[];
}

/** A line without a colon: what follows it may be misread. */
const isNoHeader = ({ name, value }: ParsedMail['headers'][number]): boolean => value === '' && !isHeaderName(name);

const repeatedProblem = ({ name, value }: RepeatedHeader): string | null => {
  const problem = headerProblem(name, value);
  if (problem !== null) return `${name} ${problem}`;
  const read = headerValue.safeParse(value);
  return read.success ? null : `${name} ${read.error.issues[0]?.message}`;
};

const requireOnce = ({ headers }: ParsedMail, problems: Problem[]): void => {
  const seen = new Set<string>();
  for (const { name } of headers.filter((header) => isAtMostOnce(header.name))) {
    if (seen.has(name.toLowerCase())) problems.push(['headers', `${name} must be given only once`]);
    seen.add(name.toLowerCase());
  }
};

const headersOf = (mail: ParsedMail, problems: Problem[]): Headers => {
  const given = mail.headers.filter(isGiven);
  if (given.length > HEADERS_MAX) {
    problems.push(['headers', `headers must have at most ${HEADERS_MAX} keys`]);
    return { headers: {}, repeated: [] };
  }
  if (mail.headers.some(isNoHeader)) problems.push(['headers', 'a line of the message header is not a valid header']);
  requireOnce(mail, problems);
  const firsts = new Map<string, RepeatedHeader>();
  const repeated: RepeatedHeader[] = [];
  for (const header of given) {
    const lower = header.name.toLowerCase();
    if (lower === '__proto__') problems.push(['headers', `headers.${header.name} is not allowed`]);
    const first = firsts.get(lower);
    if (first === undefined) firsts.set(lower, header);
    else repeated.push({ name: first.name, value: header.value });
  }
  problems.push(...repeated.flatMap((one) => repeatedProblem(one) ?? []).map((one): Problem => ['headers', one]));
  return { headers: Object.fromEntries([...firsts.values()].map(({ name, value }) => [name, value])), repeated };
};

const fromOf = (from: readonly WrittenAddress[], problems: Problem[]): { readonly from?: string } => {
  if (from.length > 1) problems.push(['from', 'from must be one address']);
  return from[0] === undefined ? {} : { from: mailboxText(from[0]) };
};

const storedAlternative = ({ filename, disposition, ...part }: ParsedAlternative): StoredAlternative => ({
  ...part,
  disposition: disposition ?? 'none',
  ...(filename === null ? {} : { filename }),
});

const alternativesOf = ({ alternatives }: ParsedMail, problems: Problem[]): readonly StoredAlternative[] => {
  if (alternatives.length > ALTERNATIVES_MAX) {
    problems.push(['alternatives', `alternatives must have at most ${ALTERNATIVES_MAX} items`]);
    return [];
  }
  for (const { contentType } of alternatives.filter((each) => !isAttachmentType(each.contentType))) {
    problems.push(['alternatives', `${contentType} cannot be an alternative: it must be a media type (RFC 6838)`]);
  }
  return alternatives.map(storedAlternative);
};

/** Reports messages that would change if they were composed again. */
const requireComposable = (mail: ParsedMail, problems: Problem[]): void => {
  if (isSealed(mail)) {
    problems.push([
      'attachments',
      'a signed or encrypted message cannot be sent unchanged: send it without signature and encryption',
    ]);
  }
  if (mail.multiparts.includes(REPORT))
    problems.push(['attachments', 'a delivery report cannot be sent unchanged: attach it to another message']);
  for (const [index, { isSevenBit, content }] of mail.attachments.entries()) {
    if (isSevenBit === undefined || (isSevenBit && content.length <= MESSAGE_BASE64_MAX)) continue;
    const problem = 'is a message that is too large, or not ASCII lines, and must not be encoded (RFC 2046 §5.2.1)';
    problems.push(['attachments', `attachments[${index}] ${problem}: attach it as application/octet-stream`]);
  }
};

const isSealed = ({ attachments, alternatives, multiparts }: ParsedMail): boolean =>
  multiparts.some((subtype) => SEALING.has(subtype)) ||
  [...attachments, ...alternatives].some(({ contentType }) => SEALED.test(contentType));

/** HTML that is refused for its length is not searched for every attachment. */
const searchable = (html = ''): string => (html.length > BODY_CHARACTERS_MAX ? '' : html);

/** Removes the last line end: composing adds one. */
const withoutLastEnd = (text: string): string => {
  if (!text.endsWith('\n')) return text;
  return text.slice(0, text.endsWith('\r\n') ? -2 : -1);
};

const contentOf = ({ html, text, attachments }: ParsedMail): Readonly<Record<string, unknown>> => ({
  ...(html === undefined ? {} : { html: withoutLastEnd(html) }),
  // A message without a body is one with an empty text.
  ...(html !== undefined && text === undefined ? {} : { text: withoutLastEnd(text ?? '') }),
  ...(attachments.length === 0
    ? {}
    : { attachments: attachments.map((each, index) => attachmentOf(each, index, searchable(html))) }),
});

/** @param envelope parsed addresses without duplicates: they alone get the message. */
export const sendBodyOf = (mail: ParsedMail, envelope: readonly string[]): SubmittedBody => {
  const { shown, problems: wrong, ...recipients } = addressed(mail, envelope);
  const instructions = instructionsOf(mail, envelope.map(canonicalAddress));
  const problems: Problem[] = [...wrong, ...instructions.problems];
  requireComposable(mail, problems);
  const { headers, repeated } = headersOf(mail, problems);
  const alternatives = alternativesOf(mail, problems);
  const subject = mail.headers.find(({ name }) => name.toLowerCase() === 'subject')?.value;
  return {
    body: {
      ...fromOf(mail.from, problems),
      ...recipients,
      ...(mail.replyTo.length === 0 ? {} : { reply_to: mail.replyTo.map(mailboxText) }),
      ...(subject === undefined ? {} : { subject }),
      ...contentOf(mail),
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      ...instructions.fields,
    },
    beyond: {
      ...(shown === undefined ? {} : { shown }),
      ...(alternatives.length === 0 ? {} : { alternatives }),
      ...(repeated.length === 0 ? {} : { repeatedHeaders: repeated }),
      ...(mail.attachments.length === 0 ? {} : { attached: mail.attachments.map(attachedAs) }),
    },
    idempotencyKey: instructions.idempotencyKey,
    problems,
  };
};

/** RFC 5321 §4.5.3.1.8: a server takes a hundred in one transaction. */
export const RECIPIENTS_MAX = 100;

/** `to` may be empty, since the envelope has recipients, and so may the subject (RFC 5322 §3.6). */
const submittedBody = sendBody.extend({
  to: mailboxes.default([]),
  subject: headerText(SUBJECT_CHARACTERS_MAX, 0).default(''),
  headers: headersUpTo(HEADERS_MAX).default({}),
});

/** Validates it as a body of HTTP. @throws {DomainError} `invalid_request`, `invalid_html`. */
export const readSubmitted = async (
  policy: HtmlPolicy,
  { body, problems }: SubmittedBody,
  sender: Pick<Caller, 'organizationId'>,
): Promise<SendBody> => {
  const read = submittedBody.safeParse(body);
  const shape = read.success ? [] : problemsIn(read.error.issues, body, 'body');
  const all = [...problems, ...shape, ...(await sendProblems(policy, RECIPIENTS_MAX)(body, sender))];
  if (all.length === 0 && read.success) return read.data;
  const code = isHtmlAlone(all) ? 'invalid_html' : 'invalid_request';
  throw new DomainError(code, 'the message is invalid: see details', { details: detailsOf(all) });
};
