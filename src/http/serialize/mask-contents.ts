/**
 * Masks responses for members who may not see contents of mail. Addresses keep their domain. Texts written by people or
 * other servers are withheld entirely, because they may identify a mailbox without an address: subjects, bodies, metadata,
 * texts of SMTP replies, evidence of suppressions, bodies and responses of webhooks, problems with a request. A reply
 * keeps its code, its enhanced status and its category. One pass masks the whole response, so that no route can forget it.
 */

import type { StoredHead } from '../../domain/ports/contents.ts';

const MASK = '***';

/** Fields that hold what people or other servers wrote. */
const WRITTEN: ReadonlySet<string> = new Set(['subject', 'filename', 'body', 'metadata', 'evidence', 'response']);

/** The name of a mailbox, beside its address. Resources have names of their own. */
const isName = (name: string, of: object): boolean => name === 'name' && 'address' in of && !('object' in of);

/** True for the target of a link in mail. URLs of resources are not masked. */
const isLink = (name: string, of: object): boolean => name === 'url' && !('object' in of);

/** Fields masked in objects with a `code`: texts of mail servers, and problems that contain field names of the request. */
const BESIDE_CODE: ReadonlySet<string> = new Set(['text', 'problems']);
const isAboutCode = (name: string, of: object): boolean => BESIDE_CODE.has(name) && 'code' in of;

const isWritten = (name: string, of: object): boolean =>
  WRITTEN.has(name) || isName(name, of) || isLink(name, of) || isAboutCode(name, of);

/** Characters that end an unquoted local part, read backwards (RFC 5322 §3.2.3, and punctuation around addresses). */
const DELIMITERS: ReadonlySet<string> = new Set(' \t\r\n<>()[],;:"\\');

/** Start of the local part at the end of a text, found in linear time. */
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

/** Between the parts of an address: full width too, and as URLs have it, encoded once or more often. */
const AT = /(@|＠|%(?:25)*40)/iu;

/** Addresses as sentences and tags quote them, whatever alphabet they are written in. */
export const maskText = (text: string): string => {
  const parts = text.split(AT);
  // Each part at an even place but the last ends with a local part.
  return parts
    .map((part, index) =>
      index % 2 === 0 && index < parts.length - 1 ? part.slice(0, localPartAt(part)) + MASK : part,
    )
    .join('');
};

const maskWritten = (value: unknown): unknown => {
  if (typeof value === 'string') return value === '' ? '' : MASK;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return {};
  return Array.isArray(value) ? [] : value;
};

const maskField = (name: string, value: unknown, of: object): unknown =>
  isWritten(name, of) ? maskWritten(value) : maskContents(value);

/** @throws {Error} a stream or a file: a route whose answer cannot be masked has to say so, see `GuardedRoute`. */
const requireJson = (value: object): void => {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    throw new Error('an answer that is no JSON cannot be masked');
};

/** @param value JSON. */
export const maskContents = (value: unknown): unknown => {
  if (typeof value === 'string') return maskText(value);
  if (Array.isArray(value)) return value.map(maskContents);
  if (typeof value !== 'object' || value === null) return value;
  requireJson(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [maskText(name), maskField(name, field, value)]),
  );
};

/** A link keeps its host: what follows may be a secret of the recipient. */
const maskLink = (url: string): string => {
  const parsed = URL.parse(url);
  return parsed !== null && /^https?:$/.test(parsed.protocol) ? `${parsed.origin}/${MASK}` : MASK;
};

const maskQuoted = (body: StoredHead): StoredHead => {
  if (body.kind === 'reply') return { ...body, text: MASK };
  return body.kind === 'link' ? { ...body, url: maskLink(body.url) } : body;
};

/** Contents that sentences quote, as they may be quoted: of what `maskContents` cannot find again in a sentence, a mask. */
export const maskQuotes = (contents: ReadonlyMap<string, StoredHead>): ReadonlyMap<string, StoredHead> =>
  new Map([...contents].map(([id, body]) => [id, maskQuoted(body)]));
