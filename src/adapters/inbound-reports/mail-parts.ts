import {
  bytesInCharset,
  canonicalAddress,
  decodeWords,
  type HeaderField,
  type MimeEntity,
  parameterOf,
  parseMailbox,
  readFields as readHeaderFields,
  readHeaders,
  readLeaves,
} from '../../lib/mime/mime.ts';

/** Fields of a header or of a report, by lower-case name. Values are unfolded, in order. */
export type Fields = ReadonlyMap<string, readonly string[]>;

/** Longest value. Longer ones are references and keys, which are not needed here. */
const VALUE_CHARACTERS_MAX = 4000;

const byName = (headers: readonly HeaderField[]): Fields => {
  const fields = new Map<string, string[]>();
  for (const { name, value } of headers) {
    const values = fields.get(name.toLowerCase()) ?? [];
    values.push(value.slice(0, VALUE_CHARACTERS_MAX).replace(/ {2,}/g, ' '));
    fields.set(name.toLowerCase(), values);
  }
  return fields;
};

/** Lines that are not fields have no value. */
export const readFields = (text: string): Fields => byName(readHeaderFields(text));

export const firstField = (fields: Fields, name: string): string | undefined => fields.get(name)?.[0];

const UNDECLARED = /^(?:(?:us-)?ascii|utf-?8)$/i;
/** Escape sequences of a Japanese character set (RFC 1468), in parts that declare none. */
const JAPANESE = ['\x1b$B', '\x1b$@'];

/** A part's text, with LF line ends. An unknown character set is read as UTF-8: the relevant text of a report is ASCII. */
const textOf = ({ type, bytes }: MimeEntity): string => {
  const octets = bytes();
  const declared = parameterOf(type, 'charset') ?? 'utf-8';
  const isJapanese = UNDECLARED.test(declared) && JAPANESE.some((start) => octets.includes(start));
  const text = bytesInCharset(octets, isJapanese ? 'iso-2022-jp' : declared) ?? octets.toString('utf8');
  return text.replace(/\r\n?/g, '\n');
};

/** The parts of a mail that a reader of reports needs. */
export interface MailParts {
  readonly headers: Fields;
  readonly subject: string;
  readonly from: string;
  /** Text of the parts for people, with LF line ends. */
  readonly text: string;
  /** The other parts, in order. Types are in lower case. */
  readonly parts: readonly { readonly type: string; readonly text: string }[];
}

/** Far more than any report's text for people. A higher limit only makes searches slower. */
const TEXT_CHARACTERS_MAX = 64_000;

/** Text without tags and references. Blocks end lines. Each `<` is examined once. */
const textOfHtml = (html: string): string =>
  html
    .slice(0, 4 * TEXT_CHARACTERS_MAX)
    .replace(/<(?:br|\/p|\/div|\/tr|\/h\d|\/li)\b[^<>]{0,500}>/gi, '\n')
    .replace(/<[^<>]{0,2000}>/g, ' ')
    .replace(/&nbsp;|&#160;/gi, ' ')
    .replace(/&lt;/gi, '<')
    .replace(/&gt;/gi, '>')
    .replace(/&(?:#39|apos|rsquo);/gi, "'")
    .replace(/&quot;/gi, '"')
    .replace(/&amp;/gi, '&')
    .replace(/[ \t]{2,}/g, ' ');

const typeOf = ({ type }: MimeEntity): string => /^[\w.+-]+\/[\w.+-]+/.exec(type.value)?.[0] ?? 'text/plain';

const textFor = (parts: readonly MimeEntity[]): string => {
  const shown = (type: string): readonly string[] =>
    parts.filter((part) => typeOf(part) === type && part.disposition.value !== 'attachment').map(textOf);
  const plain = shown('text/plain');
  return (plain.length > 0 ? plain : shown('text/html').map(textOfHtml)).join('\n');
};

export const readParts = (raw: Uint8Array): MailParts => {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const headers = byName(readHeaders(bytes));
  const parts = readLeaves(bytes);
  return {
    headers,
    subject: decodeWords(firstField(headers, 'subject') ?? ''),
    from: decodeWords(firstField(headers, 'from') ?? ''),
    text: textFor(parts).slice(0, TEXT_CHARACTERS_MAX),
    parts: parts
      .filter((part) => !/^text\/(?:plain|html)$/.test(typeOf(part)))
      .map((part) => ({ type: typeOf(part), text: textOf(part) })),
  };
};

/** Parses fields and texts of a report: addresses, the reply of a server, the name of a host. */

/** RFC 3464 §2.1.2: `rfc822; a@b`; RFC 6533 §3: `utf-8; a@b`. */
const ADDRESS_TYPE = /^[a-z0-9-]{1,20}\s*;\s*/i;
/** RFC 3461 §4, `+2B`; RFC 6533 §3, `\x{e4}`. */
const XTEXT = /\+([0-9A-F]{2})/g;
const UTF8_XTEXT = /\\x\{([0-9A-F]{2,6})\}/gi;
const FIELD_CHARACTERS_MAX = 1000;

const character = (_: string, hex: string): string => {
  const point = Number.parseInt(hex, 16);
  return point <= 0x10_ff_ff ? String.fromCodePoint(point) : '';
};

const canonical = (text: string): readonly string[] => {
  const mailbox = parseMailbox(text);
  return typeof mailbox === 'string' ? [] : [canonicalAddress(mailbox.address)];
};

/** An address of a report, in each possible reading. Empty: not an email address. */
export const reportedAddress = (text: string): readonly string[] => {
  const bare = text.slice(0, FIELD_CHARACTERS_MAX).trim().replace(ADDRESS_TYPE, '').replace(/^<|>$/g, '').trim();
  const decoded = bare.replace(UTF8_XTEXT, character);
  return [...new Set([...canonical(decoded), ...canonical(decoded.replace(XTEXT, character))])];
};

/** Address types of email (RFC 3464 §2.1.2, RFC 6533 §3). Other types name mailboxes of other systems. */
const MAIL_TYPE = /^(?:rfc822|utf-8)\s*;/i;

/** Like `reportedAddress`. Also empty if the type is not one of email. */
export const mailAddress = (text: string): readonly string[] => {
  const field = text.slice(0, FIELD_CHARACTERS_MAX).trim();
  return ADDRESS_TYPE.test(field) && !MAIL_TYPE.test(field) ? [] : reportedAddress(field);
};

/** Parts of a server's reply quoted in a text. */
interface QuotedReply {
  /** 0: none. */
  readonly code: number;
  readonly enhanced: string | null;
  readonly mx: string | null;
}

/** A reply code at the beginning of a reply. Other numbers of three digits are everywhere. */
const CODE =
  /(?:^[ \t]{0,20}|\b(?:said|error|returned|reason|response|responded|replied|smtp|because)\b[^\n0-9]{0,60}|[;:>('"#]\s?)([45]\d\d)(?=[ :-]|$)/im;
/** Must not match part of an IP address. */
const ENHANCED = /(?<![\d.])([45]\.\d{1,3}\.\d{1,3})(?![\d]|\.\d)/;
/** `host mx.example.net[192.0.2.1] said:`, `host mx.example.net [192.0.2.1]:`. */
const HOST = /\bhost ([a-z0-9](?:[a-z0-9-]{0,62}\.){1,20}[a-z0-9-]{2,63})/i;
const HOST_NAME = /^[a-z0-9](?:[a-z0-9-]{0,62}\.){1,20}[a-z0-9-]{2,63}\.?$/i;
/** Limit for text that people read, as in the SMTP adapter. */
const READABLE_CHARACTERS_MAX = 1000;

export const quotedReply = (text: string): QuotedReply => ({
  code: Number(CODE.exec(text)?.[1] ?? 0),
  enhanced: ENHANCED.exec(text)?.[1] ?? null,
  mx: HOST.exec(text)?.[1]?.toLowerCase() ?? null,
});

/** null: not a host name, or an IP address. */
export const hostName = (text: string): string | null => {
  const [name = ''] = text.trim().split(/[\s[(]/, 1);
  return HOST_NAME.test(name) && /[a-z]/i.test(name) ? name.toLowerCase().replace(/\.$/, '') : null;
};

/** The text on one line, without control characters. */
export const readable = (text: string): string =>
  text
    .slice(0, 4 * READABLE_CHARACTERS_MAX)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, READABLE_CHARACTERS_MAX);
