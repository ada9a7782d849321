import type { InboundReport, Report, ReportedFailure } from '../../domain/bounce/report.ts';
import { isAnswerOfProgram, isAutomatic } from './automatic-reply.ts';
import { readComplaint } from './complaint.ts';
import { readDeliveryStatus } from './delivery-status.ts';
import { type MailParts, readParts } from './mail-parts.ts';
import { quotedIn } from './quoted-message.ts';
import { firstField, readFields } from './read-fields.ts';
import { readTextReport } from './text-report.ts';

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

/** Of the fields about the whole message: a part may begin with them, or with an empty line. */
const envelopeIdIn = ({ parts }: MailParts): string | null => {
  const status = parts.find(({ type }) => STATUS_TYPES.has(type))?.text ?? '';
  return firstField(readFields(status.trimStart().split(/\n[ \t]*\n/, 1)[0] ?? ''), 'original-envelope-id') ?? null;
};

const textReport = (parts: MailParts): Report | null => {
  if (isAnswerOfProgram(parts)) return { kind: 'nothing', why: 'automatic reply' };
  const failures = readTextReport(parts);
  return failures === null ? null : failed(failures);
};

const reportOf = (parts: MailParts): Report =>
  readComplaint(parts) ??
  statusReport(parts) ??
  textReport(parts) ?? { kind: 'nothing', why: isAutomatic(parts) ? 'automatic reply' : 'not a report' };

/** What a mail that came back says. Never fails: what cannot be read says nothing. */
export const readInboundReport = (raw: Uint8Array): InboundReport => {
  const parts = readParts(raw);
  return { report: reportOf(parts), envelopeId: envelopeIdIn(parts), quoted: quotedIn(parts) };
};
