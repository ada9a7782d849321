import { ERROR_CATALOGUE, type ErrorCode } from '../../domain/error-catalogue.ts';
import { ERROR_STATUSES } from '../errors/error-statuses.ts';
import type { RouteRule } from '../route-table.ts';
import { ALLOW, errorHeaders, referencesTo, successHeaders } from './headers.ts';
import { type Json, present } from './json.ts';
import { errorsOf, type Operation, ruleOf } from './operation.ts';
import type { Schemas } from './schemas.ts';

const JSON_TYPE = 'application/json';
const SUCCESSES: Readonly<Record<RouteRule['status'], string>> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted: it is kept, and will be done.',
  204: 'Done; there is nothing to say.',
  302: 'It is elsewhere.',
};

const told = (codes: readonly ErrorCode[]): string =>
  codes.map((code) => `- \`${code}\`: ${ERROR_CATALOGUE[code].meaning} ${ERROR_CATALOGUE[code].remedy}`).join('\n');

/** A refusal with one of these codes, which share a status. */
const refusal = (codes: readonly ErrorCode[], headers: Json, error: Json): Json => ({
  description: told(codes),
  headers,
  content: { [JSON_TYPE]: { schema: error } },
  'x-error-codes': codes,
});

/** The same, said to a person: by a page like any other of the operation. */
const refusalPage = (codes: readonly ErrorCode[], headers: Json, page: Json): Json => ({
  ...refusal(codes, headers, page),
  content: { 'text/html': { schema: page } },
});

const isPage = (rule: RouteRule): boolean => rule.permission === null && rule.page === true;

const success = (operation: Operation, rule: RouteRule, schemas: Schemas): Json =>
  present({
    description: SUCCESSES[rule.status],
    headers: successHeaders(operation, rule),
    content:
      operation.answer === undefined
        ? undefined
        : { [operation.mediaType ?? JSON_TYPE]: { schema: schemas.answer(operation) } },
  });

type ByStatus = readonly (readonly [status: number, codes: readonly ErrorCode[]])[];

const byStatus = (rule: RouteRule): ByStatus =>
  Object.entries(Object.groupBy(errorsOf(rule), (code) => ERROR_STATUSES[code])).map(([status, codes = []]) => [
    Number(status),
    codes,
  ]);

/** `RateLimitExceeded` where that is all that a status means; such a refusal is the same for every operation with a key. */
const sharedName = (rule: RouteRule, codes: readonly ErrorCode[]): string | null => {
  const [only, ...others] = codes;
  if (only === undefined || others.length > 0 || rule.permission === null) return null;
  return only.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
};

const NOT_MODIFIED: Json = {
  description: 'The client has it already, by the `If-None-Match` it sent.',
  headers: referencesTo(['X-Request-Id']),
};

/** Every answer an operation can give, by status. */
export const responsesOf = (operation: Operation, rule: RouteRule, schemas: Schemas): Json => {
  const refusals = byStatus(rule).map(([status, codes]) => {
    const name = sharedName(rule, codes);
    const headers = errorHeaders(status, rule);
    const own = isPage(rule)
      ? refusalPage(codes, headers, schemas.answer(operation))
      : refusal(codes, headers, schemas.error);
    return [status, name === null ? own : { $ref: `#/components/responses/${name}` }];
  });
  return {
    [rule.status]: success(operation, rule, schemas),
    ...(operation.conditional === true ? { 304: NOT_MODIFIED } : {}),
    ...(refusals.every(([status]) => Number(status) >= 500)
      ? { '4XX': { $ref: '#/components/responses/Malformed' } }
      : {}),
    ...Object.fromEntries(refusals),
  };
};

const NOWHERE: RouteRule = { permission: null, status: 200, errors: [] };

const elsewhere = (code: ErrorCode, schemas: Schemas, headers: Json = {}): Json =>
  refusal([code], { ...errorHeaders(ERROR_STATUSES[code], NOWHERE), ...headers }, schemas.error);

/** What is answered where no operation is: on a path that is none, and to a method that the path does not take. */
export const responsesElsewhere = (schemas: Schemas): Json => ({
  404: elsewhere('not_found', schemas),
  405: elsewhere('method_not_allowed', schemas, ALLOW),
});

/** Refusals that operations share, and that of what is no well-formed HTTP. */
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
