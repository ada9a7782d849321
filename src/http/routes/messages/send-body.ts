import { z } from 'zod';
import type { HtmlChecker } from '../../../domain/html-checker.ts';
import type { MessageDraft } from '../../../domain/message/draft.ts';
import { isReplyTo } from '../../../domain/message/own-header.ts';
import { TTL_SECONDS_DEFAULT } from '../../../domain/message/retry-schedule.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { line, text } from '../../validation/text.ts';
import type { Problem } from '../../validation/wording.ts';
import { attachments, headers, mailbox, mailboxes, metadata, tags } from './send-fields.ts';

/** RFC 5322 §2.1.1. */
const SUBJECT_CHARACTERS_MAX = 998;
/** Larger bodies are cut by those who show them, and checking takes time in proportion. */
const BODY_CHARACTERS_MAX = 1_000_000;
const RECIPIENTS_MAX = 50;
/** Seven days: nobody waits longer for mail. */
const TTL_SECONDS_MAX = 604_800;
/** What most receivers take. */
const ENCODED_BYTES_MAX = 25_000_000;
/** Base64 in lines of 76 characters (RFC 2045 §6.8), of bytes and of what is base64 already. */
const ENCODED_PER_BYTE = (4 / 3) * (78 / 76);
const ENCODED_PER_CHARACTER = 78 / 76;

export const sendBody = z.strictObject({
  from: mailbox,
  to: mailboxes,
  cc: mailboxes.optional(),
  bcc: mailboxes.optional(),
  reply_to: mailboxes.optional(),
  subject: line(SUBJECT_CHARACTERS_MAX),
  html: text(BODY_CHARACTERS_MAX).optional(),
  text: text(BODY_CHARACTERS_MAX).optional(),
  attachments: attachments.default([]),
  headers: headers.default({}),
  tags: tags.default([]),
  metadata: metadata.default({}),
  stream: z.enum(['transactional', 'bulk']).default('transactional'),
  ttl_seconds: z.int().min(1).max(TTL_SECONDS_MAX).default(TTL_SECONDS_DEFAULT),
});
export type SendBody = z.output<typeof sendBody>;

type Sent = Readonly<Record<string, unknown>>;

const isSent = (body: unknown): body is Sent => typeof body === 'object' && body !== null && !Array.isArray(body);

const countOf = (addresses: unknown): number => {
  if (Array.isArray(addresses)) return addresses.length;
  return addresses === undefined ? 0 : 1;
};

const HTML_PROBLEM = 'html must be valid HTML: ';

const htmlProblems = async (checker: HtmlChecker, html: unknown): Promise<readonly Problem[]> => {
  if (typeof html !== 'string' || html.length > BODY_CHARACTERS_MAX) return [];
  const problems = await checker.check(html);
  return problems.map(({ line, column, message }) => [
    'html',
    `${HTML_PROBLEM}line ${line}, column ${column}: ${message}`,
  ]);
};

const replyToProblems = ({ reply_to: replyTo, headers: given }: Sent): readonly Problem[] => {
  if (replyTo === undefined || !isSent(given)) return [];
  const names = Object.keys(given).filter(isReplyTo);
  return names.map((name) => ['headers', `headers.${name} is not allowed beside reply_to, which writes this header`]);
};

/** What no field shows by itself. */
const crossProblems = (sent: Sent): readonly Problem[] => {
  const { html, text: plain, to, cc, bcc } = sent;
  const recipients = countOf(to) + countOf(cc) + countOf(bcc);
  return [
    ...(html === undefined && plain === undefined ? [['html', 'html or text is required'] as const] : []),
    ...(recipients > RECIPIENTS_MAX
      ? [['to', `to, cc and bcc must have at most ${RECIPIENTS_MAX} addresses together`] as const]
      : []),
    ...replyToProblems(sent),
  ];
};

/** All that a send request can be wrong about beyond its fields' shapes, its HTML above all. */
export const sendProblems =
  (checker: HtmlChecker) =>
  async (body: unknown): Promise<readonly Problem[]> =>
    isSent(body) ? [...crossProblems(body), ...(await htmlProblems(checker, body.html))] : [];

/** Whether the HTML is all that is wrong. */
export const isHtmlAlone = (problems: readonly Problem[]): boolean =>
  problems.every(([, sentence]) => sentence.startsWith(HTML_PROBLEM));

const requireSize = ({ html = '', text: plain = '', attachments: files }: SendBody): void => {
  const bytes =
    (Buffer.byteLength(html) + Buffer.byteLength(plain)) * ENCODED_PER_BYTE +
    files.reduce((sum, { content }) => sum + content.length * ENCODED_PER_CHARACTER, 0);
  if (bytes > ENCODED_BYTES_MAX) {
    throw new Refusal('body_too_large', `the encoded message is larger than ${ENCODED_BYTES_MAX} bytes`);
  }
};

/** @throws {Refusal} `body_too_large`. */
export const draftOf = (body: SendBody): MessageDraft => {
  requireSize(body);
  const { to, cc = [], bcc = [], reply_to: replyTo = [], ttl_seconds: ttlSeconds, html, text: plain, ...rest } = body;
  return {
    ...rest,
    replyTo,
    ttlSeconds,
    recipients: [
      ...to.map((one) => ({ ...one, kind: 'to' as const })),
      ...cc.map((one) => ({ ...one, kind: 'cc' as const })),
      ...bcc.map((one) => ({ ...one, kind: 'bcc' as const })),
    ],
    ...(html === undefined ? {} : { html }),
    ...(plain === undefined ? {} : { text: plain }),
  };
};
