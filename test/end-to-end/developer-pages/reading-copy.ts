import { createHash } from 'node:crypto';
import type { ResponseBlock } from './page.ts';
import type { Exchange } from './recorder.ts';

/**
 * Turns what passed between an example and the service into the text of the page, and back. What differs from run to run
 * (ids, cursors, times, what is left of a limit) has a fixed form on the page; everything else must be equal.
 */

/** The day on which the page is read: a run moves every date from it to the real day. */
const DAY_SHOWN = '2026-12-01';
const TIME_SHOWN = 'T09:30:00.000Z';
const LATER_SHOWN = 'T09:31:00.000Z';
const DOMAIN_SHOWN = 'example.test';
/** The window of rate limits: a run that has just used its limit up has to wait almost as long. */
const RETRY_AFTER_SHOWN = 60;
const DAY_MS = 86_400_000;
const ID = /\b([a-z]{3})_([a-z2-7]{26}|[0-9a-f]{32})\b/g;
const TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
const DATE_SHOWN = /2026-12-\d\d(?=T)/g;
const COLUMNS_MAX = 100;

/** Headers whose numbers depend on how fast the examples run. */
const COUNTED = new Set(['ratelimit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after']);
const DIGITS = /\d+/g;

const shapeOf = (text: string): string => text.replace(DIGITS, '0');

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

const shownId = (prefix: string, ordinal: number, length: number): string => {
  const digest = createHash('sha256').update(`${prefix} ${ordinal}`).digest();
  if (length === 32) return `${prefix}_${digest.toString('hex').slice(0, length)}`;
  return `${prefix}_${Array.from(digest.subarray(0, length), (byte) => BASE32[byte % 32]).join('')}`;
};

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

const isObject = (value: Json): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Only the named fields; `recipients.status` keeps `status` of every item of `recipients`. */
const pick = (value: Json, fields: readonly string[]): Json => {
  if (Array.isArray(value)) return value.map((item) => pick(item, fields));
  if (!isObject(value)) return value;
  const kept = Object.entries(value).flatMap(([name, inner]): [string, Json][] => {
    const within = fields.filter((field) => field.startsWith(`${name}.`)).map((field) => field.slice(name.length + 1));
    if (within.length > 0) return [[name, pick(inner, within)]];
    return fields.includes(name) ? [[name, inner]] : [];
  });
  const isShortened = kept.length < Object.keys(value).length;
  return Object.fromEntries(isShortened ? [...kept, [ELLIPSIS, null]] : kept);
};

/** Marks fields that are left out. */
const ELLIPSIS = '…';

const memberOf = (name: string, text: string): string =>
  name === ELLIPSIS ? ELLIPSIS : `${JSON.stringify(name)}: ${text}`;

const inline = (value: Json): string => {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, inner]) => memberOf(name, inline(inner)));
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
};

const MARGIN = '  ';

/** JSON as people write it: on one line where it fits, otherwise one member on each line. */
const pretty = (value: Json, indent = '', room = COLUMNS_MAX): string => {
  const short = inline(value);
  const isWhole = indent === '' && isObject(value);
  if ((!isWhole && short.length <= room) || (!Array.isArray(value) && !isObject(value))) return short;
  const inner = indent + MARGIN;
  const members = Array.isArray(value)
    ? value.map((item: Json) => inner + pretty(item, inner, COLUMNS_MAX - inner.length))
    : Object.entries(value).map(
        ([name, item]) => inner + memberOf(name, pretty(item, inner, COLUMNS_MAX - inner.length - name.length - 4)),
      );
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return `${open}\n${members.join(',\n')}\n${indent}${close}`;
};

/** With the query decoded and in order: clients write both in their own way. */
const sameOrder = (path: string): string => {
  const { pathname, searchParams } = new URL(path, 'http://localhost');
  searchParams.sort();
  return [pathname, ...Array.from(searchParams, ([name, value]) => `${name}=${value}`)].join(' ');
};

/** A key of the example; the SDK makes a random one where the example has none. */
const chosenKey = (key: unknown): unknown => (/^[0-9a-f-]{36}$/.test(String(key)) ? undefined : key);

export interface ReadingCopy {
  /** A snippet of the page with the ids and dates of this run. */
  toRun(snippet: string): string;
  /** Learns ids from the exchange. */
  learn(exchange: Exchange): void;
  /** A request as the page says it: method, path, headers that matter and body. */
  request(exchange: Exchange): unknown;
  response(exchange: Exchange, shown: ResponseBlock): string;
}

/** @param domain of the run; the page has `example.test`. It is as long, so that no column of a finding moves. */
export const createReadingCopy = (domain: string, now = new Date()): ReadingCopy => {
  const shownOf = new Map<string, string>();
  const realOf = new Map<string, string>();
  const ordinals = new Map<string, number>();
  const days = Math.round((Date.parse(now.toISOString().slice(0, 10)) - Date.parse(DAY_SHOWN)) / DAY_MS);
  const shifted = (date: string, by: number): string =>
    new Date(Date.parse(`${date.slice(0, 10)}T00:00:00Z`) + by * DAY_MS).toISOString().slice(0, 10);

  const bind = (real: string, shown: string): string => {
    shownOf.set(real, shown);
    realOf.set(shown, real);
    return shown;
  };
  const showId = (real: string, prefix: string, rest: string): string => {
    const known = shownOf.get(real);
    if (known !== undefined) return known;
    const ordinal = (ordinals.get(prefix) ?? 0) + 1;
    ordinals.set(prefix, ordinal);
    return bind(real, shownId(prefix, ordinal, rest.length));
  };
  /** Times of the examples have whole minutes; the clock of the service almost never does. */
  const showTime = (real: string): string => {
    if (real.endsWith(':00.000Z')) return shifted(real, -days) + real.slice(10);
    const apart = Math.round((Date.parse(real) - now.getTime()) / DAY_MS);
    return shifted(DAY_SHOWN, apart) + TIME_SHOWN;
  };
  const showText = (text: string): string =>
    text.replace(ID, showId).replace(TIME, showTime).replaceAll(domain, DOMAIN_SHOWN);
  const showCursor = (cursor: string): string =>
    shownOf.get(cursor) ??
    bind(cursor, Buffer.from(showText(Buffer.from(cursor, 'base64url').toString())).toString('base64url'));
  /** Fields with a form of their own. */
  const fields: Readonly<Record<string, (value: string) => Json>> = {
    next_cursor: showCursor,
    next_attempt_at: (time) => showText(time).replace(TIME_SHOWN, LATER_SHOWN),
    retry_after: () => RETRY_AFTER_SHOWN,
  };
  const showField = (name: string, value: Json): Json => {
    const show = fields[name];
    return show === undefined || value === null ? showValue(value) : show(String(value));
  };
  const showValue = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(showValue);
    if (isObject(value)) {
      return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, showField(name, inner)]));
    }
    return typeof value === 'string' ? showText(value) : value;
  };
  /** Everything known by its page form: of requests, where new ids do not appear. */
  const known = (text: string): string => {
    let result = text.replaceAll(domain, DOMAIN_SHOWN);
    for (const [real, shown] of shownOf) result = result.replaceAll(real, shown);
    return result;
  };
  const bodyOf = (text: string): Json => (text === '' ? null : (JSON.parse(text) as Json));

  return {
    toRun: (snippet) => {
      let result = snippet.replace(DATE_SHOWN, (date) => shifted(date, days)).replaceAll(DOMAIN_SHOWN, domain);
      for (const [shown, real] of realOf) result = result.replaceAll(shown, real);
      return result;
    },
    learn: ({ body, headers }) => {
      showValue(bodyOf(body));
      showText(headers.get('x-request-id') ?? '');
    },
    request: ({ method, path, requestHeaders, requestBody }) => ({
      method,
      path: known(sameOrder(path)),
      ifMatch: requestHeaders['if-match'],
      idempotencyKey: chosenKey(requestHeaders['idempotency-key']),
      body: bodyOf(known(requestBody)),
    }),
    response: ({ status, statusText, headers, body }, { fields, text }) => {
      const [head = ''] = text.split('\n\n');
      const lines = head
        .split('\n')
        .slice(1)
        .filter((line) => line !== '')
        .map((line) => {
          const name = line.split(':')[0] ?? '';
          const real = headers.get(name);
          if (real === null) return `${name}: (absent)`;
          const shown = line.slice(name.length + 1).trim();
          const isOnlyCounted = COUNTED.has(name.toLowerCase()) && shapeOf(shown) === shapeOf(real);
          return `${name}: ${isOnlyCounted ? shown : showText(real)}`;
        });
      const whole = showValue(bodyOf(body));
      const shownBody = fields === null ? whole : pick(whole, fields);
      return `${[`HTTP/1.1 ${status} ${statusText}`, ...lines].join('\n')}\n\n${pretty(shownBody)}\n`;
    },
  };
};
