import type { FastifySchema } from 'fastify';
import type { z } from 'zod';
import type { ErrorCode } from '../../domain/kernel/errors.ts';
import { GUARDED_ERRORS, PRESENCE_ERRORS, type RouteRule } from '../route-rules.ts';
import { ROUTES, type RouteName } from '../route-table.ts';

/** Part of the document. */
export type Json = Readonly<Record<string, unknown>>;

/** `parts` without undefined entries. */
export const present = (parts: Json): Json =>
  Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));

/** Description of a route. */
export interface Described {
  /** One line. */
  readonly summary: string;
  /** Further description in Markdown. */
  readonly description?: string;
  readonly body?: z.ZodType;
  readonly query?: z.ZodType;
  /** Response body of a success; absent: none. */
  readonly answer?: z.ZodType;
  /** Media type of the response. Default: `application/json`. */
  readonly mediaType?: string;
  /** Other media types that a client may ask for by `Accept`, as text. */
  readonly otherMediaTypes?: readonly string[];
  /** Media types of the body. Default: `application/json`. */
  readonly bodyMediaTypes?: readonly string[];
  /**
   * Valid bodies by summary; a test sends each. Ids in them stand for the reader's own.
   */
  readonly examples?: Readonly<Record<string, unknown>>;
  /** Whether a success has an `ETag`. Default: derived from the table and the path. */
  readonly etag?: boolean;
  /** Supports `If-None-Match`: 304 if unchanged. */
  readonly conditional?: true;
}

/** A route in the document. */
export interface Operation extends Described {
  readonly name: RouteName;
  /** Its name in generated clients. */
  readonly operationId: string;
}

declare module 'fastify' {
  interface FastifySchema {
    /** For the OpenAPI document. */
    operation?: Operation;
  }
}

export const ruleOf = (name: RouteName): RouteRule => ROUTES[name];

/** Whether it is of another service's client. */
export const isCompat = (name: RouteName): boolean => 'compat' in ROUTES[name];

/** All error codes of a route. */
export const errorsOf = (rule: RouteRule): readonly ErrorCode[] =>
  rule.permission === null
    ? rule.errors
    : [...new Set([...GUARDED_ERRORS, ...(rule.presence === undefined ? [] : PRESENCE_ERRORS), ...rule.errors])].sort();

/** Schema of a route that carries its operation. @param operationId its name in generated clients. */
export const routeSchema = (operationId: string, name: RouteName, described: Described): FastifySchema => ({
  operation: { ...described, name, operationId },
});
