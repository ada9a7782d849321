import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { z } from 'zod';
import { TimedOut, withTimeout } from '../async/with-timeout.ts';
import type { Origin } from '../commands/context.ts';
import type { Caller } from '../domain/api-key/key-authority.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { ErrorCode } from '../domain/error-catalogue.ts';
import { type AuthContext, authenticateRequest, reauthenticate } from './auth/authenticate.ts';
import type { JsonBounds } from './bodies/bounded-json.ts';
import type { HttpDependencies, LoopWork } from './dependencies.ts';
import { type Described, type Operation, routeSchema } from './openapi/operation.ts';
import { keptOriginOf } from './request-origin.ts';
import { type GuardedRoute, type GuardedRouteName, methodAndUrl, ROUTES } from './route-table.ts';
import { nulProblems } from './validation/fields.ts';
import { detailsOf, type Problem, problemsIn } from './validation/problems.ts';

/** The server, what it is built on, and the auth. */
export interface RouteContext {
  readonly server: FastifyInstance;
  readonly deps: HttpDependencies;
  readonly auth: AuthContext;
  /** Aborts when the server begins to close: whoever waits for something to happen stops waiting. */
  readonly closing: AbortSignal;
  /** What the route now being registered is called by clients: the stem of its file. */
  readonly operationId: string;
  /** All that were registered, for the OpenAPI document. */
  readonly operations: readonly Operation[];
}

export interface Definition<Body extends z.ZodType, Query extends z.ZodType> extends Described {
  readonly body?: Body;
  readonly query?: Query;
  readonly examples?: Readonly<Record<string, z.input<Body>>>;
  /** Of its body; absent: those of most. */
  readonly bounds?: JsonBounds;
  /** Longer than any answer takes; after it, 503. */
  readonly deadlineMs?: number;
  /** Problems that the schema cannot see, found in the body as it was sent, so that all are told at once. */
  problems?(body: unknown, caller: Caller): readonly Problem[] | Promise<readonly Problem[]>;
  /** Code of the refusal for these problems. Default: `invalid_request`. */
  codeOf?(problems: readonly Problem[]): ErrorCode;
}

/** One request that was let in and is well-formed. */
export interface Call<Body, Query> {
  readonly caller: Caller;
  /** The same after a while. @throws {DomainError} if he would be let in no more. */
  callerNow(upToLog?: 'up to the log'): Promise<Caller>;
  readonly origin: Origin;
  /** `:id` of the path. */
  readonly id: string;
  readonly body: Body;
  readonly query: Query;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** What the event loop's watch calls a request. */
export const workOf = ({ id, method, routeOptions }: FastifyRequest): LoopWork => ({
  route: `${method} ${routeOptions.url ?? 'unknown'}`,
  requestId: id,
});

/** Waiting for a read model takes 2 s at most, retrying an append a few: longer only keeps the client hanging. */
const DEADLINE_MS = 15_000;

const NOTHING = z.strictObject({});

/** A definition with nothing left out that a request is read by. */
type Reading<Body extends z.ZodType, Query extends z.ZodType> = Definition<Body, Query> & {
  readonly body: Body;
  readonly query: Query;
};

const readRequest = async <Body extends z.ZodType, Query extends z.ZodType>(
  schemas: Reading<Body, Query>,
  request: FastifyRequest,
  caller: Caller,
): Promise<{ readonly body: z.output<Body>; readonly query: z.output<Query> }> => {
  if (request.bodyRefusal !== null) throw request.bodyRefusal;
  const sent = request.body === undefined ? {} : request.body;
  const body = schemas.body.safeParse(sent);
  const query = schemas.query.safeParse(request.query);
  const further = (await schemas.problems?.(sent, caller)) ?? [];
  const problems = [
    ...(body.success ? [] : problemsIn(body.error.issues, sent, 'body')),
    ...(query.success ? [] : problemsIn(query.error.issues, request.query, 'query')),
    ...nulProblems(request.query),
    ...further,
  ];
  if (problems.length === 0 && body.success && query.success) return { body: body.data, query: query.data };
  const code = schemas.codeOf?.(problems) ?? 'invalid_request';
  throw new DomainError(code, 'the request is invalid: see details', { details: detailsOf(problems) });
};

/**
 * Registers one route of the table: auth, validation, deadline, status and OpenAPI in one place. A handler returns the
 * body of the answer.
 */
export const defineEndpoint = <Body extends z.ZodType = typeof NOTHING, Query extends z.ZodType = typeof NOTHING>(
  { server, deps, auth, operationId }: RouteContext,
  name: GuardedRouteName,
  definition: Definition<Body, Query>,
  handle: (call: Call<z.output<Body>, z.output<Query>>) => Promise<unknown>,
): void => {
  const rule: GuardedRoute = ROUTES[name];
  const { method, url } = methodAndUrl(name);
  const deadlineMs = definition.deadlineMs ?? DEADLINE_MS;
  const schemas = {
    ...definition,
    // An absent schema is the empty one, which is the default of its type parameter.
    body: definition.body ?? (NOTHING as z.ZodType as Body),
    query: definition.query ?? (NOTHING as z.ZodType as Query),
  };

  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const callerNow = (upToLog?: 'up to the log'): Promise<Caller> =>
      reauthenticate(auth, rule, request, upToLog !== undefined);
    const sender = await callerNow(); // the body may have been long on its way
    deps.eventLoop?.touch(workOf(request));
    const read = await readRequest(schemas, request, sender).catch((error: unknown) => {
      throw request.overLimit ?? error;
    });
    const caller = await callerNow(); // and its HTML long in line
    deps.eventLoop?.touch(workOf(request));
    const { id = '' } = request.params as { readonly id?: string };
    const origin = await keptOriginOf(deps, rule, caller, request);
    return handle({ ...read, caller, callerNow, id, request, reply, origin });
  };

  server.route({
    method: method as HTTPMethods, // the table's own
    url,
    schema: routeSchema(operationId, name, definition),
    config: definition.bounds === undefined ? {} : { bounds: definition.bounds },
    onRequest: (request, reply) => authenticateRequest(auth, rule, request, reply),
    handler: async (request, reply) => {
      const body = await withTimeout({ ms: deadlineMs }, answer(request, reply)).catch((error: unknown) => {
        request.isLate = error instanceof TimedOut;
        throw error;
      });
      reply.code(rule.status);
      return reply.send(body);
    },
  });
};
