import { idempotencyKey } from './message-body.ts';
import type { RetryOptions } from './retry.ts';
import { isServer, VERSION } from './runtime.ts';

/** Options and parts of a request. */

export interface RequestOptions extends RetryOptions {
  /** Aborts the request with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface ChangeOptions extends RequestOptions {
  /** `ETag` of the version to change (`responseOf(it).headers`); 412 `ConflictError` if it has changed since. */
  readonly ifMatch?: string | undefined;
}

export interface SendOptions extends RequestOptions {
  /** Key of this send; reuse it after a restart of your program. Default: a random key, shared by all attempts of a call. */
  readonly idempotencyKey?: string | undefined;
}

/** Query parameters; undefined ones are omitted. */
type Query = object;

export interface Operation {
  readonly method: string;
  /** Begins with `/v1`. */
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  readonly takesIdempotencyKey?: true;
  /** A POST that only reads. */
  readonly changesNothing?: true;
  /** `Accept`. Default JSON. */
  readonly accept?: string;
}

export type Options = RequestOptions & ChangeOptions & SendOptions;

/** Fills a path: each value becomes one segment. @throws {TypeError} if a value cannot be a segment. */
export const path = (texts: TemplateStringsArray, ...values: readonly string[]): string =>
  texts.reduce((before, text, index) => {
    const value = values[index - 1];
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new TypeError(`not a valid id: '${value}'`);
    return before + encodeURIComponent(value) + text;
  });

const parsedUrl = (text: string): URL => {
  try {
    const url = new URL(text);
    if (/^https?:$/.test(url.protocol)) return url;
  } catch {
    // Said below.
  }
  throw new TypeError('baseUrl must begin with https:// or http://');
};

/** @throws {TypeError} if the URL is not valid. */
export const baseOf = (baseUrl: string): string => {
  const { origin, pathname, username, password, search, hash } = parsedUrl(baseUrl);
  if (username + password + search + hash !== '') {
    throw new TypeError('baseUrl must have no credentials, query or fragment');
  }
  const prefix = pathname.replace(/\/+$/, '');
  if (prefix.endsWith('/v1')) throw new TypeError('baseUrl must not end with /v1: every path begins with it');
  return origin + prefix;
};

/** @throws {TypeError} if a header cannot contain the key. The message does not reveal it. */
export const authorizationOf = (apiKey: string): string => {
  if (/^ob_[\x21-\x7e]+$/.test(apiKey)) return `Bearer ${apiKey}`;
  throw new TypeError('apiKey must begin with ob_ and have no spaces');
};

export const urlOf = (base: string, { path: at, query = {} }: Operation): string => {
  const fields = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const search = new URLSearchParams(fields.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return base + at + (search === '' ? '' : `?${search}`);
};

const checkedKey = (key: string): string => {
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw new TypeError('idempotencyKey must be 1 to 255 printable ASCII characters');
};

export const headersOf = (authorization: string | null, operation: Operation, options: Options): Headers => {
  const headers = new Headers({ accept: operation.accept ?? 'application/json' });
  if (authorization !== null) headers.set('authorization', authorization);
  if (isServer()) headers.set('user-agent', `outbox-sdk/${VERSION}`);
  if (operation.body !== undefined) headers.set('content-type', 'application/json');
  if (operation.takesIdempotencyKey) {
    headers.set('idempotency-key', checkedKey(options.idempotencyKey ?? idempotencyKey()));
  }
  if (options.ifMatch !== undefined) headers.set('if-match', options.ifMatch);
  return headers;
};

/** With `If-Match`, a second attempt is rejected if the first was carried out. */
export const isRepeatable = (
  { method, takesIdempotencyKey, changesNothing }: Operation,
  { ifMatch }: Options,
): boolean => method !== 'POST' || takesIdempotencyKey === true || changesNothing === true || ifMatch !== undefined;
