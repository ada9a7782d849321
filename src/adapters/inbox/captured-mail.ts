import { type CapturedContent, CONFIDENTIAL_HEADER, INBOX_SHOWN_BYTES_MAX } from '../../domain/ports/mail.ts';
import { decodeWords, type ParsedMail, type ParsedPart, parseMail, readHeaders } from '../../lib/mime/mime.ts';

/** Reads captured messages. One that cannot be parsed still has its headers and its source. */

/** Facts shown in lists. */
export interface MailOutline {
  readonly subject: string | null;
  readonly attachments: readonly { filename: string | null; contentType: string; sizeBytes: number }[];
  readonly isConfidential: boolean;
}

/** A subject may have 998 characters. More makes lists large, less truncates subjects that the API accepts. */
const SUBJECT_CHARACTERS_MAX = 1_000;
/** File systems rarely allow longer names. More makes lists large, less hides the end of a name. */
const NAME_CHARACTERS_MAX = 255;

/** Removes what PostgreSQL cannot store: NUL and half characters. */
const storable = (text: string, charactersMax: number): string =>
  text.replaceAll('\0', '\ufffd').slice(0, charactersMax).toWellFormed();

const headersOf = (raw: Buffer): CapturedContent['headers'] =>
  readHeaders(raw).map(({ name, value }) => ({ name, value: decodeWords(value) }));

const headerValue = (headers: CapturedContent['headers'], name: string): string | null =>
  headers.find((header) => header.name.toLowerCase() === name.toLowerCase())?.value ?? null;

const parsed = (raw: Buffer): ParsedMail | null => {
  const mail = parseMail(raw);
  return typeof mail === 'string' ? null : mail;
};

const partsOf = (mail: ParsedMail | null): readonly ParsedPart[] =>
  mail === null ? [] : [...mail.attachments, ...mail.alternatives];

const outlineOf = (raw: Buffer): MailOutline => {
  const headers = headersOf(raw);
  const subject = headerValue(headers, 'subject');
  return {
    subject: subject === null ? null : storable(subject, SUBJECT_CHARACTERS_MAX),
    attachments: partsOf(parsed(raw)).map(({ filename, contentType, content }) => ({
      filename: filename === null ? null : storable(filename, NAME_CHARACTERS_MAX),
      contentType: storable(contentType.split(';')[0] ?? '', NAME_CHARACTERS_MAX),
      sizeBytes: Buffer.byteLength(content, 'base64'),
    })),
    isConfidential: headerValue(headers, CONFIDENTIAL_HEADER) !== null,
  };
};

/** Cut between two characters. */
const cut = (text: string): string => {
  const bytes = Buffer.from(text);
  if (bytes.length <= INBOX_SHOWN_BYTES_MAX) return text;
  let end = INBOX_SHOWN_BYTES_MAX;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
};

const cutHeaders = (headers: CapturedContent['headers']): CapturedContent['headers'] => {
  let room = INBOX_SHOWN_BYTES_MAX;
  return headers.filter(({ name, value }) => {
    room -= Buffer.byteLength(name) + Buffer.byteLength(value);
    return room >= 0;
  });
};

const contentOf = (raw: Buffer): CapturedContent => {
  const all = headersOf(raw);
  const headers = cutHeaders(all);
  const { text = null, html = null } = parsed(raw) ?? {};
  const shown = { text: text === null ? null : cut(text), html: html === null ? null : cut(html) };
  const truncated = headers.length < all.length || shown.text !== text || shown.html !== html;
  return { headers, ...shown, truncated };
};

const attachmentIn = (raw: Buffer, place: number): Uint8Array | null => {
  const part = partsOf(parsed(raw))[place];
  if (part === undefined) return null;
  const bytes = Buffer.from(part.content, 'base64');
  // A thread hands shared memory over without a copy.
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared;
};

/** A question about a message. */
export type Reading =
  | { readonly kind: 'outline' | 'content' }
  | { readonly kind: 'attachment'; readonly place: number };
export type ReadResult = MailOutline | CapturedContent | Uint8Array | null;

export const readMail = (raw: Buffer, reading: Reading): ReadResult => {
  if (reading.kind === 'attachment') return attachmentIn(raw, reading.place);
  return reading.kind === 'outline' ? outlineOf(raw) : contentOf(raw);
};
