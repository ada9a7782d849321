import EmailReplyParser from 'email-reply-parser';
import sanitizeHtml from 'sanitize-html';
import type { InboundAttachment } from '../../domain/ports/contents.ts';
import type { ReadMail } from '../../domain/ports/inbound.ts';
import {
  decodeWords,
  type HeaderField,
  type Mailbox,
  numberedParts,
  type ParsedPart,
  parseMailLeniently,
  readHeaders,
  type WrittenAddress,
} from '../../lib/mime/mime.ts';

/** Longest header value that is kept. Longer ones are traces of other systems; the raw mail has them. */
const VALUE_CHARACTERS_MAX = 10_000;
/** Header fields that are kept, in their order. */
const FIELDS_MAX = 500;
const NAME_CHARACTERS_MAX = 255;
/** Most programs name the last ten messages of a thread. */
const REFERENCES_MAX = 20;
/** Each costs a row's space in lists. Mail to more people is read, but not all of them are shown. */
const MAILBOXES_MAX = 100;
/** Longer texts are not written by hand: the reply in them is not looked for. It takes time by the square of the length. */
const REPLY_CHARACTERS_MAX = 20_000;
/** RFC 5322 §2.1.1 without line ends. Programs that write paragraphs as one line are rarely above it. */
const REPLY_LINE_CHARACTERS_MAX = 998;
/** Longer texts and html stay in the original mail only: writing them as JSON holds the event loop for 4 ms a megabyte. */
const BODY_CHARACTERS_MAX = 4_000_000;
/** Larger html is not sanitized. Newsletters have a tenth of this. */
const SANITIZED_CHARACTERS_MAX = 500_000;
/** Elements within each other. Deeper ones are left out: sanitizing takes time by the square of the depth. */
const NESTING_MAX = 100;

/** Elements and attributes that show something, and do nothing. Images are kept: the viewer decides whether to load them. */
const HARMLESS: sanitizeHtml.IOptions = {
  allowedTags: [...sanitizeHtml.defaults.allowedTags, 'img', 'center', 'font', 'del', 'ins'],
  allowedAttributes: {
    '*': ['align', 'bgcolor', 'color', 'dir', 'height', 'lang', 'style', 'title', 'valign', 'width'],
    a: ['href', 'name'],
    font: ['face', 'size'],
    img: ['alt', 'src'],
    table: ['border', 'cellpadding', 'cellspacing'],
    td: ['colspan', 'rowspan'],
    th: ['colspan', 'rowspan'],
  },
  allowedStyles: {
    '*': {
      'background-color': [/^[#\w(),.% -]{1,50}$/],
      color: [/^[#\w(),.% -]{1,50}$/],
      'font-family': [/^[\w\s,'"-]{1,200}$/],
      'font-size': [/^[\w.%-]{1,20}$/],
      'font-style': [/^[a-z]{1,20}$/],
      'font-weight': [/^\w{1,20}$/],
      'line-height': [/^[\w.%-]{1,20}$/],
      margin: [/^[\w.% -]{1,50}$/],
      padding: [/^[\w.% -]{1,50}$/],
      'text-align': [/^[a-z]{1,20}$/],
      'text-decoration': [/^[a-z -]{1,50}$/],
    },
  },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  allowedSchemesByTag: { img: ['http', 'https', 'cid'] },
  allowProtocolRelative: false,
  disallowedTagsMode: 'discard',
  nestingLimit: NESTING_MAX,
};

const firstValue = (headers: ReadMail['headers'], wanted: string): string | null =>
  headers.find(({ name }) => name.toLowerCase() === wanted)?.value ?? null;

const isControl = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A file name without folders and control characters; null if nothing is left. */
const plainName = (written: string | null): string | null => {
  const name = (written ?? '').split(/[\\/]/).at(-1)?.replace(isControl, '').trim() ?? '';
  return name === '' || /^\.+$/.test(name) ? null : name.slice(0, NAME_CHARACTERS_MAX);
};

const bytesOf = ({ content }: ParsedPart): number => Buffer.byteLength(content, 'base64');

const listed = (part: ParsedPart, index: number): InboundAttachment => ({
  part: index,
  filename: plainName(part.filename),
  contentType: part.contentType,
  bytes: bytesOf(part),
  contentId: part.contentId ?? null,
});

const mailboxes = (written: readonly WrittenAddress[]): readonly Mailbox[] =>
  written
    .filter(({ address }) => address !== '')
    .slice(0, MAILBOXES_MAX)
    .map(({ name, address }) => (name === '' ? { address } : { address, name }));

const MESSAGE_ID = /<[^<>\s]{1,500}>/g;

const referencesIn = (headers: readonly HeaderField[]): readonly string[] => {
  const idsIn = (wanted: string): readonly string[] => (firstValue(headers, wanted) ?? '').match(MESSAGE_ID) ?? [];
  const all = [...idsIn('in-reply-to'), ...idsIn('references').toReversed()];
  return [...new Set(all)].slice(0, REFERENCES_MAX);
};

const isByMachine = (headers: readonly HeaderField[]): boolean => {
  const submitted = firstValue(headers, 'auto-submitted')?.trim().toLowerCase() ?? 'no';
  const precedence = firstValue(headers, 'precedence')?.trim().toLowerCase() ?? '';
  return !/^no\b/.test(submitted) || ['bulk', 'junk', 'list', 'auto_reply'].includes(precedence);
};

const shortened = (headers: readonly HeaderField[]): ReadMail['headers'] =>
  headers.slice(0, FIELDS_MAX).map(({ name, value }) => ({ name, value: value.slice(0, VALUE_CHARACTERS_MAX) }));

const PIECES = new RegExp(`.{1,${REPLY_LINE_CHARACTERS_MAX}}`, 'gs');

const wrapped = (line: string): string =>
  line.length <= REPLY_LINE_CHARACTERS_MAX ? line : (line.match(PIECES) ?? []).join('\n');

/** The text as the parser of replies reads it in good time: without runs of empty lines, and without endless lines. */
const tamed = (text: string): string =>
  text
    .split('\n')
    .map((line) => wrapped(line.trimEnd()))
    .join('\n')
    .replace(/\n{3,}/g, '\n\n');

/** The text without what it quotes and without the signature; null if nothing is left. */
const replyIn = (text: string | null): string | null => {
  if (text === null || text.length > REPLY_CHARACTERS_MAX) return null;
  const reply = new EmailReplyParser().parseReply(tamed(text)).trim();
  return reply === '' ? null : reply;
};

/** @param fields all header fields, decoded. */
const headOf = (fields: readonly HeaderField[]) => ({
  subject: (firstValue(fields, 'subject') ?? '').slice(0, VALUE_CHARACTERS_MAX),
  date: firstValue(fields, 'date')?.slice(0, NAME_CHARACTERS_MAX) ?? null,
  internetMessageId: (firstValue(fields, 'message-id') ?? '').match(MESSAGE_ID)?.[0] ?? null,
  headers: shortened(fields),
  references: referencesIn(fields),
  hops: fields.filter(({ name }) => name.toLowerCase() === 'received').length,
  isAutomatic: isByMachine(fields),
});

const sanitized = (html: string | null): string | null =>
  html === null || html.length > SANITIZED_CHARACTERS_MAX ? null : sanitizeHtml(html, HARMLESS);

interface Bodies {
  readonly text: string | null;
  readonly html: string | null;
}

const isLong = (body: string | null): boolean => body !== null && body.length > BODY_CHARACTERS_MAX;

/** @param isPlain neither the reply nor the sanitized html is made. */
const bodiesOf = (read: Bodies, isPlain = false) => {
  const text = isLong(read.text) ? null : read.text;
  const html = isLong(read.html) ? null : read.html;
  const sanitizedHtml = isPlain ? null : sanitized(html);
  const reply = isPlain ? null : replyIn(text);
  const problems = [
    ...(isLong(read.text) || isLong(read.html) ? ['a text or html is too long: only the original mail has it'] : []),
    ...(isPlain ? ['the html could not be sanitized, nor the reply be found, in time'] : []),
  ];
  return { text, html, sanitizedHtml, reply, problems };
};

const NO_PARTS = { from: [], to: [], cc: [], replyTo: [], attachments: [] };

/** Only the header fields: for a mail that takes too long to read. */
export const readHead = (raw: Buffer, problem: string): ReadMail => ({
  ...NO_PARTS,
  ...headOf(readHeaders(raw).map(({ name, value }) => ({ name, value: decodeWords(value) }))),
  ...bodiesOf({ text: null, html: null }),
  problems: [problem],
});

/** A mail to read. `isPlain`: its bodies are only decoded, because looking into them took too long. */
export interface InboundTask {
  readonly raw: Uint8Array;
  readonly isPlain: boolean;
}

/** Reads a mail. One that is malformed or beyond the bounds of the MIME reader is read as far as possible. */
export const readInbound = ({ raw: bytes, isPlain }: InboundTask): ReadMail => {
  const raw = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const mail = parseMailLeniently(raw);
  const { problems, ...bodies } = bodiesOf({ text: mail.text ?? null, html: mail.html ?? null }, isPlain);
  return {
    ...headOf(mail.headers),
    from: mailboxes(mail.from),
    to: mailboxes(mail.to),
    cc: mailboxes(mail.cc),
    replyTo: mailboxes(mail.replyTo),
    ...bodies,
    problems: [...mail.problems, ...problems],
    attachments: numberedParts(mail).map(listed),
  };
};
