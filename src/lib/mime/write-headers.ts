import { type Mailbox, parseMailbox, type UnsubscribeWays, writtenAddress } from './email-address.ts';

/**
 * Headers with a grammar of their own (RFC 5322 §3.6, RFC 2369, RFC 2919, RFC 8098). An encoded word may replace a
 * phrase in them, but never an address, an id or a link.
 */

const ADDRESSES =
  /^(?:(?:resent-)?(?:reply-to|from|sender|to|cc|bcc)|errors-to|return-receipt-to|disposition-notification-to|x-confirm-reading-to)$/i;
const LINKS = /^list-(?:help|subscribe|unsubscribe|owner|post|archive)$/i;
const IDS = /^(?:list-id|references|in-reply-to|resent-message-id)$/i;

/** True for a header of addresses. */
export const holdsAddresses = (name: string): boolean => ADDRESSES.test(name);

/** True for a header of ids or links in angle brackets. */
const holdsBrackets = (name: string): boolean => LINKS.test(name) || IDS.test(name);

/** A quoted string, a path in brackets, a comma, or anything else. Each may be cut off. */
const LEXEMES = /"(?:[^"\\]|\\.?)*"?|<[^<>]*>?|,|[^",<>]+|>/gsu;

const listed = (value: string): readonly string[] => {
  const items = [''];
  for (const [lexeme] of value.matchAll(LEXEMES)) {
    if (lexeme === ',') items.push('');
    else items.push((items.pop() ?? '') + lexeme);
  }
  return items.map((item) => item.trim()).filter((item) => item !== '');
};

/**
 * The mailboxes of a header; null if it has other content. A name with commas is one mailbox if it is the only one.
 */
export const mailboxesIn = (value: string): readonly Mailbox[] | null => {
  const read = listed(value).map(parseMailbox);
  const mailboxes = read.filter((one) => typeof one !== 'string');
  if (mailboxes.length === read.length && read.length > 0) return mailboxes;
  const only = parseMailbox(value);
  return typeof only === 'string' ? null : [only];
};

/** A part of a header: text for people, or an id or a link with its brackets. */
interface BracketPart {
  readonly kind: 'phrase' | 'comment' | 'bracketed' | 'comma';
  readonly text: string;
}

const BRACKETED = /^<[!-;=?-~]+>$/;

/** A non-ASCII link keeps its meaning when percent-encoded (RFC 3987 §3.1). An id does not. */
const bracketed = (name: string, text: string): BracketPart | null => {
  const written = LINKS.test(name)
    ? text.replace(/[^\0-\x7f]+/gu, (part) => encodeURIComponent(part.toWellFormed()))
    : text;
  return BRACKETED.test(written) ? { kind: 'bracketed', text: written } : null;
};

const between = (text: string): readonly BracketPart[] =>
  text
    .split(/(,)/)
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part): BracketPart => {
      if (part === ',') return { kind: 'comma', text: part };
      const comment = /^\(([^()]*)\)$/.exec(part)?.[1];
      if (comment !== undefined) return { kind: 'comment', text: comment };
      return { kind: 'phrase', text: /^"([^"\\]*)"$/.exec(part)?.[1] ?? part };
    });

/** The parts of such a header in order; null if it does not have that form. */
const bracketPartsIn = (name: string, value: string): readonly BracketPart[] | null => {
  const pieces = value.match(/<[^<>]*>|[^<>]+|[<>]/gu) ?? [];
  if (!pieces.some((piece) => piece.length > 1 && piece.startsWith('<'))) return null;
  const parts = pieces.flatMap((piece): readonly (BracketPart | null)[] =>
    /^[<>]/.test(piece) ? [bracketed(name, piece)] : between(piece),
  );
  const known = parts.filter((part) => part !== null);
  return known.length === parts.length ? known : null;
};

/**
 * RFC 2047 encoded words in UTF-8. Text that needs any encoding is encoded whole: spaces between two encoded words
 * vanish when they are decoded, so no space of the text may fall between them.
 */

const PREFIX = '=?UTF-8?';
/** RFC 2047 §2: an encoded word holds at most 75 characters, a line with one at most 76. */
const WORD_CHARACTERS_MAX = 75;
const OVERHEAD = `${PREFIX}B??=`.length;
/** RFC 2047 §5 (3): safe in a phrase too, the narrowest of its contexts. */
const LITERAL_IN_Q = /^[A-Za-z0-9!*+/-]$/;

/** Readers are lenient: anything that begins like an encoded word may be decoded, even within quotes. */
export const looksEncoded = (text: string): boolean => /=\?[^?]*\?/.test(text);

const hex = (byte: number): string => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;

const inQ = (character: string): string => {
  if (LITERAL_IN_Q.test(character)) return character;
  return character === ' ' ? '_' : Array.from(Buffer.from(character), hex).join('');
};

const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4;

interface Encoding {
  readonly letter: 'B' | 'Q';
  /** Cost of one character in `room`, and the length that a total cost has in the word. */
  readonly cost: (character: string) => number;
  readonly length: (cost: number) => number;
  readonly encode: (text: string) => string;
}

const B: Encoding = {
  letter: 'B',
  cost: (character) => Buffer.byteLength(character),
  length: base64Length,
  encode: (text) => Buffer.from(text).toString('base64'),
};

const Q: Encoding = {
  letter: 'Q',
  cost: (character) => inQ(character).length,
  length: (cost) => cost,
  encode: (text) => Array.from(text, inQ).join(''),
};

const shorter = (text: string): Encoding => {
  let lengthInQ = 0;
  for (const character of text) lengthInQ += Q.cost(character);
  return lengthInQ <= base64Length(Buffer.byteLength(text)) ? Q : B;
};

/**
 * The text as encoded words, one per line, joined by CRLF SP. No character is split between two words.
 * @param column characters on the line before the first word.
 */
export const encodedWords = (text: string, column: number): string => {
  const { letter, cost, length, encode } = shorter(text);
  const words: string[] = [];
  let run = '';
  let runCost = 0;
  let room = Math.max(WORD_CHARACTERS_MAX - column, OVERHEAD + 12) - OVERHEAD;
  const flush = (): void => {
    words.push(`${PREFIX}${letter}?${encode(run)}?=`);
    run = '';
    runCost = 0;
    room = WORD_CHARACTERS_MAX - OVERHEAD;
  };
  for (const character of text) {
    const added = cost(character);
    if (run !== '' && length(runCost + added) > room) flush();
    run += character;
    runCost += added;
  }
  flush();
  return words.join('\r\n ');
};

/** RFC 5322 §2.1.1: a line should hold 78 characters, and must not hold more than 998. */
const LINE_CHARACTERS = 76;
const LINE_CHARACTERS_MAX = 998;
/** Longer display names become encoded words, which can be folded. A quoted one stays on its line. */
const PLAIN_NAME_CHARACTERS_MAX = 60;

const PRINTABLE = /^(?:[!-~](?:[ -~]*[!-~])?)?$/;
const ATOMS = /^[\w!#$%&'*+/=?^`{|}~-]+(?: [\w!#$%&'*+/=?^`{|}~-]+)*$/;
const NON_ASCII = /[^\0-\x7f]/;
/**
 * The first of several spaces between words. A folded line must not consist of spaces alone, which ends the header for
 * some readers.
 */
const FOLDING_POINT = /(?<=[^ ]) (?= *[^ ])/;

/** No control character reaches a header, even if validation missed it. */
const withoutControls = (text: string): string => text.replace(/\p{Cc}/gu, ' ');

/** Folds a header between words. */
const fold = (header: string): string => {
  if (header.length <= LINE_CHARACTERS) return header;
  const [name = '', ...words] = header.split(FOLDING_POINT);
  let text = name;
  let length = name.length;
  for (const [index, word] of words.entries()) {
    // The first word stays on the name's line: some readers lose the value if the first line has none.
    const separator = index > 0 && length + 1 + word.length > LINE_CHARACTERS ? '\r\n ' : ' ';
    text += separator + word;
    length = separator === ' ' ? length + 1 + word.length : 1 + word.length;
  }
  return text;
};

const fitsLines = (header: string): boolean =>
  header.length <= LINE_CHARACTERS_MAX || header.split('\r\n').every((line) => line.length <= LINE_CHARACTERS_MAX);

/**
 * A header of free text, with its CRLF.
 * @param text the exact text that a reader must see.
 */
export const textHeader = (name: string, text: string): string => {
  const safe = withoutControls(text);
  const plain = `${name}: ${safe}`;
  if (PRINTABLE.test(safe) && !safe.includes('  ') && !looksEncoded(safe)) {
    const folded = fold(plain);
    if (fitsLines(folded)) return `${folded}\r\n`;
  }
  return `${name}: ${encodedWords(safe, name.length + 2)}\r\n`;
};

const phrase = (name: string, column: number): string => {
  const isPlain = PRINTABLE.test(name) && name.length <= PLAIN_NAME_CHARACTERS_MAX && !looksEncoded(name);
  if (!isPlain) return encodedWords(name, column);
  return ATOMS.test(name) ? name : `"${name.replace(/[\\"]/g, '\\$&')}"`;
};

/**
 * @param utf8 the transaction uses SMTPUTF8 (RFC 6532 headers). Otherwise an address that needs it is shown as the name
 * of an empty group (RFC 6857 §3.1.8): it cannot be used, but can be read.
 */
const mailbox = ({ address: parsed, name }: Mailbox, column: number, utf8: boolean): string => {
  const address = writtenAddress(parsed);
  const safe = withoutControls(name ?? '').trim();
  // A group without members (RFC 5322 §3.4) can express a name without an address.
  if (address === '') return `${phrase(safe, column)}:;`;
  if (NON_ASCII.test(address) && !utf8) {
    return `${encodedWords(safe === '' ? address : `${safe} <${address}>`, column)} :;`;
  }
  if (safe === '') return address;
  const words = phrase(safe, column);
  const lineLength = words.length - Math.max(words.lastIndexOf('\n'), 0);
  return `${words}${lineLength + address.length > LINE_CHARACTERS ? '\r\n ' : ' '}<${address}>`;
};

/** A header of addresses, one per line, with its CRLF. */
export const addressHeader = (name: string, mailboxes: readonly Mailbox[], utf8: boolean): string => {
  const lines = mailboxes.map((each, index) => mailbox(each, index === 0 ? name.length + 2 : 1, utf8));
  return `${name}: ${lines.join(',\r\n ')}\r\n`;
};

const writtenPart = ({ kind, text }: BracketPart, column: number): string => {
  if (kind === 'phrase') return phrase(text, column);
  if (kind !== 'comment') return text;
  return `(${PRINTABLE.test(text) && !looksEncoded(text) ? text : encodedWords(text, column + 1)})`;
};

/** Parts with ids or links, one per line. */
const bracketHeader = (name: string, parts: readonly BracketPart[]): string => {
  let lines = `${name}:`;
  for (const part of parts) {
    const isFirst = lines.endsWith(':');
    const written = writtenPart(part, isFirst ? name.length + 2 : 1);
    lines += part.kind === 'comma' ? written : `${isFirst ? ' ' : '\r\n '}${written}`;
  }
  return `${lines}\r\n`;
};

/** The header with its phrases encoded. Null: it has no phrases to encode, or no line can hold it. */
const structuredHeader = (name: string, value: string, utf8: boolean): string | null => {
  if (holdsAddresses(name)) {
    const mailboxes = mailboxesIn(value);
    return mailboxes === null ? null : addressHeader(name, mailboxes, utf8);
  }
  const parts = holdsBrackets(name) ? bracketPartsIn(name, value) : null;
  if (parts === null || parts.some(({ kind, text }) => kind === 'bracketed' && looksEncoded(text))) return null;
  const header = bracketHeader(name, parts);
  return fitsLines(header) ? header : null;
};

/**
 * True if the value can be written unchanged: printable, not like an encoded word, and not one unquoted name with a
 * comma.
 */
const isAsItStands = (name: string, value: string): boolean =>
  PRINTABLE.test(value) && !looksEncoded(value) && !(holdsAddresses(name) && isOneName(value));

/** `Acme, Inc. <a@b>`: without quotes, mail programs read two addresses. */
const isOneName = (value: string): boolean => {
  const mailboxes = value.includes(',') ? mailboxesIn(value) : null;
  return mailboxes?.length === 1 && mailboxes[0]?.name?.includes(',') === true && !value.startsWith('"');
};

/**
 * A header whose value has its own grammar (`References`, `X-…`). It is written unchanged, unless no line can hold it.
 * Otherwise only its phrases are encoded, or all of it if it has none.
 */
export const givenHeader = (name: string, value: string, utf8 = false): string => {
  const safe = withoutControls(value).trim();
  const folded = fold(`${name}: ${safe}`);
  if (isAsItStands(name, safe) && fitsLines(folded)) return `${folded}\r\n`;
  return structuredHeader(name, safe, utf8) ?? textHeader(name, safe);
};

const URI = /^[!-;=?-~]+$/;

/** RFC 6068 §2: characters that a URI cannot contain are percent-encoded as UTF-8. */
const mailtoUri = (address: string): string => {
  const at = address.lastIndexOf('@');
  return `mailto:${encodeURIComponent(address.slice(0, at))}@${address.slice(at + 1)}`;
};

/** RFC 8058 §3.1: programs need an https link to post to. */
const isOneClick = ({ url = '' }: UnsubscribeWays): boolean => /^https:/i.test(url);

/**
 * `List-Unsubscribe` (RFC 2369 §3.2), one URI per line, and `List-Unsubscribe-Post` (RFC 8058 §3.1), with their CRLF.
 * @throws {Error} if no header can hold the link or address. Requests with one are rejected earlier.
 */
export const listUnsubscribeHeaders = (ways: UnsubscribeWays): string => {
  const { url, mailto } = ways;
  const uris = [...(url === undefined ? [] : [url]), ...(mailto === undefined ? [] : [mailtoUri(mailto)])];
  if (uris.length === 0 || !uris.every((uri) => URI.test(uri))) throw new Error('List-Unsubscribe is malformed');
  const lines = `List-Unsubscribe: ${uris.map((uri) => `<${uri}>`).join(',\r\n ')}\r\n`;
  if (lines.split('\r\n').some((line) => line.length > LINE_CHARACTERS_MAX)) {
    throw new Error('List-Unsubscribe is too long');
  }
  return lines + (isOneClick(ways) ? 'List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n' : '');
};
