/**
 * Answers as members see them who may see no contents of mail: addresses keep their domain, and what people wrote or are
 * called is gone. Everything is masked by one pass over the whole answer, so that no route can forget it.
 */

const MASK = '***';

/** Fields that hold what people wrote or are called, whatever is in them. */
const WRITTEN: ReadonlySet<string> = new Set(['subject', 'filename', 'body', 'metadata']);

/** The name of a mailbox, beside its address. */
const isName = (name: string, of: object): boolean => name === 'name' && ('address' in of || 'email' in of);

/** Where a link in mail leads; resources have URLs of their own. */
const isLink = (name: string, of: object): boolean => name === 'url' && !('object' in of);

/** RFC 5321 §4.1.2: a local part, quoted or not, whatever alphabet it is written in; as replies and sentences quote it. */
const ADDRESSES = /(?:"(?:[^"\\]|\\.)*"|[^\s<>()[\]",;:\\@]+)@/gu;

const maskText = (text: string): string => (text.includes('@') ? text.replace(ADDRESSES, `${MASK}@`) : text);

const maskWritten = (value: unknown): unknown => {
  if (typeof value === 'string') return value === '' ? '' : MASK;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return {};
  return Array.isArray(value) ? [] : value;
};

const maskField = (name: string, value: unknown, of: object): unknown =>
  WRITTEN.has(name) || isName(name, of) || isLink(name, of) ? maskWritten(value) : maskContents(value);

/** @param value JSON, or what becomes JSON; another object, such as a stream, stays as it is. */
export const maskContents = (value: unknown): unknown => {
  if (typeof value === 'string') return maskText(value);
  if (Array.isArray(value)) return value.map(maskContents);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [maskText(name), maskField(name, field, value)]),
  );
};
