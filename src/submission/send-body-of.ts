import type { ShownRecipients } from '../domain/contents.ts';
import { canonicalAddress } from '../domain/email-address.ts';
import type { ParsedAttachment, ParsedMail, WrittenAddress } from '../domain/mail-parser.ts';
import { isHeaderName, isOwnHeader, isReplyTo } from '../domain/message/own-header.ts';
import type { Problem } from '../http/validation/wording.ts';
import { addressed, addressText } from './addressed.ts';
import { instructionsOf, isInstruction } from './instructions.ts';

/** A message that came by SMTP, in the words of HTTP. */
export interface SubmittedBody {
  /** As `POST /v1/messages/send` takes it, but that `to` may be absent: all may be blind copies. Not checked yet. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly shown: ShownRecipients | undefined;
  readonly idempotencyKey: string | null;
  /** What a send's body cannot say, and would be lost. */
  readonly problems: readonly Problem[];
}

/** RFC 1847, 3156, 8551: a message is built anew, and no signature or encryption around its parts survives that. */
const SEALED = /^application\/(?:(?:x-)?pkcs7-(?:mime|signature)|pgp-(?:signature|encrypted))$/i;
/** RFC 5322 §3.6: of two nobody knows which. */
const AT_MOST_ONCE = new Set(['from', 'subject', 'reply-to']);

const attachmentOf = (
  { filename, contentType, contentId, content }: ParsedAttachment,
  index: number,
  html: string,
) => ({
  filename: filename ?? `attachment-${index + 1}`,
  content,
  content_type: contentType,
  // Some programs number every part: what the HTML does not show would be hidden in it.
  ...(contentId !== undefined && html.includes(`cid:${contentId}`) ? { content_id: contentId } : {}),
});

const isGiven = ({ name, value }: ParsedMail['headers'][number]): boolean =>
  value !== '' && !isOwnHeader(name) && !isReplyTo(name) && !isInstruction(name);

const headersOf = ({ headers }: ParsedMail, problems: Problem[]): Readonly<Record<string, string>> => {
  // A line without a colon: what follows it may not be what its writer took it for.
  if (headers.some(({ name, value }) => value === '' && !isHeaderName(name))) {
    problems.push(['headers', 'a line of the header is not a header']);
  }
  const seen = new Set<string>();
  for (const { name } of headers.filter((header) => isGiven(header) || AT_MOST_ONCE.has(header.name.toLowerCase()))) {
    const lower = name.toLowerCase();
    if (seen.has(lower)) problems.push(['headers', `${name} must be given once`]);
    if (lower === '__proto__') problems.push(['headers', `headers.${name} is not allowed`]);
    seen.add(lower);
  }
  return Object.fromEntries(headers.filter(isGiven).map(({ name, value }) => [name, value]));
};

const fromOf = (from: readonly WrittenAddress[], problems: Problem[]): { readonly from?: string } => {
  if (from.length > 1) problems.push(['from', 'from must be one address']);
  return from[0] === undefined ? {} : { from: addressText(from[0]) };
};

/** The last line's end is that of the message: another is written behind it. */
const withoutLastEnd = (text: string): string => text.replace(/\r?\n$/, '');

const contentOf = ({ html, text, attachments }: ParsedMail): Readonly<Record<string, unknown>> => ({
  ...(html === undefined ? {} : { html: withoutLastEnd(html) }),
  // A message without a body is one with an empty text.
  ...(html !== undefined && text === undefined ? {} : { text: withoutLastEnd(text ?? '') }),
  ...(attachments.length === 0
    ? {}
    : { attachments: attachments.map((each, index) => attachmentOf(each, index, html ?? '')) }),
});

/** @param envelope addresses, as parsed, each once: they alone get it. */
export const sendBodyOf = (mail: ParsedMail, envelope: readonly string[]): SubmittedBody => {
  const { shown, problems: wrong, ...recipients } = addressed(mail, envelope);
  const instructions = instructionsOf(mail, envelope.map(canonicalAddress));
  const problems: Problem[] = [...wrong, ...instructions.problems];
  if (mail.attachments.some(({ contentType }) => SEALED.test(contentType))) {
    problems.push(['attachments', 'a signed or encrypted message cannot be sent unchanged: send it without']);
  }
  const headers = headersOf(mail, problems);
  const subject = mail.headers.find(({ name }) => name.toLowerCase() === 'subject')?.value;
  return {
    body: {
      ...{ ...fromOf(mail.from, problems), ...recipients },
      ...(mail.replyTo.length === 0 ? {} : { reply_to: mail.replyTo.map(addressText) }),
      ...(subject === undefined ? {} : { subject }),
      ...contentOf(mail),
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      ...instructions.fields,
    },
    shown,
    idempotencyKey: instructions.idempotencyKey,
    problems,
  };
};
