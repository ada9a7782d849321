import { ERROR_CATALOGUE, type ErrorCode } from '../../domain/kernel/errors.ts';
import { errorsOf, type Json, type Operation, present, ruleOf } from '../endpoint.ts';
import { ERROR_STATUSES } from '../errors.ts';
import type { RouteRule } from '../route-rules.ts';
import { methodAndUrl } from '../route-table.ts';
import { RECORDED_ANSWERS } from './recorded-answers.ts';
import type { Schemas } from './schemas.ts';

const RATE = 'Present if the API key was accepted.';
const integer = { type: 'integer', minimum: 0 };

/** Response headers, as components. */
export const HEADERS = {
  'X-Request-Id': {
    description: 'Id of the request in logs and events. Include it when you ask for support.',
    required: true,
    schema: { type: 'string', pattern: '^req_[0-9a-f]{32}$' },
  },
  'RateLimit-Policy': {
    description: `The limit that applies: \`"send";q=100;w=60\` is 100 requests in 60 seconds. ${RATE}`,
    schema: { type: 'string' },
  },
  RateLimit: {
    description: `Remaining requests: \`"send";r=99;t=1\` is 99 requests, and the full limit again in one second. With 429, \`t\` is \`Retry-After\`. ${RATE}`,
    schema: { type: 'string' },
  },
  'RateLimit-Limit': { description: `Requests of this kind per minute. ${RATE}`, schema: integer },
  'RateLimit-Remaining': { description: `Remaining requests. ${RATE}`, schema: integer },
  'RateLimit-Reset': {
    description: `Seconds until the full limit is available again. With 429, the same as \`Retry-After\`. ${RATE}`,
    schema: integer,
  },
  'Retry-After': {
    description: 'Seconds to wait before you retry. The same as `error.retry_after`.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': { description: 'Accepted authentication scheme.', required: true, schema: { const: 'Bearer' } },
  ETag: {
    description: 'Revision of the resource. Send it as `If-Match` so that a change applies only to this revision.',
    required: true,
    schema: { type: 'string', pattern: '^"\\d+"$' },
  },
  Location: {
    description: 'Path of the created or requested resource.',
    required: true,
    schema: { type: 'string' },
  },
  'Idempotent-Replayed': {
    description: 'Present if this repeats the response to an earlier request. Nothing was done again.',
    schema: { const: 'true' },
  },
  'Cache-Control': {
    description: 'The response contains a secret and must not be cached.',
    required: true,
    schema: { const: 'no-store' },
  },
} as const satisfies Readonly<Record<string, Json>>;
type HeaderName = keyof typeof HEADERS;

const RATE_LIMITS: readonly HeaderName[] = [
  'RateLimit-Policy',
  'RateLimit',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
];

const referencesTo = (names: readonly HeaderName[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** Responses with an `ETag`: reads and creations of a resource, and conditional changes that return it. */
const showsRevision = ({ name, etag }: Operation, { status, errors }: RouteRule): boolean => {
  if (etag !== undefined) return etag;
  const { method, url } = methodAndUrl(name);
  if (status === 201) return true;
  return (
    status === 200 &&
    (errors.some((code) => code === 'precondition_failed') || (method === 'GET' && url.endsWith('/:id')))
  );
};

/** Headers of a success. */
const successHeaders = (operation: Operation, rule: RouteRule): Json => {
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

/** Header of a 405, which belongs to no operation. */
const ALLOW: Json = {
  Allow: { description: 'Methods that the path supports.', required: true, schema: { type: 'string' } },
};

const OF_STATUS: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Headers of an error; a 401 has no rate limit. */
const errorHeaders = (status: number, rule: RouteRule): Json =>
  referencesTo([
    'X-Request-Id',
    ...(rule.permission === null || status === 401 ? [] : RATE_LIMITS),
    ...(OF_STATUS[status] ?? []),
  ]);

const JSON_TYPE = 'application/json';
const SUCCESSES: Readonly<Record<RouteRule['status'], string>> = {
  200: 'Success.',
  201: 'Created.',
  202: 'Accepted: stored durably, and processed afterwards.',
  204: 'No content.',
  302: 'Redirect.',
};

const meaningsOf = (codes: readonly ErrorCode[]): string =>
  codes.map((code) => `- \`${code}\`: ${ERROR_CATALOGUE[code].meaning} ${ERROR_CATALOGUE[code].remedy}`).join('\n');

/** An error response with one of these codes, which share a status. */
const refusal = (codes: readonly ErrorCode[], headers: Json, error: Json): Json => ({
  description: meaningsOf(codes),
  headers,
  content: { [JSON_TYPE]: { schema: error } },
  'x-error-codes': codes,
});

/** The same as a page. */
const refusalPage = (codes: readonly ErrorCode[], headers: Json, page: Json): Json => ({
  ...refusal(codes, headers, page),
  content: { 'text/html': { schema: page } },
});

const TEXT: Json = { type: 'string' };

const isPage = (rule: RouteRule): boolean => rule.permission === null && rule.page === true;

const success = (operation: Operation, rule: RouteRule, schemas: Schemas): Json =>
  present({
    description: SUCCESSES[rule.status],
    headers: successHeaders(operation, rule),
    content:
      operation.answer === undefined
        ? undefined
        : {
            [operation.mediaType ?? JSON_TYPE]: present({
              schema: schemas.answer(operation),
              example: RECORDED_ANSWERS[operation.operationId]?.body,
            }),
            ...Object.fromEntries((operation.otherMediaTypes ?? []).map((type) => [type, { schema: TEXT }])),
          },
  });

type ByStatus = readonly (readonly [status: number, codes: readonly ErrorCode[]])[];

const byStatus = (rule: RouteRule): ByStatus =>
  Object.entries(Object.groupBy(errorsOf(rule), (code) => ERROR_STATUSES[code])).map(([status, codes = []]) => [
    Number(status),
    codes,
  ]);

/** Name of the shared response if a status has one code: the same for every operation that needs a key. */
const sharedName = (rule: RouteRule, codes: readonly ErrorCode[]): string | null => {
  const [only, ...others] = codes;
  if (only === undefined || others.length > 0 || rule.permission === null) return null;
  return only.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
};

const NOT_MODIFIED: Json = {
  description: 'Not modified: `If-None-Match` names the current version.',
  headers: referencesTo(['X-Request-Id']),
};

/** All responses of an operation, by status. */
export const responsesOf = (operation: Operation, rule: RouteRule, schemas: Schemas): Json => {
  const refusals = byStatus(rule).map(([status, codes]) => {
    const name = sharedName(rule, codes);
    const headers = errorHeaders(status, rule);
    const own = isPage(rule) ? refusalPage(codes, headers, schemas.page) : refusal(codes, headers, schemas.error);
    return [status, name === null ? own : { $ref: `#/components/responses/${name}` }];
  });
  return {
    [rule.status]: success(operation, rule, schemas),
    ...(operation.conditional === true ? { 304: NOT_MODIFIED } : {}),
    ...(refusals.every(([status]) => Number(status) >= 500)
      ? { 400: { $ref: '#/components/responses/Malformed' } }
      : {}),
    ...Object.fromEntries(refusals),
  };
};

const NO_ROUTE: RouteRule = { permission: null, status: 200, errors: [] };

const elsewhere = (code: ErrorCode, schemas: Schemas, headers: Json = {}): Json =>
  refusal([code], { ...errorHeaders(ERROR_STATUSES[code], NO_ROUTE), ...headers }, schemas.error);

/** Responses where no operation is: unknown path, unsupported method. */
export const responsesElsewhere = (schemas: Schemas): Json => ({
  404: elsewhere('not_found', schemas),
  405: elsewhere('method_not_allowed', schemas, ALLOW),
});

/** Error responses shared by operations, and that to malformed HTTP. */
export const sharedResponses = (operations: readonly Operation[], schemas: Schemas): Json => {
  const shared = operations.flatMap(({ name: route }) => {
    const rule = ruleOf(route);
    return byStatus(rule).flatMap(([status, codes]) => {
      const name = sharedName(rule, codes);
      return name === null ? [] : [[name, refusal(codes, errorHeaders(status, rule), schemas.error)]];
    });
  });
  return { ...Object.fromEntries(shared), Malformed: elsewhere('invalid_request', schemas) };
};
