import type { FastifySchema } from 'fastify';
import { z } from 'zod';
import { ERROR_CATALOGUE, type ErrorCode } from '../domain/error-catalogue.ts';
import { ERROR_STATUSES } from './errors/error-statuses.ts';
import { GUARDED_ERRORS, methodAndUrl, ROUTES, type RouteName, type RouteRule } from './route-table.ts';
import { errorShape } from './shapes/error-shape.ts';

interface Described {
  readonly summary: string;
  readonly body?: z.ZodType;
  readonly query?: z.ZodType;
  readonly answer?: z.ZodType;
}

const errorsOf = (rule: RouteRule): readonly ErrorCode[] =>
  rule.permission === null ? rule.errors : [...new Set([...GUARDED_ERRORS, ...rule.errors])].sort();

const errorResponses = (rule: RouteRule): Readonly<Record<string, z.ZodType>> => {
  const byStatus = Object.groupBy(errorsOf(rule), (code) => ERROR_STATUSES[code]);
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, codes = []]) => [
      status,
      errorShape.describe(codes.map((code) => `\`${code}\`: ${ERROR_CATALOGUE[code]}`).join('\n\n')),
    ]),
  );
};

/** `messages` of `/v1/messages/:id`. */
const tagOf = (url: string): string => (url.startsWith('/v1/') ? (url.split('/')[2] ?? '') : 'service');

/** `getMessagesIdEvents`. */
const operationIdOf = (method: string, url: string): string =>
  method.toLowerCase() +
  url
    .replace(/^\/v1/, '')
    .split(/[/:.-]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');

const IDEMPOTENCY = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x20-\x7e]{1,255}$/)
    .optional()
    .describe('The same key and body again is answered as the first time, and nothing new is sent.'),
});

const access = (rule: RouteRule): FastifySchema => {
  if (rule.permission === null) return { security: [] };
  return {
    description: `Needs a key with \`${rule.permission}\`${rule.environments.length === 1 ? ' of the live environment' : ''}. Counts against the limit of \`${rule.kind}\` requests.`,
    security: [{ apiKey: [] }],
    ...(rule.idempotent === true ? { headers: IDEMPOTENCY } : {}),
  };
};

/** What the OpenAPI document says of a route of the table. */
export const routeSchema = (name: RouteName, { summary, body, query, answer }: Described): FastifySchema => {
  const rule: RouteRule = ROUTES[name];
  const { method, url } = methodAndUrl(name);
  return {
    summary,
    tags: [tagOf(url)],
    operationId: operationIdOf(method, url),
    ...access(rule),
    ...(body === undefined ? {} : { body }),
    ...(query === undefined ? {} : { querystring: query }),
    ...(url.includes(':id') ? { params: z.object({ id: z.string() }) } : {}),
    response: { [rule.status]: answer ?? z.undefined().describe('No content'), ...errorResponses(rule) },
  };
};
