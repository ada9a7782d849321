import { createHash } from 'node:crypto';
import { asciiDomain, type Mailbox, type StoredAlternative, type StoredAttachment } from '../../lib/mime/mime.ts';
import {
  type ContentPart,
  partLeaf,
  rootOfLeaves,
  rootOfPart,
  type SaltedPart,
  saltOf,
} from '../../lib/transparency/transparency.ts';
import { headOf, type MessageBody, type ReplyText } from '../ports/contents.ts';
import type { Tracking } from '../tracking/tracking.ts';
import type { RecipientKind } from './events.ts';

/** The permitted contents of a message: its draft, and which headers and unsubscribe links are allowed. */

/** A send request after validation and address parsing. Nothing in it has an id yet. */
export interface MessageDraft
  extends Omit<MessageBody, 'kind' | 'messageId' | 'recipients' | 'analysis' | 'findings' | 'salts'> {
  readonly recipients: readonly (Mailbox & { readonly kind: RecipientKind })[];
  readonly stream: 'transactional' | 'bulk';
  /** ISO 8601. Absent: send immediately. */
  readonly scheduledAt?: string;
  /** Time to live, counted from the time for which sending is requested. */
  readonly ttlSeconds: number;
  /** Template from which subject and bodies were rendered. */
  readonly template?: { readonly templateId: string; readonly version: number };
  /** A test send of a template, or a notice of this service: not counted in statistics, warm-up quotas or reputation. */
  readonly trial?: true;
  /** Id of the message that it sends again. */
  readonly resendOf?: string;
  /** Absent fields default to the domain's settings. */
  readonly tracking?: Partial<Tracking>;
}

/** Headers that this service writes itself, because a second one could contradict the first. */
const OWN_HEADERS =
  /^(?:from|to|cc|bcc|subject|date|message-id|dkim-signature|return-path|received|sender|content-.*|mime-version)$/i;

/** Whether only this service may write the header. Senders may set `Reply-To`. */
export const isOwnHeader = (name: string): boolean => OWN_HEADERS.test(name);

/** Keeps `List-Unsubscribe: <…>,` within one line of 998 characters (RFC 5322 §2.1.1). */
const LINK_CHARACTERS_MAX = 900;
/** Characters of RFC 3986 §2, with an authority after the scheme. Browsers accept more than mail programs do. */
const URL_TEXT = /^https:\/\/(?=[^/?#])(?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$/i;
/** Text like an encoded word, which lenient mail programs decode anywhere (RFC 2047). */
const LIKE_ENCODED_WORD = /=\?[^?]*\?/;

/**
 * The reason why a text cannot be a `List-Unsubscribe` link (RFC 2369 §3.2, RFC 8058 §3.1), as a phrase to follow the
 * field's name; null if it can.
 */
export const unsubscribeUrlProblem = (text: string): string | null => {
  if (text.length > LINK_CHARACTERS_MAX) return `must have at most ${LINK_CHARACTERS_MAX} characters`;
  if (!URL_TEXT.test(text)) return 'must be a complete https URL in ASCII, percent-encoded where needed';
  const parsed = URL.parse(text);
  if (parsed === null || parsed.hostname === '') return 'must be a complete https URL with a host name';
  if (text.split(/[/?#]/)[2]?.includes('@') === true) return 'must not contain a user name or password';
  return LIKE_ENCODED_WORD.test(text) ? 'must not contain =?…?, which mail programs read as an encoded word' : null;
};

/** Checks headers that could impersonate another sender, or link to something other than a page or an address. */

type Field = readonly [name: string, value: string];

/** RFC 5322 §3.6.6: the party that resent the message. Mail programs show it like `From`. */
const RESENT = /^resent-(?:from|sender)$/i;
const QUOTED = /"(?:[^"\\]|\\.)*"/g;
/** Text after an @ up to a delimiter of RFC 5322 §3.2.3. */
const DOMAIN_AFTER_AT = /@([^\s@<>()[\]\\,;:"]*)/g;

/**
 * Every @ outside quotes must precede the domain. Comments, routes and IP addresses are rejected with everything else.
 */
const isOn = (domain: string, value: string): boolean => {
  const domains = [...value.replace(QUOTED, '""').matchAll(DOMAIN_AFTER_AT)].map(([, written = '']) => written);
  return domains.length > 0 && domains.every((written) => asciiDomain(written.toLowerCase()) === domain);
};

/** Sentences about `Resent-From` and `Resent-Sender` headers with an address that is not on the sending domain. */
export const resentProblems = (fields: readonly Field[], domain: string): readonly string[] =>
  fields
    .filter(([name, value]) => RESENT.test(name) && !isOn(domain, value))
    .map(([name]) => `headers.${name} must be an address on ${domain}`);

/** RFC 2369: headers with links. `List-Id` has none. */
const LIST_LINKS = /^list-(?:unsubscribe|subscribe|help|owner|post|archive)$/i;
const UNSUBSCRIBE = /^list-unsubscribe$/i;
const ONE_CLICK = /^list-unsubscribe-post$/i;
const BRACKETED = /<([^<>]*)>/g;
const SCHEME = /^([a-z][a-z0-9+.-]*):/i;
/** Mail programs open these, and they start no other program on the reader's machine. */
const SCHEMES: ReadonlySet<string> = new Set(['https', 'http', 'mailto']);

/** RFC 2369 §2: white space inside the brackets is ignored. Without brackets, programs use the text between commas. */
const linksIn = (value: string): readonly string[] => {
  const bracketed = [...value.matchAll(BRACKETED)].map(([, link = '']) => link);
  const outside = value.replace(BRACKETED, '').split(',');
  return [...bracketed, ...outside].map((link) => link.replaceAll(/\s/g, '').replace(/^[<(]+/, ''));
};

const schemesIn = (value: string): readonly string[] =>
  linksIn(value).flatMap((link) => SCHEME.exec(link)?.[1]?.toLowerCase() ?? []);

/**
 * The problem with the links of a list header, as a phrase to follow its name; otherwise null.
 * @param isOneClick whether the message has `List-Unsubscribe-Post`.
 */
export const listLinkProblem = (name: string, value: string, isOneClick: boolean): string | null => {
  if (!LIST_LINKS.test(name)) return null;
  const schemes = schemesIn(value);
  const other = schemes.find((scheme) => !SCHEMES.has(scheme));
  if (other !== undefined) return `must have only https:, http: and mailto: links, not ${other}:`;
  return isOneClick && UNSUBSCRIBE.test(name) && schemes.includes('http')
    ? 'must not have an http: link together with List-Unsubscribe-Post: one-click requires https: (RFC 8058 §3.1)'
    : null;
};

/** Whether the header asks for one-click unsubscription (RFC 8058). */
export const isOneClickHeader = (name: string): boolean => ONE_CLICK.test(name);

/**
 * The parts of a message's content, in the order that determines its root: recipients, `head`, `shown`, `html`, `text`,
 * alternatives, attachments. The content in the vault has the same parts as the accepted request.
 */

/** Characters decoded and hashed before yielding, about 3 ms. A multiple of four. */
const TURN_CHARACTERS = 1_000_000;

type AttachedFile = StoredAttachment | StoredAlternative;

/** Describes an attachment by its SHA-256, so that it can be compared without being disclosed. */
const attachedValue = function* ({ content, contentType, filename, ...rest }: AttachedFile): Generator<void, unknown> {
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

const attachedParts = function* (kind: string, attached: readonly AttachedFile[]): Generator<void, ContentPart[]> {
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
