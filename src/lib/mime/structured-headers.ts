import { parseMailbox } from './email-address.ts';
import type { Mailbox } from './mailbox.ts';

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
export const holdsBrackets = (name: string): boolean => LINKS.test(name) || IDS.test(name);

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
 * The mailboxes of a header; null if it has other content. A name with commas counts as one if it is the only mailbox.
 */
export const mailboxesIn = (value: string): readonly Mailbox[] | null => {
  const read = listed(value).map(parseMailbox);
  const mailboxes = read.filter((one) => typeof one !== 'string');
  if (mailboxes.length === read.length && read.length > 0) return mailboxes;
  const only = parseMailbox(value);
  return typeof only === 'string' ? null : [only];
};

/** A part of a header: text for people, or an id or a link with its brackets. */
export interface BracketPart {
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
export const bracketPartsIn = (name: string, value: string): readonly BracketPart[] | null => {
  const pieces = value.match(/<[^<>]*>|[^<>]+|[<>]/gu) ?? [];
  if (!pieces.some((piece) => piece.length > 1 && piece.startsWith('<'))) return null;
  const parts = pieces.flatMap((piece): readonly (BracketPart | null)[] =>
    /^[<>]/.test(piece) ? [bracketed(name, piece)] : between(piece),
  );
  const known = parts.filter((part) => part !== null);
  return known.length === parts.length ? known : null;
};
