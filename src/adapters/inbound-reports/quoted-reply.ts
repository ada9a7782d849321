import { canonicalAddress, parseMailbox } from '../../lib/mime/mime.ts';

/** Parses fields and texts of a report: addresses, the reply of a server, the name of a host. */

/** RFC 3464 §2.1.2: `rfc822; a@b`; RFC 6533 §3: `utf-8; a@b`. */
const TYPE = /^[a-z0-9-]{1,20}\s*;\s*/i;
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
  const bare = text.slice(0, FIELD_CHARACTERS_MAX).trim().replace(TYPE, '').replace(/^<|>$/g, '').trim();
  const decoded = bare.replace(UTF8_XTEXT, character);
  return [...new Set([...canonical(decoded), ...canonical(decoded.replace(XTEXT, character))])];
};

/** Address types of email (RFC 3464 §2.1.2, RFC 6533 §3). Other types name mailboxes of other systems. */
const MAIL_TYPE = /^(?:rfc822|utf-8)\s*;/i;

/** Like `reportedAddress`. Also empty if the type is not one of email. */
export const mailAddress = (text: string): readonly string[] => {
  const field = text.slice(0, FIELD_CHARACTERS_MAX).trim();
  return TYPE.test(field) && !MAIL_TYPE.test(field) ? [] : reportedAddress(field);
};

/** Parts of a server's reply quoted in a text. */
export interface QuotedReply {
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
const TEXT_CHARACTERS_MAX = 1000;

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
    .slice(0, 4 * TEXT_CHARACTERS_MAX)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, TEXT_CHARACTERS_MAX);
