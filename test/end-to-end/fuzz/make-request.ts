import type { LocatedSchema, OpenApi } from '../../support/openapi/document.ts';
import type { Sampler } from './from-schema.ts';
import { hostileText } from './hostile.ts';
import type { KnownThings } from './known-things.ts';
import { type Body, makeBody, samplerOf } from './make-body.ts';
import type { Random } from './random.ts';

export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

/** Sources for requests. The first of `keys` is used most often. */
export interface Material {
  readonly document: OpenApi;
  readonly operations: readonly LocatedSchema[];
  readonly known: KnownThings;
  readonly keys: readonly string[];
}

const READS = new Set(['GET', 'HEAD']);
const METHODS = [
  'GET',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'MKCOL',
  'PURGE',
  'QUERY',
];
const SEGMENTS = [
  ...['..', '.', '%2e%2e', '%00', '%0d%0a', '%ff', '%zz', '%', '%F0%9F%92%A5', '%u0041', 'a%2fb', ';', ':id', '{id}'],
  ...[
    'msg_',
    `msg_${'a'.repeat(26)}`,
    `msg_${'A'.repeat(26)}`,
    `org_${'a'.repeat(26)}`,
    'x'.repeat(101),
    'y'.repeat(5000),
  ],
] as const;

const encode = (text: string): string => {
  try {
    return encodeURIComponent(text);
  } catch {
    return '%ED%A0%80'; // half of a surrogate pair, as some encoders write it
  }
};

interface Tools extends Material {
  readonly random: Random;
  readonly sample: Sampler;
}

/** A prefix in the pattern of an id, which may allow several forms. */
const PREFIX = /\b([a-z]{3})_/;

const segment = (pattern: string, ending: boolean, { known, random }: Tools): string => {
  if (random.chance(0.12)) return random.pick(SEGMENTS);
  if (random.chance(0.05)) return encode(hostileText(random).slice(0, 300)) || '-';
  const own = PREFIX.exec(pattern)?.[1] ?? pattern.slice(1, 4);
  const prefix = random.chance(0.95) ? own : random.pick(['msg', 'key', 'dom', 'whk', 'org', 'evt']);
  return known.id(random, prefix, ending) ?? `${prefix}_${'a'.repeat(26)}`;
};

const pathOf = ({ method, path, operation }: LocatedSchema, tools: Tools): string => {
  const filled = operation.parameters
    .filter((one) => one.in === 'path')
    .reduce((text, { name, schema }) => {
      const value = segment(String(schema.pattern), !READS.has(method), tools);
      return text.replace(`{${name}}`, () => value);
    }, path);
  const { random } = tools;
  if (random.chance(0.97)) return filled;
  return random.pick([
    `${filled}/`,
    `/${filled}`,
    filled.toUpperCase(),
    `${filled}/x`,
    filled.replace('v1', 'v2'),
    `${filled}%20`,
  ]);
};

/** Longest wait for events. A longer one would exceed the time limit of a response. */
const WAIT_SECONDS_MAX = 5;

const wanted = (name: string, value: unknown): string =>
  name === 'wait' && typeof value === 'number' ? String(Math.min(value, WAIT_SECONDS_MAX)) : String(value);

const queryOf = ({ operation }: LocatedSchema, { random, sample }: Tools): string => {
  const described = operation.parameters.filter((one) => one.in === 'query');
  const parts = described
    .filter(() => random.chance(0.3))
    .map(
      ({ name, schema }) =>
        `${name}=${encode(random.chance(0.7) ? wanted(name, sample(schema, name)) : hostileText(random).slice(0, 2_000))}`,
    );
  if (random.chance(0.04))
    parts.push(
      random.pick([
        'x=1',
        '__proto__=1',
        'a[b]=c',
        'limit=1',
        'limit=1',
        '=',
        '%',
        '&&',
        'after=%zz',
        'a'.repeat(8_000),
      ]),
    );
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
};

/** Failures and unauthenticated requests are limited by address, so each request uses another one. */
const address = (random: Random): string => `10.${random.int(256)}.${random.int(256)}.${random.int(256)}`;

const authorization = ({ keys, random }: Tools): Record<string, string> => {
  if (random.chance(0.9)) return { authorization: `Bearer ${random.chance(0.8) ? keys[0] : random.pick(keys)}` };
  const key = random.pick(keys);
  const kinds: readonly (() => string)[] = [
    () => `Basic ${key}`,
    () => `Bearer ${key.slice(0, -1)}`,
    () => `Bearer  ${key}  `,
    () => `bearer ${key}, Bearer ${key}`,
    () => 'Bearer',
    () => `Bearer ob_live_${'0'.repeat(random.pick([0, 43, 49, 50, 8_000]))}`,
  ];
  return random.chance(0.2) ? {} : { authorization: random.pick(kinds)() };
};

const oddHeaders = (random: Random): Record<string, string> => {
  if (random.chance(0.85)) return {};
  return random.pick<Record<string, string>>([
    { 'idempotency-key': random.pick(['a', 'b', 'c', '', ' ', 'ü', 'x'.repeat(255), 'x'.repeat(256), 'a, b']) },
    { 'idempotency-key': `k${random.int(300)}` },
    {
      'if-match': random.pick([
        '"0"',
        '"1"',
        '*',
        'W/"1"',
        '"1", "2"',
        '"x"',
        '1',
        '',
        '"99999999999999999999"',
        '"-1"',
      ]),
    },
    { 'x-request-id': 'req_mine' },
    { accept: random.pick(['text/html', 'application/xml', '*/*;q=0', 'text/csv', 'text/event-stream']) },
    { 'accept-encoding': 'gzip, br' },
    { origin: 'https://evil.test', 'access-control-request-method': 'POST' },
    { 'x-http-method-override': 'DELETE' },
    { upgrade: 'websocket', connection: 'Upgrade' },
    { 'x-forwarded-for': random.pick(['::1', 'x', '1.2.3.4, 5.6.7.8', ',', '127.0.0.1:80']) },
    { cookie: 'a=b', range: 'bytes=0-1', 'if-none-match': '*', expect: '100-continue' },
    { 'x-long': 'y'.repeat(random.pick([1_000, 7_000])) },
  ]);
};

/** Operations with a body, which have the most input to validate. */
const taking = (operations: readonly LocatedSchema[]): readonly LocatedSchema[] =>
  operations.filter(({ operation }) => operation.requestBody !== undefined);

const headersOf = ({ operation }: LocatedSchema, body: Body | null, tools: Tools): Record<string, string> => {
  const { random } = tools;
  const idempotent = operation.parameters.some(({ name }) => name === 'Idempotency-Key');
  return {
    ...(body?.type === undefined ? {} : { 'content-type': body.type }),
    ...(body?.encoding === undefined ? {} : { 'content-encoding': body.encoding }),
    ...(idempotent && random.chance(0.3) ? { 'idempotency-key': `k${random.int(300)}` } : {}),
    ...authorization(tools),
    'x-forwarded-for': address(random),
    ...oddHeaders(random),
  };
};

const bodyFor = ({ method, operation }: LocatedSchema, tools: Tools): Body | null =>
  READS.has(method) && tools.random.chance(0.97) ? null : makeBody(operation, tools);

/** A random request, generated from the document. */
export const makeRequest = (material: Material, random: Random): FuzzRequest => {
  const tools: Tools = { ...material, random, sample: samplerOf(material.document, material.known, random) };
  const located = random.pick(random.chance(0.4) ? taking(material.operations) : material.operations);
  const body = bodyFor(located, tools);
  const method = random.chance(0.96) ? located.method : random.pick(METHODS);
  return {
    method,
    // Uses the method that is sent: a DELETE in place of a GET would delete the campaign's own key.
    path: pathOf({ ...located, method }, tools) + queryOf(located, tools),
    headers: headersOf(located, body, tools),
    body: body?.bytes ?? null,
  };
};
