import type { InboundReport, Report, ReportedFailure } from '../../domain/bounce/report.ts';
import { readDeliveryStatus } from './delivery-status.ts';
import { type Fields, firstField, type MailParts, readFields, readParts } from './mail-parts.ts';
import { reportedAddress } from './quoted-reply.ts';
import { readTextReport } from './text-report.ts';

/** Headers written only by programs that reply for people. */
const ANSWERING = ['x-autoreply', 'x-autorespond', 'x-auto-reply', 'x-autoresponder', 'x-mail-autoreply', 'x-vacation'];
const PRECEDENCE = /^(?:auto_reply|auto-reply)$/i;
const SUBJECT =
  /^\s*(?:(?:re|aw|sv):\s*)?(?:auto(?:matic|mated|matische)?[ :-]{0,2}(?:re(?:ply|sponse)|antwort)|out of (?:the )?office|abwesenheit|abwesend|vacation|urlaub|r[ée]ponse automatique|absence|fuera de (?:la )?oficina|respuesta autom[áa]tica|risposta automatica)/i;

/** An automatic reply (RFC 3834). Delivery reports are also marked as automatic, but are not replies. */
export const isAnswerOfProgram = ({ headers, subject }: MailParts): boolean =>
  ANSWERING.some((name) => headers.has(name)) ||
  PRECEDENCE.test(firstField(headers, 'precedence') ?? '') ||
  SUBJECT.test(subject);

/** RFC 3834 §5. */
export const isAutomatic = (parts: MailParts): boolean =>
  isAnswerOfProgram(parts) || /^auto-/i.test(firstField(parts.headers, 'auto-submitted') ?? '');

const RETURNED: ReadonlySet<string> = new Set([
  'message/rfc822',
  'message/global',
  'text/rfc822-headers',
  'text/rfc822',
  'message/rfc822-headers',
  'message/global-headers',
]);

/** RFC 3462 §2, RFC 6533 §4, and other types used in their place. */
export const isReturnedMessage = (type: string): boolean => RETURNED.has(type);

/** Headers of the returned message, which prove its origin, are within this length. */
const QUOTED_CHARACTERS_MAX = 64_000;
/** A message has fewer. More are an attempt to make us read the log many times. */
const FOUND_MAX = 5;
const LOCAL_PART = /(?<![0-9a-v])[bu][0-9a-v]{48}(?=@)/gi;
const LINK_TOKEN = /(?<=\/unsubscribe\/)[\w-]{64}(?![\w-])/g;

const distinct = (found: readonly string[] | null): readonly string[] => [...new Set(found)].slice(0, FOUND_MAX);

/** Addresses and links in the returned message that look like ours. */
export const quotedIn = ({ parts, text }: MailParts): InboundReport['quoted'] => {
  const reports = parts.filter(({ type }) => isReturnedMessage(type) || type === 'message/feedback-report');
  const quoted = [...reports.map((part) => part.text.slice(0, QUOTED_CHARACTERS_MAX)), text].join('\n');
  return { localParts: distinct(quoted.match(LOCAL_PART)), linkTokens: distinct(quoted.match(LINK_TOKEN)) };
};

/** RFC 5965 §7.3. The other types are not complaints by a person: `not-spam`, `virus`, `auth-failure` (RFC 6591). */
const COMPLAINING: ReadonlySet<string | undefined> = new Set(['abuse', 'fraud', 'opt-out', 'opt-out-list']);

/** Headers of the returned message. */
const returnedHeaders = ({ parts }: MailParts): Fields => {
  const { text } = parts.find(({ type }) => isReturnedMessage(type)) ?? { text: '' };
  const end = text.search(/\n[ \t]*\n/);
  return readFields(end < 0 ? text : text.slice(0, end));
};

/**
 * A complaint (RFC 5965) about the recipients that it names. The `To` of the returned message identifies no
 * complainant, who may be a `Bcc` recipient.
 * @returns null if it is not a feedback report.
 */
export const readComplaint = (parts: MailParts): Report | null => {
  const report = parts.parts.find(({ type }) => type === 'message/feedback-report');
  // Microsoft's loop names the recipient in the returned message, with or without a report.
  const original = firstField(returnedHeaders(parts), 'x-hmxmroriginalrecipient');
  if (report === undefined && original === undefined) return null;
  const fields = readFields((report?.text ?? 'Feedback-Type: abuse').replace(/\n[ \t]*\n/g, '\n'));
  if (!COMPLAINING.has(firstField(fields, 'feedback-type')?.toLowerCase())) {
    return { kind: 'nothing', why: 'not a report' };
  }
  const named = ['original-rcpt-to', 'removal-recipient'].flatMap((name) => fields.get(name) ?? []);
  return { kind: 'complaint', addresses: [...named, original ?? ''].flatMap(reportedAddress) };
};

/** RFC 3464; RFC 6533 §2. */
const STATUS_TYPES: ReadonlySet<string> = new Set(['message/delivery-status', 'message/global-delivery-status']);

const failed = (failures: readonly ReportedFailure[]): Report =>
  failures.length > 0 ? { kind: 'failures', failures } : { kind: 'nothing', why: 'not given up' };

const statusReport = ({ parts, text }: MailParts): Report | null => {
  const statuses = parts
    .filter(({ type }) => STATUS_TYPES.has(type))
    .map((part) => readDeliveryStatus(part.text, text));
  const told = statuses.filter((status) => status !== null);
  return told.length === 0 ? null : failed(told.flat());
};

/** Envelope id from the fields about the whole message. A part may begin with them, or with an empty line. */
const envelopeIdIn = ({ parts }: MailParts): string | null => {
  const status = parts.find(({ type }) => STATUS_TYPES.has(type))?.text ?? '';
  return firstField(readFields(status.trimStart().split(/\n[ \t]*\n/, 1)[0] ?? ''), 'original-envelope-id') ?? null;
};

/**
 * RFC 3834 §5: a reply to a mail is never a plain-text report. Postfix marks its reports this way, but they have
 * fields. So does Exim, which names the failed recipients in a header.
 */
const isReply = ({ headers }: MailParts): boolean =>
  /^auto-replied\b/i.test(firstField(headers, 'auto-submitted') ?? '') && !headers.has('x-failed-recipients');

const textReport = (parts: MailParts): Report | null => {
  if (isAnswerOfProgram(parts) || isReply(parts)) return { kind: 'nothing', why: 'automatic reply' };
  const failures = readTextReport(parts);
  return failures === null ? null : failed(failures);
};

const reportOf = (parts: MailParts): Report =>
  readComplaint(parts) ??
  statusReport(parts) ??
  textReport(parts) ?? { kind: 'nothing', why: isAutomatic(parts) ? 'automatic reply' : 'not a report' };

/** Reads returned mail. Never fails: unreadable mail is not a report. */
export const readInboundReport = (raw: Uint8Array): InboundReport => {
  const parts = readParts(raw);
  return { report: reportOf(parts), envelopeId: envelopeIdIn(parts), quoted: quotedIn(parts) };
};
