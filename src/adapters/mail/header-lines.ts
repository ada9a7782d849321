import type { Mailbox } from '../../domain/ports/contents.ts';
import { encodedWords, looksEncoded } from './encoded-word.ts';

/** RFC 5322 §2.1.1: a line should hold 78 characters, and must not hold more than 998. */
const LINE_CHARACTERS = 76;
const LINE_CHARACTERS_MAX = 998;
/** Longer display names go into encoded words, which can be folded; a quoted one stays on its line. */
const PLAIN_NAME_CHARACTERS_MAX = 60;

const PRINTABLE = /^(?:[!-~](?:[ -~]*[!-~])?)?$/;
const ATOMS = /^[\w!#$%&'*+/=?^`{|}~-]+(?: [\w!#$%&'*+/=?^`{|}~-]+)*$/;
const NON_ASCII = /[^\0-\x7f]/;
/** The first of some spaces between words; what follows it is no line of spaces alone, which ends the header for some. */
const FOLDING_POINT = /(?<=[^ ]) (?= *[^ ])/;

/** No control character reaches a header, whoever let it through. */
const withoutControls = (text: string): string => text.replace(/\p{Cc}/gu, ' ');

/** Folded between words. */
const fold = (header: string): string => {
  if (header.length <= LINE_CHARACTERS) return header;
  const [name = '', ...words] = header.split(FOLDING_POINT);
  let text = name;
  let length = name.length;
  for (const [index, word] of words.entries()) {
    // The first word stays on the name's line: a first line without a value is lost on some readers.
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
 * @param text what a reader is to see, exactly.
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

/** A header whose value has its own grammar (`References`, `X-…`): as written, unless no line can hold it. */
export const givenHeader = (name: string, value: string): string => {
  const safe = withoutControls(value).trim();
  const folded = fold(`${name}: ${safe}`);
  return PRINTABLE.test(safe) && !looksEncoded(safe) && fitsLines(folded) ? `${folded}\r\n` : textHeader(name, safe);
};

const phrase = (name: string, column: number): string => {
  const isPlain = PRINTABLE.test(name) && name.length <= PLAIN_NAME_CHARACTERS_MAX && !looksEncoded(name);
  if (!isPlain) return encodedWords(name, column);
  return ATOMS.test(name) ? name : `"${name.replace(/[\\"]/g, '\\$&')}"`;
};

/**
 * @param utf8 the transaction uses SMTPUTF8 (RFC 6532 headers). Otherwise an address that needs it is shown as the
 * name of an empty group (RFC 6857 §3.1.8): it cannot be written, but can be read.
 */
const mailbox = ({ address, name }: Mailbox, column: number, utf8: boolean): string => {
  const safe = withoutControls(name ?? '').trim();
  // A group without members (RFC 5322 §3.4) can be written where there is nothing but a name.
  if (address === '') return `${phrase(safe, column)}:;`;
  if (NON_ASCII.test(address) && !utf8) {
    return `${encodedWords(safe === '' ? address : `${safe} <${address}>`, column)} :;`;
  }
  if (safe === '') return address;
  const words = phrase(safe, column);
  const lineLength = words.length - Math.max(words.lastIndexOf('\n'), 0);
  return `${words}${lineLength + address.length > LINE_CHARACTERS ? '\r\n ' : ' '}<${address}>`;
};

/** A header of addresses, one a line, with its CRLF. */
export const addressHeader = (name: string, mailboxes: readonly Mailbox[], utf8: boolean): string => {
  const lines = mailboxes.map((each, index) => mailbox(each, index === 0 ? name.length + 2 : 1, utf8));
  return `${name}: ${lines.join(',\r\n ')}\r\n`;
};
