import type { Report } from '../../domain/bounce/report.ts';
import type { MailParts } from './mail-parts.ts';
import { isReturnedMessage } from './quoted-message.ts';
import { type Fields, firstField, readFields } from './read-fields.ts';
import { reportedAddress } from './reported-address.ts';

/** RFC 5965 §7.3. The others are no word of a person's: `not-spam`, `virus`, `auth-failure` (RFC 6591). */
const COMPLAINING: ReadonlySet<string | undefined> = new Set(['abuse', 'fraud', 'opt-out', 'opt-out-list']);

/** Headers of the message that a report returns. */
const returnedHeaders = ({ parts }: MailParts): Fields => {
  const { text } = parts.find(({ type }) => isReturnedMessage(type)) ?? { text: '' };
  const end = text.search(/\n[ \t]*\n/);
  return readFields(end < 0 ? text : text.slice(0, end));
};

/**
 * A complaint (RFC 5965), of whom it names. To whom the returned message was addressed names nobody: whoever complains
 * may stand in `Bcc`.
 * @returns null: it is no feedback report.
 */
export const readComplaint = (parts: MailParts): Report | null => {
  const report = parts.parts.find(({ type }) => type === 'message/feedback-report');
  // Microsoft's loop names him in the message that it returns, with or without a report.
  const original = firstField(returnedHeaders(parts), 'x-hmxmroriginalrecipient');
  if (report === undefined && original === undefined) return null;
  const fields = readFields((report?.text ?? 'Feedback-Type: abuse').replace(/\n[ \t]*\n/g, '\n'));
  if (!COMPLAINING.has(firstField(fields, 'feedback-type')?.toLowerCase())) {
    return { kind: 'nothing', why: 'not a report' };
  }
  const named = ['original-rcpt-to', 'removal-recipient'].flatMap((name) => fields.get(name) ?? []);
  return { kind: 'complaint', addresses: [...named, original ?? ''].flatMap(reportedAddress) };
};
