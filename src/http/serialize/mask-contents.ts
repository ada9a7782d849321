/**
 * Answers as members see them who may see no contents of mail: addresses keep their domain, and what people wrote or are
 * called is gone. Everything is masked by one pass over the whole answer, so that no route can forget it.
 */

const MASK = '***';

/** Fields that hold what people wrote or are called, whatever is in them. */
const WRITTEN: ReadonlySet<string> = new Set(['subject', 'filename', 'body', 'metadata']);

/** The name of a mailbox, beside its address. Resources have names of their own. */
const isName = (name: string, of: object): boolean => name === 'name' && 'address' in of && !('object' in of);

/** Where a link in mail leads; resources have URLs of their own. */
const isLink = (name: string, of: object): boolean => name === 'url' && !('object' in of);

/** What ends a local part that is not quoted, read backwards (RFC 5322 §3.2.3, and what sentences put around addresses). */
const DELIMITERS: ReadonlySet<string> = new Set(' \t\r\n<>()[],;:"\\');

/** Where the local part begins that a text ends with, in time that is linear in its length. */
const localPartAt = (text: string): number => {
  let start = text.length;
  if (!text.endsWith('"')) {
    while (start > 0 && !DELIMITERS.has(text.charAt(start - 1))) start -= 1;
    return start;
  }
  do start = text.lastIndexOf('"', start - 2) + 1;
  while (start > 1 && text.charAt(start - 2) === '\\');
  return Math.max(0, start - 1);
};

/** Addresses as replies and sentences quote them, whatever alphabet they are written in. */
const maskText = (text: string): string => {
  const [last = '', ...before] = text.split('@').reverse();
  return [last, ...before.map((part) => part.slice(0, localPartAt(part)) + MASK)].reverse().join('@');
};

const maskWritten = (value: unknown): unknown => {
  if (typeof value === 'string') return value === '' ? '' : MASK;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return {};
  return Array.isArray(value) ? [] : value;
};

/** Prose of `explain`, which quotes links of mail. */
const PROSE: ReadonlySet<string> = new Set(['sentence', 'summary']);
/** What follows the host may be a secret of the recipient. */
const PATHS = /(https?:\/\/[^\s/?#]+)[/?#]\S*/gi;

const maskProse = (text: string): string => maskText(text.replace(PATHS, `$1/${MASK}`));

const maskField = (name: string, value: unknown, of: object): unknown => {
  if (WRITTEN.has(name) || isName(name, of) || isLink(name, of)) return maskWritten(value);
  return PROSE.has(name) && typeof value === 'string' ? maskProse(value) : maskContents(value);
};

/** @param value JSON, or what becomes JSON; another object, such as a stream, stays as it is. */
export const maskContents = (value: unknown): unknown => {
  if (typeof value === 'string') return maskText(value);
  if (Array.isArray(value)) return value.map(maskContents);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [maskText(name), maskField(name, field, value)]),
  );
};
