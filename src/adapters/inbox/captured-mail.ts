import PostalMime, { type Attachment, decodeWords, type Email } from 'postal-mime';
import type { CapturedAttachment, CapturedMail, ReceivedMail } from '../../domain/ports/inbox.ts';

/** A message as it is kept; parsed when it is read. */
export interface StoredMail extends Omit<ReceivedMail, 'environment'> {
  readonly id: string;
}

const UNREADABLE: Email = { headers: [], headerLines: [], attachments: [] };

const attachmentOf = ({ filename, mimeType, disposition, contentId, content }: Attachment): CapturedAttachment => {
  const base64 = typeof content === 'string' ? content : Buffer.from(content as ArrayBuffer).toString('base64');
  return {
    filename,
    contentType: mimeType,
    disposition,
    contentId: contentId?.replace(/^<(.*)>$/, '$1') ?? null,
    sizeBytes: Buffer.byteLength(base64, 'base64'),
    content: base64,
  };
};

/** Headers of a message are rarely larger; what is behind is not looked at. */
export const HEAD_BYTES_MAX = 65_536;

/** The subject of a message, of which only the beginning is needed; empty: it has none. */
export const subjectOf = async (beginning: Uint8Array): Promise<string> => {
  const bytes = Buffer.from(beginning.buffer, beginning.byteOffset, Math.min(beginning.byteLength, HEAD_BYTES_MAX));
  const end = bytes.indexOf('\r\n\r\n');
  const { subject } = await PostalMime.parse(end < 0 ? bytes : bytes.subarray(0, end)).catch(() => UNREADABLE);
  return subject ?? '';
};

/** Whether a subject has a part, in whatever case. */
export const hasPart = (subject: string, part: string): boolean => subject.toLowerCase().includes(part.toLowerCase());

/** Parses a kept message. One that cannot be parsed still shows its envelope and what arrived. */
export const capturedMail = async ({ id, receivedAt, from, to, raw }: StoredMail): Promise<CapturedMail> => {
  const mail = await PostalMime.parse(raw, { attachmentEncoding: 'base64' }).catch(() => UNREADABLE);
  return {
    id,
    receivedAt,
    envelope: { from, to },
    headers: mail.headers.map(({ originalKey, value }) => ({ name: originalKey, value: decodeWords(value) })),
    subject: mail.subject ?? null,
    text: mail.text ?? null,
    html: mail.html ?? null,
    attachments: mail.attachments.map(attachmentOf),
    raw: Buffer.from(raw).toString('utf8'),
  };
};
