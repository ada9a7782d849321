import { domainToASCII } from 'node:url';

/** A mailbox named in a header, and the content of a message besides its text. */

export interface Mailbox {
  readonly address: string;
  readonly name?: string;
}

/** Contents of `List-Unsubscribe` (RFC 2369 §3.2). At least one of the two is present. */
export interface UnsubscribeWays {
  readonly url?: string;
  /** A parsed address. */
  readonly mailto?: string;
}

export interface StoredAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly contentId?: string;
  /** Absent: `inline` if the html shows it, otherwise `attachment`. `none`: the field is not written. */
  readonly disposition?: 'attachment' | 'inline' | 'none';
  /** Base64. */
  readonly content: string;
}

/** The message in another form than text and html (RFC 2046 §5.1.4), for programs that know it: an invitation, AMP. */
export interface StoredAlternative extends Omit<StoredAttachment, 'filename'> {
  readonly filename?: string;
  /** A reader that knows both forms prefers the html. */
  readonly beforeHtml: boolean;
}

/** The syntax of header fields, media types and lines. */

/** Field names of RFC 5322 §3.6.8 that fit on their line. */
const HEADER_NAME = /^[!-9;-~]{1,76}$/;
export const isHeaderName = (name: string): boolean => HEADER_NAME.test(name);

/**
 * Written by this service if the message has `unsubscribe`. Otherwise a sender may set them (RFC 2369 §3.2, RFC 8058
 * §3.1).
 */
export const isListUnsubscribe = (name: string): boolean => /^list-unsubscribe(?:-post)?$/i.test(name);

export const isReplyTo = (name: string): boolean => name.toLowerCase() === 'reply-to';

/** A line has up to 998 characters (RFC 5322 §2.1.1). Types in use are far shorter. */
const TYPE_CHARACTERS_MAX = 500;
/** RFC 6838 §4.2 and RFC 2045 §5.1 with parameters, including those of RFC 2231, on one line. */
const TYPE =
  /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:; ?[\w!#$&^.+-]+(?:=(?:[\w!#$%&'*+.^`{|}~-]+|"(?:[ !#-[\]-~]|\\[ -~])*")|\*\d{0,2}\*?=[\w!#$%&'*+.^`{|}~-]+))*$/;
/** RFC 2045 §6.4: these must not be encoded, so an attachment cannot be one of them. */
const COMPOSITE = /^(?:multipart|message)\//i;

/** True if the text can be the `Content-Type` of an attachment. */
export const isAttachmentType = (text: string): boolean =>
  text.length <= TYPE_CHARACTERS_MAX && TYPE.test(text) && !COMPOSITE.test(text);

/** A message attached to a message (RFC 2046 §5.2.1): written unencoded. */
export const isMessageType = (text: string): boolean =>
  /^message\/rfc822(?:;|$)/i.test(text) && text.length <= TYPE_CHARACTERS_MAX && TYPE.test(text);

/** RFC 5322 §2.1.1. */
const LINE_CHARACTERS_MAX = 998;
const SEVEN_BIT = /^[\t\r\n -~]*$/;

/** Lines of ASCII that every server transfers unchanged (RFC 2045 §2.7). */
export const isSevenBit = (text: string): boolean =>
  SEVEN_BIT.test(text) &&
  text.split('\r\n').every((line) => line.length <= LINE_CHARACTERS_MAX && !/[\r\n]/.test(line));

/** RFC 5321 §4.5.3.1.1. */
const LOCAL_OCTETS_MAX = 64;
/** RFC 1035 §2.3.4, in text form without the root's dot. */
const DOMAIN_CHARACTERS_MAX = 253;
/** RFC 5321 §4.5.3.1.3: a path is 256 octets with its angle brackets. */
const ADDRESS_OCTETS_MAX = 254;
/** Longer texts are not names. A header line holds 998 octets, and one character may cost ten when encoded. */
const NAME_CHARACTERS_MAX = 256;
/** Anything longer cannot be valid, and never reaches the expressions below. */
const TEXT_CHARACTERS_MAX = 1024;

const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;
/** RFC 5322 §3.2.3 atext, and RFC 6531's UTF-8 without spaces, format and control characters. */
const DOT_ATOM = /^(?:[\w!#$%&'*+/=?^`{|}~-]|(?![\0-\x7f])[\p{L}\p{M}\p{N}\p{P}\p{S}])+$/u;
const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;
const DOMAIN_TEXT = /^(?:[A-Za-z0-9.-]|(?![\0-\x7f])[\p{L}\p{M}\p{N}])+$/u;
/** Lower-case ASCII without punycode needs no conversion, and conversion costs most of the time spent here. */
const PLAIN_DOMAIN = /^(?!.*xn--)[a-z0-9.-]+$/;
/** URL Standard, "ends in a number": such a host is read as an IPv4 address. */
const NUMBER = /^(?:\d+|0x[0-9a-f]*)$/;
const QUOTED_STRING = /^"((?:[^"\\]|\\.)*)"$/u;

const domainProblem = (domain: string): string | null => {
  if (domain.length > DOMAIN_CHARACTERS_MAX) return 'its domain is too long';
  const labels = domain.split('.');
  if (labels.length < 2 || !labels.every((label) => LABEL.test(label))) return 'its domain is not a domain name';
  return NUMBER.test(labels.at(-1) ?? '') ? 'its domain is an IP address' : null;
};

/** Domain in A-labels, lower case; empty if it has no such form. */
export const asciiDomain = (text: string): string => {
  if (PLAIN_DOMAIN.test(text)) return text;
  return DOMAIN_TEXT.test(text) ? domainToASCII(text.normalize('NFC')) : '';
};

/** RFC 5321 §4.1.2, except angle brackets, at which some servers end the address. */
const QUOTED_LOCAL = /^"((?:[ !#-;=?-[\]-~]|\\[ -;=?-~])+)"$/;
/** Carriers that issued addresses with two dots in a row, and with a dot before the @, before RFC 5321 forbade that. */
const DOTTED_DOMAINS = /(?:^|\.)(?:docomo\.ne\.jp|ezweb\.ne\.jp|au\.com)$/;

const isDotAtom = (local: string): boolean => local.split('.').every((atom) => DOT_ATOM.test(atom));

/** Atoms with more dots than a dot-atom allows, but no leading one. */
const isDotted = (local: string): boolean => {
  const [first = '', ...atoms] = local.split('.');
  return [first, ...atoms.filter((atom) => atom !== '')].every((atom) => DOT_ATOM.test(atom));
};

/** Removes unnecessary quotes, so that each mailbox has one spelling and can be found by it. */
const plainestLocal = (local: string, domain: string): string => {
  const inside = QUOTED_LOCAL.exec(local)?.[1]?.replace(/\\(.)/g, '$1');
  if (inside === undefined) return local;
  if (isDotAtom(inside) || (DOTTED_DOMAINS.test(domain) && isDotted(inside))) return inside;
  return `"${inside.replace(/[\\"]/g, '\\$&')}"`;
};

const localProblem = (local: string, domain: string): string | null => {
  if (local === '') return 'it has nothing before its @';
  if (Buffer.byteLength(writtenAddress(`${local}@`)) > LOCAL_OCTETS_MAX + 1)
    return 'its local part is longer than 64 octets';
  const isValid = isDotAtom(local) || QUOTED_LOCAL.test(local) || (DOTTED_DOMAINS.test(domain) && isDotted(local));
  return isValid ? null : 'its local part is malformed';
};

/**
 * The form of nearly all addresses: ASCII, lower-case labels without punycode. Only their lengths remain to be checked.
 */
const PLAIN_ADDRESS =
  /^(?:[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*)@(?!.*xn--)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** True if the text is an address without further parsing; otherwise it must be parsed. */
const isPlainAddress = (text: string): boolean =>
  text.length <= DOMAIN_CHARACTERS_MAX && text.lastIndexOf('@') <= LOCAL_OCTETS_MAX && PLAIN_ADDRESS.test(text);

const parseAddress = (text: string): Mailbox | string => {
  if (isPlainAddress(text)) return { address: text };
  const at = text.lastIndexOf('@');
  if (at < 0) return 'it has no @';
  const written = text.slice(at + 1);
  if (written.startsWith('[')) return 'its domain is an IP address';
  const domain = asciiDomain(written);
  const local = plainestLocal(text.slice(0, at).normalize('NFC'), domain);
  const problem = localProblem(local, domain) ?? domainProblem(domain);
  if (problem !== null) return problem;
  const address = `${local}@${domain}`;
  return Buffer.byteLength(address) > ADDRESS_OCTETS_MAX ? 'it is longer than 254 octets' : { address };
};

/** A list of addresses (RFC 5322 §3.4). Quotes would hide it in the name of its last address. */
const LISTED = /@[^,;]*[,;]/;

/**
 * `Acme, Inc.` is one name to everybody but the standard. With brackets or the start of a string, the text is more than
 * a name.
 */
const canBeQuoted = (name: string): boolean => !(/[<>"]/.test(name) || LISTED.test(name));

/** `null`: no name. */
const parseName = (text: string): { readonly name: string | null } | string => {
  const quoted = QUOTED_STRING.exec(text)?.[1];
  const name = quoted === undefined ? text : quoted.replace(/\\(.)/gu, '$1').trim();
  if (quoted === undefined && !canBeQuoted(text)) return 'its display name needs quotes, or there is more than one';
  if (name.length > NAME_CHARACTERS_MAX) return `its display name is longer than ${NAME_CHARACTERS_MAX} characters`;
  return { name: name === '' ? null : name };
};

/**
 * Parses one address, `a@b` or `Name <a@b>`, strictly: no lists, groups, comments or IP literals, and no control
 * characters except HTAB, which is a space. A name may have special characters without quotes. The domain comes back in
 * lower-case A-labels, the local part as written (NFC; RFC 6531 allowed).
 * @returns the mailbox, or the reason why the text is not one, to follow "… is not an email address: ".
 */
export const parseMailbox = (text: string): Mailbox | string => {
  if (text.length > TEXT_CHARACTERS_MAX) return 'it is too long';
  if (isPlainAddress(text)) return { address: text };
  const spaced = text.replaceAll('\t', ' ');
  if (UNSAFE.test(spaced)) return 'it contains a control character';
  const trimmed = spaced.trim();
  if (!trimmed.endsWith('>')) return parseAddress(trimmed);
  const open = trimmed.lastIndexOf('<');
  if (open < 0) return 'it has a > without its <';
  const parsed = parseAddress(trimmed.slice(open + 1, -1));
  if (typeof parsed === 'string') return parsed;
  const named = parseName(trimmed.slice(0, open).trim());
  if (typeof named === 'string') return named;
  return named.name === null ? parsed : { address: parsed.address, name: named.name };
};

/**
 * A parsed address as written in mail (RFC 5321 §4.1.2, RFC 5322 §3.4.1). A local part that is not a dot-atom is
 * quoted, as the servers of carriers that issued such addresses expect.
 */
export const writtenAddress = (address: string): string => {
  const at = address.lastIndexOf('@');
  const local = address.slice(0, at);
  const isDotless = at < 0 || !(local.includes('..') || local.endsWith('.'));
  return isDotless || local.startsWith('"') ? address : `"${local}"${address.slice(at)}`;
};

/** A mailbox as one string. The quotes make the name unambiguous. */
export const mailboxText = ({ name, address }: Mailbox): string =>
  name === undefined || name === '' ? address : `"${name.replace(/[\\"]/g, '\\$&')}" <${address}>`;

/** Domain of a parsed address: A-labels, lower case. */
export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase();

/**
 * Canonical form of a parsed address, in which two spellings of one mailbox are equal. Digests are computed from it.
 */
export const canonicalAddress = (address: string): string => address.normalize('NFC').toLowerCase();
