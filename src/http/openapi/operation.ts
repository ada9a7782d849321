import type { FastifyInstance, FastifySchema } from 'fastify';
import type { z } from 'zod';
import type { ErrorCode } from '../../domain/error-catalogue.ts';
import { GUARDED_ERRORS, ROUTES, type RouteName, type RouteRule } from '../route-table.ts';

/** A part of the document. */
export type Json = Readonly<Record<string, unknown>>;

/** The entries of `parts` that are there, as one. */
export const present = (parts: Json): Json =>
  Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));

/** What a route says of itself. */
export interface Described {
  /** One line. */
  readonly summary: string;
  /** What the line does not say, in Markdown. */
  readonly description?: string;
  readonly body?: z.ZodType;
  readonly query?: z.ZodType;
  /** What a success answers; absent: nothing. */
  readonly answer?: z.ZodType;
  /** Of the answer. Default: `application/json`. */
  readonly mediaType?: string;
  /** Of the body. Default: `application/json` alone. */
  readonly bodyMediaTypes?: readonly string[];
  /**
   * Bodies that succeed, each under a few words that tell it apart; a test sends every one. Ids in them stand for the
   * reader's own.
   */
  readonly examples?: Readonly<Record<string, unknown>>;
  /** Whether a success carries the resource's `ETag`. Default: as the table and the path suggest. */
  readonly etag?: boolean;
  /** Takes `If-None-Match`: 304 for what the client has already. */
  readonly conditional?: true;
}

/** One route as the document sees it. */
export interface Operation extends Described {
  readonly name: RouteName;
  /** What generated clients call it. */
  readonly operationId: string;
}

declare module 'fastify' {
  interface FastifySchema {
    /** What the OpenAPI document is made from. */
    operation?: Operation;
  }
}

export const ruleOf = (name: RouteName): RouteRule => ROUTES[name];

/** Every code that a route can be refused with. */
export const errorsOf = (rule: RouteRule): readonly ErrorCode[] =>
  rule.permission === null ? rule.errors : [...new Set([...GUARDED_ERRORS, ...rule.errors])].sort();

/** Operations of the routes that are registered from now on, in that order. */
export const collectOperations = (server: FastifyInstance): readonly Operation[] => {
  const operations: Operation[] = [];
  server.addHook('onRoute', ({ method, schema }) => {
    // Fastify adds HEAD to every GET: the same operation without its body.
    if (method !== 'HEAD' && schema?.operation !== undefined) operations.push(schema.operation);
  });
  return operations;
};

/** What the OpenAPI document is told of a route of the table. @param operationId what clients call it. */
export const routeSchema = (operationId: string, name: RouteName, described: Described): FastifySchema => ({
  operation: { ...described, name, operationId },
});
