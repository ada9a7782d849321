import { createHash } from 'node:crypto';
import type { StoredAlternative, StoredAttachment } from '../../lib/mime/mime.ts';
import {
  type ContentPart,
  partLeaf,
  rootOfLeaves,
  rootOfPart,
  type SaltedPart,
  saltOf,
} from '../../lib/transparency/transparency.ts';
import { headOf, type MessageBody, type ReplyText } from '../ports/contents.ts';

/**
 * The parts of a message's content, in the order that determines its root: recipients, `head`, `shown`, `html`, `text`,
 * alternatives, attachments. The content in the vault has the same parts as the accepted request.
 */

/** Characters decoded and hashed before yielding, about 3 ms. A multiple of four. */
const TURN_CHARACTERS = 1_000_000;

type Attached = StoredAttachment | StoredAlternative;

/** Describes an attachment by its SHA-256, so that it can be compared without being disclosed. */
const attachedValue = function* ({ content, contentType, filename, ...rest }: Attached): Generator<void, unknown> {
  const digest = createHash('sha256');
  // Base64 with line breaks is decoded in one go, because a cut could fall within a group of four characters.
  const characters = isBase64(content) ? TURN_CHARACTERS : Math.max(1, content.length);
  let size = 0;
  for (let from = 0; from < content.length; from += characters) {
    if (from > 0) yield;
    const bytes = Buffer.from(content.slice(from, from + characters), 'base64');
    digest.update(bytes);
    size += bytes.length;
  }
  return { ...rest, name: filename, type: contentType, size, sha256: digest.digest('hex') };
};

const attachedParts = function* (kind: string, attached: readonly Attached[]): Generator<void, ContentPart[]> {
  const parts: ContentPart[] = [];
  for (const [index, each] of attached.entries()) {
    parts.push({ name: `${kind}/${index}`, value: yield* attachedValue(each) });
  }
  return parts;
};

const RECIPIENT = 'recipient/';

/** Name of the part that identifies a recipient. */
export const recipientPart = (recipientId: string): string => `${RECIPIENT}${recipientId}`;

export const isRecipientPart = (name: string): boolean => name.startsWith(RECIPIENT);

/** Builds the parts. Yields while megabytes of attachments are hashed. */
export const contentParts = function* (body: Omit<MessageBody, 'salts'>): Generator<void, readonly ContentPart[]> {
  const { recipients, shown, html, text, alternatives = [], attachments } = body;
  const { kind, messageId, recipients: _, attachments: __, ...head } = headOf(body) as MessageBody;
  const parts: ContentPart[] = recipients.map(({ id, ...value }) => ({ name: recipientPart(id), value }));
  parts.push({ name: 'head', value: head });
  if (shown !== undefined) parts.push({ name: 'shown', value: shown });
  if (html !== undefined) parts.push({ name: 'html', value: html });
  if (text !== undefined) parts.push({ name: 'text', value: text });
  parts.push(...(yield* attachedParts('alternative', alternatives)));
  parts.push(...(yield* attachedParts('attachment', attachments)));
  return parts;
};

/** The root that the message's event states for its content. @returns base64 */
export const contentRoot = (parts: readonly SaltedPart[]): string =>
  rootOfLeaves(parts.map(partLeaf)).toString('base64');

/** The salted parts of a stored content; null if it was stored before contents were bound to events. */
export const saltedParts = function* (body: MessageBody): Generator<void, readonly SaltedPart[] | null> {
  const { salts } = body;
  if (salts === undefined) return null;
  const parts = yield* contentParts(body);
  return parts.map((part, index) => ({ ...part, salt: salts[index] as string }));
};

/** The only part of a reply; null if no event is bound to it. */
export const replyPart = ({ text, salt }: ReplyText): SaltedPart | null =>
  salt === undefined ? null : { name: 'reply', value: text, salt };

/** A reply for the vault, and the root for its event. Takes 3 µs. @param saltBytes `SALT_BYTES` random bytes. */
export const boundReply = (
  messageId: string,
  text: string,
  saltBytes: Uint8Array,
): { readonly body: ReplyText; readonly root: string } => {
  const salt = saltOf(saltBytes);
  const body: ReplyText = { kind: 'reply', messageId, text, salt };
  return { body, root: rootOfPart({ name: 'reply', value: text, salt }) };
};

/** Media types of commonly attached files by file extension (IANA). */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  pdf: 'application/pdf',
  zip: 'application/zip',
  json: 'application/json',
  xml: 'application/xml',
  csv: 'text/csv',
  txt: 'text/plain',
  html: 'text/html',
  ics: 'text/calendar',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  heic: 'image/heic',
  webp: 'image/webp',
  svg: 'image/svg+xml',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  vcf: 'text/vcard',
  rtf: 'application/rtf',
  odt: 'application/vnd.oasis.opendocument.text',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
  doc: 'application/msword',
  xls: 'application/vnd.ms-excel',
  ppt: 'application/vnd.ms-powerpoint',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
};

const ENDING = /\.([a-z0-9]{1,5})$/;

/** Media type of a file, derived from its extension. */
export const mediaTypeOf = (filename: string): string => {
  const ending = ENDING.exec(filename.toLowerCase())?.[1] ?? '';
  return (Object.hasOwn(MEDIA_TYPES, ending) ? MEDIA_TYPES[ending] : undefined) ?? 'application/octet-stream';
};

/** Characters decoded at once. A multiple of four. Higher: wastes memory. Lower: slower. */
const SLICE_CHARACTERS = 65_536;
const scratch = Buffer.allocUnsafeSlow((SLICE_CHARACTERS / 4) * 3);

const paddingOf = (text: string): number => {
  if (text.endsWith('==')) return 2;
  return text.endsWith('=') ? 1 : 0;
};

/** The platform's decoder skips invalid characters, and then produces fewer bytes. */
const isWhole = (slice: string): boolean =>
  scratch.write(slice, 'base64') === (slice.length / 4) * 3 - paddingOf(slice);

/**
 * Whether a text is a single padded base64 value (RFC 4648 §4). It is decoded, because that takes 5 ms for 25 MB and a
 * regular expression takes a hundred times as long.
 */
export const isBase64 = (text: string): boolean => {
  if (text.length % 4 !== 0) return false;
  for (let from = 0; from < text.length; from += SLICE_CHARACTERS) {
    const slice = text.slice(from, from + SLICE_CHARACTERS);
    const isLast = from + SLICE_CHARACTERS >= text.length;
    if (!isWhole(slice) || (!isLast && slice.endsWith('='))) return false;
  }
  // The decoder also accepts the URL alphabet (§5).
  return !text.includes('-') && !text.includes('_');
};
