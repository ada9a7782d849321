import type { RouteRule } from '../route-table.ts';
import { methodAndUrl } from '../route-table.ts';
import type { Json } from './json.ts';
import type { Operation } from './operation.ts';

const RATE = 'On every answer to a request whose key was accepted.';
const integer = { type: 'integer', minimum: 0 };

/** Headers of answers, as components. */
export const HEADERS = {
  'X-Request-Id': {
    description: 'Names the request in our logs and events: quote it when you ask about it.',
    required: true,
    schema: { type: 'string', pattern: '^req_[0-9a-f]{32}$' },
  },
  'RateLimit-Policy': {
    description: `The limit that counts here: \`"send";q=100;w=60\` is 100 in 60 seconds. ${RATE}`,
    schema: { type: 'string' },
  },
  RateLimit: {
    description: `What is left: \`"send";r=99;t=1\` is 99, and the whole limit again in one second; of a 429, \`t\` is \`Retry-After\`. ${RATE}`,
    schema: { type: 'string' },
  },
  'RateLimit-Limit': { description: `Requests of this kind a minute. ${RATE}`, schema: integer },
  'RateLimit-Remaining': { description: `Requests that are left. ${RATE}`, schema: integer },
  'RateLimit-Reset': {
    description: `Seconds until the whole limit is there again; of a 429, the same as \`Retry-After\`. ${RATE}`,
    schema: integer,
  },
  'Retry-After': {
    description: 'Seconds to wait before trying again; the same as `error.retry_after`.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': { description: 'The scheme that is taken.', required: true, schema: { const: 'Bearer' } },
  ETag: {
    description: 'The revision of the resource: send it as `If-Match` to change only what you have seen.',
    required: true,
    schema: { type: 'string', pattern: '^"\\d+"$' },
  },
  Location: {
    description: 'The path of what was created, or is asked for.',
    required: true,
    schema: { type: 'string' },
  },
  'Idempotent-Replayed': {
    description: 'There when this answers a request that was answered before: nothing new was done.',
    schema: { const: 'true' },
  },
  'Cache-Control': {
    description: 'The answer shows a secret: nobody may keep it.',
    required: true,
    schema: { const: 'no-store' },
  },
} as const satisfies Readonly<Record<string, Json>>;
export type HeaderName = keyof typeof HEADERS;

const RATE_LIMITS: readonly HeaderName[] = [
  'RateLimit-Policy',
  'RateLimit',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
];

export const referencesTo = (names: readonly HeaderName[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** Reading one resource, making one, and whatever may be made conditional and leaves something behind. */
const showsRevision = ({ name, etag }: Operation, { status, errors }: RouteRule): boolean => {
  if (etag !== undefined) return etag;
  const { method, url } = methodAndUrl(name);
  if (status === 201) return true;
  return (
    status === 200 &&
    (errors.some((code) => code === 'precondition_failed') || (method === 'GET' && url.endsWith('/:id')))
  );
};

/** Of a success. */
export const successHeaders = (operation: Operation, rule: RouteRule): Json => {
  const guarded = rule.permission === null ? null : rule;
  return referencesTo([
    'X-Request-Id',
    ...(guarded === null ? [] : RATE_LIMITS),
    ...(showsRevision(operation, rule) ? (['ETag'] as const) : []),
    ...(rule.status === 201 || rule.status === 302 ? (['Location'] as const) : []),
    ...(guarded?.idempotent === true ? (['Idempotent-Replayed'] as const) : []),
    ...(guarded?.secret === true ? (['Cache-Control'] as const) : []),
  ]);
};

/** Of the answer to a method that a path does not take, which no operation gives. */
export const ALLOW: Json = {
  Allow: { description: 'The methods that the path takes.', required: true, schema: { type: 'string' } },
};

const OF_STATUS: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Of a refusal; the key of a 401 was not accepted and has no limits. */
export const errorHeaders = (status: number, rule: RouteRule): Json =>
  referencesTo([
    'X-Request-Id',
    ...(rule.permission === null || status === 401 ? [] : RATE_LIMITS),
    ...(OF_STATUS[status] ?? []),
  ]);
