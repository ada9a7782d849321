import { isUtf8 } from 'node:buffer';
import { canonicalAddress, parseMailbox } from '../../lib/mime/mime.ts';

const QUOTED_PRINTABLE = /=(?:\r?\n|([0-9A-Fa-f]{2}))/g;
/** RFC 2047 §2. */
const ENCODED_WORD = /=\?([\w-]{1,40})\?([BQ])\?([^?\s]{0,200})\?=(?:\s+(?==\?))?/gi;

/** Octets as characters (ISO 8859-1), like all text until its character set is known. */
const quotedPrintable = (octets: string): Buffer => {
  const decoded = octets.replace(QUOTED_PRINTABLE, (_, hex?: string) =>
    hex === undefined ? '' : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(decoded, 'latin1');
};

const ASCII = /^(?:us-)?ascii$/i;
/** Escape sequences of a Japanese character set (RFC 1468), in parts that declare none. */
const JAPANESE = ['\x1b$B', '\x1b$@'];

/** An unknown character set is read as UTF-8, which it often is; the relevant text of a report is ASCII. */
const inCharset = (bytes: Buffer, charset: string): string => {
  const isUndeclared = ASCII.test(charset) || /^utf-?8$/i.test(charset);
  if (isUndeclared && JAPANESE.some((start) => bytes.includes(start))) return inCharset(bytes, 'iso-2022-jp');
  if (ASCII.test(charset) && isUtf8(bytes)) return bytes.toString('utf8');
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
};

/** A part's text, with LF line ends. @param encoding its `Content-Transfer-Encoding` (RFC 2045 §6). */
const decodeBody = (octets: string, encoding: string, charset: string): string => {
  const bytes = /^quoted-printable/i.test(encoding)
    ? quotedPrintable(octets)
    : Buffer.from(octets, /^base64/i.test(encoding) ? 'base64' : 'latin1');
  return inCharset(bytes, charset).replace(/\r\n?/g, '\n');
};

/** A header's value in readable form. */
const decodeWords = (value: string): string =>
  value.replace(ENCODED_WORD, (_, charset: string, kind: string, word: string) =>
    kind.toUpperCase() === 'B'
      ? decodeBody(word, 'base64', charset)
      : decodeBody(word.replaceAll('_', ' '), 'quoted-printable', charset),
  );

/** Fields of a header or of a report, by lower-case name. Values are unfolded, in order. */
export type Fields = ReadonlyMap<string, readonly string[]>;

/** RFC 5322 §3.6.8; real names are shorter. */
const FIELD = /^([!-9;-~]{1,76})[ \t]{0,8}:(.*)$/;
const FOLD = /\n[ \t]+/g;
/** Longest value. Longer ones are references and keys, which are not needed here. */
const VALUE_CHARACTERS_MAX = 4000;

/** @param text with LF line ends. Lines that are not fields are skipped. */
export const readFields = (text: string): Fields => {
  const fields = new Map<string, string[]>();
  for (const line of text.replace(FOLD, ' ').split('\n')) {
    const [, name, value = ''] = FIELD.exec(line.slice(0, VALUE_CHARACTERS_MAX)) ?? [];
    if (name === undefined) continue;
    const values = fields.get(name.toLowerCase());
    if (values === undefined) fields.set(name.toLowerCase(), [value.trim()]);
    else values.push(value.trim());
  }
  return fields;
};

export const firstField = (fields: Fields, name: string): string | undefined => fields.get(name)?.[0];

/** A part without parts of its own. */
interface MailPart {
  /** In lower case. */
  readonly type: string;
  readonly headers: Fields;
  /** Decoded. */
  text(): string;
}

/** Reports nest three levels. Deeper parts are not read. */
const NESTING_MAX = 10;
/** A report has three parts. */
const PARTS_MAX = 50;
/** Real headers have 20 kB, together with those of a returned message. */
const HEADER_OCTETS_MAX = 256_000;

const HEADER_END = /\r?\n\r?\n/;
const TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}/;
const PARAMETER = {
  boundary: /;\s{0,20}boundary\s{0,20}=\s{0,20}(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i,
  charset: /;\s{0,20}charset\s{0,20}=\s{0,20}(?:"([^"]{1,60})"|([^\s;"]{1,60}))/i,
};

const parameter = (name: keyof typeof PARAMETER, value: string): string | undefined => {
  const [, quoted, plain] = PARAMETER[name].exec(value) ?? [];
  return quoted ?? plain;
};

interface Entity {
  readonly headers: Fields;
  readonly body: string;
}

const readEntity = (octets: string): Entity => {
  const bare = /^\r?\n/.exec(octets);
  const end = bare ?? HEADER_END.exec(octets);
  const head = octets.slice(0, Math.min(end?.index ?? octets.length, HEADER_OCTETS_MAX));
  const body = end === null ? '' : octets.slice(end.index + end[0].length);
  return { headers: readFields(decodeBody(head, '8bit', 'utf-8')), body };
};

/** The parts of a multipart (RFC 2046 §5.1.1). A part that was cut off ends with the mail. */
const sectionsOf = (body: string, boundary: string): readonly string[] => {
  const delimiter = `\n--${boundary}`;
  const text = `\n${body}`;
  const sections: string[] = [];
  let at = text.indexOf(delimiter);
  while (at >= 0 && sections.length < PARTS_MAX && !text.startsWith('--', at + delimiter.length)) {
    const line = text.indexOf('\n', at + 1);
    const next = text.indexOf(delimiter, at + delimiter.length);
    if (line >= 0) sections.push(text.slice(line + 1, Math.max(line + 1, next < 0 ? text.length : next)));
    at = next;
  }
  return sections;
};

const partsIn = ({ headers, body }: Entity, depth: number): readonly MailPart[] => {
  const contentType = firstField(headers, 'content-type') ?? '';
  const type = (TYPE.exec(contentType)?.[0] ?? 'text/plain').toLowerCase();
  const boundary = type.startsWith('multipart/') ? parameter('boundary', contentType) : undefined;
  if (boundary !== undefined) {
    const sections = depth < NESTING_MAX ? sectionsOf(body, boundary) : [];
    return sections.flatMap((section) => partsIn(readEntity(section), depth + 1)).slice(0, PARTS_MAX);
  }
  const encoding = firstField(headers, 'content-transfer-encoding') ?? '';
  const charset = parameter('charset', contentType) ?? 'utf-8';
  return [{ type, headers, text: () => decodeBody(body, encoding, charset) }];
};

/**
 * A mail's own headers, and its parts in order. Written by hand because a general parser takes 60 µs a line, which is
 * the time of a whole report here, and reports need a tenth of its features.
 */
const splitParts = (raw: Uint8Array): { readonly headers: Fields; readonly parts: readonly MailPart[] } => {
  const entity = readEntity(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('latin1'));
  return { headers: entity.headers, parts: partsIn(entity, 0) };
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

const isAttached = ({ headers }: MailPart): boolean =>
  /^attachment/i.test(firstField(headers, 'content-disposition') ?? '');

const forPeople = (parts: readonly MailPart[], type: string): readonly MailPart[] =>
  parts.filter((part) => part.type === type && !isAttached(part));

const textFor = (parts: readonly MailPart[]): string => {
  const plain = forPeople(parts, 'text/plain');
  if (plain.length > 0) return plain.map((part) => part.text()).join('\n');
  return forPeople(parts, 'text/html')
    .map((part) => textOfHtml(part.text()))
    .join('\n');
};

export const readParts = (raw: Uint8Array): MailParts => {
  const { headers, parts } = splitParts(raw);
  return {
    headers,
    subject: decodeWords(firstField(headers, 'subject') ?? ''),
    from: decodeWords(firstField(headers, 'from') ?? ''),
    text: textFor(parts).slice(0, TEXT_CHARACTERS_MAX),
    parts: parts
      .filter(({ type }) => !/^text\/(?:plain|html)$/.test(type))
      .map((part) => ({ type: part.type, text: part.text() })),
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
