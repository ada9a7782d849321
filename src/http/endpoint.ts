import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, HTTPMethods } from 'fastify';
import { z } from 'zod';
import type { Origin } from '../commands/execute.ts';
import type { TemplateUses } from '../commands/template/use-template.ts';
import type { Caller } from '../domain/api-key/caller.ts';
import { DomainError, type ErrorCode } from '../domain/kernel/errors.ts';
import { TimedOut, withTimeout } from '../lib/async/async.ts';
import { type JsonBounds, jsonAnswer } from '../lib/http/http.ts';
import { type AuthContext, reauthenticate, requireKnownHeaders } from './auth/authenticate.ts';
import type { LargeAnswers } from './auth/limits.ts';
import {
  maskContents,
  requireOpenFilters,
  requirePermission,
  requirePresence,
  seesContents,
} from './auth/permissions.ts';
import type { HttpDependencies, LoopWork } from './dependencies.ts';
import type { EngagementRecorder } from './engagement-recorder.ts';
import { dateFieldsOf, nulProblems, readDates } from './fields.ts';
import { detailsOf, LIST_KNOWN_FIELDS, type Problem, parseBody, problemsIn } from './problems.ts';
import type { ListReadings } from './readings.ts';
import type { RefusalRecorder } from './refused-requests/refusal-recorder.ts';
import { keptOriginOf } from './request-origin.ts';
import { GUARDED_ERRORS, type GuardedRoute, PRESENCE_ERRORS, type PublicRoute, type RouteRule } from './route-rules.ts';
import { type GuardedRouteName, methodAndUrl, type PublicRouteName, ROUTES, type RouteName } from './route-table.ts';
import type { MemberAddresses, SignInMail } from './sign-in-mail.ts';

/** Part of the document. */
export type Json = Readonly<Record<string, unknown>>;

/** `parts` without undefined entries. */
export const present = (parts: Json): Json =>
  Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));

/** Description of a route. */
export interface RouteDescription {
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
export interface Operation extends RouteDescription {
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
export const routeSchema = (operationId: string, name: RouteName, described: RouteDescription): FastifySchema => ({
  operation: { ...described, name, operationId },
});

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Permission that the route requires; absent: it needs no key. */
    readonly rule?: GuardedRoute;
  }
}

/** A request to one of our own operations that an adapter for another service's client makes. */
export interface OperationRequest {
  /** `:id` of the path. */
  readonly id?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/**
 * Performs an operation for a request to another route, with the permission, validation and masking of the operation.
 * @throws {DomainError} in our own names.
 */
type PerformOperation = (call: Call<unknown, unknown>, asked: OperationRequest) => Promise<unknown>;

/** Context with which a route is registered. */
export interface RouteContext {
  readonly server: FastifyInstance;
  readonly deps: HttpDependencies;
  readonly auth: AuthContext;
  readonly engagements: Pick<EngagementRecorder, 'note'>;
  readonly signInMail: Omit<SignInMail, 'close'>;
  readonly refusals: Pick<RefusalRecorder, 'flush'>;
  readonly memberAddresses: MemberAddresses;
  readonly largeAnswers: LargeAnswers;
  readonly listReadings: ListReadings;
  /** By organization. */
  readonly templates: TemplateUses;
  /** Aborts when the server begins to close: long polls end. */
  readonly closing: AbortSignal;
  /** Operation id of the route being registered: its name in `routes.ts` without `Route`. */
  readonly operationId: string;
  /** All registered operations, for the OpenAPI document. */
  readonly operations: readonly Operation[];
  /** Registered operations that need a key, for adapters. */
  readonly performers: Map<GuardedRouteName, PerformOperation>;
}

export interface Definition<Body extends z.ZodType, Query extends z.ZodType> extends RouteDescription {
  readonly body?: Body;
  readonly query?: Query;
  readonly examples?: Readonly<Record<string, z.input<Body>>>;
  /** Bounds of its body. Default: 64 kB. */
  readonly bounds?: JsonBounds;
  /** Its answers may be large: they are bounded for each organization, and written in pieces. */
  readonly large?: true;
  /** After this long the request is answered 503. */
  readonly deadlineMs?: number;
  /** Problems in the raw body that the schema cannot find; reported together with the schema's. */
  problems?(body: unknown, caller: Caller): readonly Problem[] | Promise<readonly Problem[]>;
  /** Error code for these problems. Default: `invalid_request`. */
  codeOf?(problems: readonly Problem[]): ErrorCode;
}

/** A request that is authenticated and valid. */
export interface Call<Body, Query> {
  readonly caller: Caller;
  /** Authenticates again. @throws {DomainError} if the key no longer works. */
  callerNow(upToLog?: 'up to the log'): Promise<Caller>;
  readonly origin: Origin;
  /** `:id` of the path. */
  readonly id: string;
  readonly body: Body;
  readonly query: Query;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** The request as the event loop monitor names it. */
export const workOf = ({ id, method, routeOptions }: FastifyRequest): LoopWork => ({
  route: `${method} ${routeOptions.url ?? 'unknown'}`,
  requestId: id,
});

/** A read model is waited for 2 s, an append is retried for a few. Longer only keeps clients hanging. */
const DEADLINE_MS = 15_000;

const NOTHING = z.strictObject({});

/** A definition with both schemas present. */
type FullDefinition<Body extends z.ZodType, Query extends z.ZodType> = Definition<Body, Query> & {
  readonly body: Body;
  readonly query: Query;
};

const furtherProblems = async (
  { problems }: Pick<Definition<z.ZodType, z.ZodType>, 'problems'>,
  sent: unknown,
  caller: Caller | null,
): Promise<readonly Problem[]> => (caller === null ? [] : ((await problems?.(sent, caller)) ?? []));

/** @param caller null: the route needs no key. */
const readRequest = async <Body extends z.ZodType, Query extends z.ZodType>(
  schemas: FullDefinition<Body, Query>,
  request: Pick<FastifyRequest, 'body' | 'query' | 'bodyRefusal'>,
  caller: Caller | null,
): Promise<{ readonly body: z.output<Body>; readonly query: z.output<Query> }> => {
  if (request.bodyRefusal !== null) throw request.bodyRefusal;
  const sent = request.body === undefined ? {} : request.body;
  const body = parseBody(schemas.body, sent);
  const query = schemas.query.safeParse(request.query, LIST_KNOWN_FIELDS);
  const problems = [
    ...body.problems,
    ...(query.success ? [] : problemsIn(query.error.issues, request.query, 'query')),
    ...nulProblems(request.query),
    ...(await furtherProblems(schemas, body.data, caller)),
  ];
  if (problems.length === 0 && body.output !== undefined && query.success)
    return { body: body.output, query: query.data };
  const code = schemas.codeOf?.(problems) ?? 'invalid_request';
  throw new DomainError(code, 'the request is invalid: see details', { details: detailsOf(problems) });
};

/** The time zone that a valid query names. */
const timeZoneIn = (query: unknown): string | undefined => (query as { readonly timezone?: string }).timezone;

/** An answer as the caller may see it. */
const shownTo = (caller: Caller, { mail }: GuardedRoute, body: unknown): unknown => {
  if (seesContents(caller) || mail === 'none') return body;
  return mail === 'masked' && body instanceof Readable ? body : maskContents(body);
};

/** Registers a route; `routes.ts` lists all of them. */
export type Registration = (route: RouteContext) => void;

/** A route whose definition needs no dependencies: see `defineEndpoint`. */
export const endpoint =
  <Body extends z.ZodType = typeof NOTHING, Query extends z.ZodType = typeof NOTHING>(
    name: GuardedRouteName,
    definition: Definition<Body, Query>,
    handle: (call: Call<z.output<Body>, z.output<Query>>, route: RouteContext) => Promise<unknown>,
  ): Registration =>
  (route) =>
    defineEndpoint(route, name, definition, (call) => handle(call, route));

/**
 * Registers one route of the table: authentication, validation, deadline, status and OpenAPI in one place. The handler
 * returns the response body.
 */
export const defineEndpoint = <Body extends z.ZodType = typeof NOTHING, Query extends z.ZodType = typeof NOTHING>(
  { server, deps, auth, largeAnswers, listReadings, operationId, performers }: RouteContext,
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

  const dates = { body: dateFieldsOf(schemas.body), query: dateFieldsOf(schemas.query) };
  const inZoneOf = <Read extends { readonly body: unknown; readonly query: unknown }>(read: Read, by: Caller): Read => {
    const zone = timeZoneIn(read.query) ?? auth.keyCache.settingsOf(by.organizationId).timezone;
    return {
      ...read,
      body: readDates(dates.body, read.body, zone),
      query: readDates(dates.query, read.query, zone),
    };
  };

  /** Addresses are put on record before they are shown. */
  const shown = async (call: Pick<Call<unknown, unknown>, 'caller' | 'origin' | 'request'>, body: unknown) => {
    if (rule.addresses === true && seesContents(call.caller)) await listReadings.record(call, name, body);
    return shownTo(call.caller, rule, body);
  };

  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const callerNow = (upToLog?: 'up to the log'): Promise<Caller> =>
      reauthenticate(auth, rule, request, upToLog !== undefined);
    const sender = await callerNow(); // the body may have taken long to arrive
    deps.eventLoop?.touch(workOf(request));
    const valid = await readRequest(schemas, request, sender).catch((error: unknown) => {
      throw request.overLimit ?? error;
    });
    const caller = await callerNow(); // validation of HTML may have taken long
    const read = inZoneOf(valid, caller);
    deps.eventLoop?.touch(workOf(request));
    const { id = '' } = request.params as { readonly id?: string };
    await requirePresence(auth, rule, { caller, id, body: read.body, callerNow: () => callerNow('up to the log') });
    const origin = await keptOriginOf(deps, rule, caller, request);
    const made = async (): Promise<unknown> => {
      const body = await handle({ ...read, caller, callerNow, id, request, reply, origin });
      // Use the current permissions: a handler that waits re-authenticates the caller.
      return shown({ caller: request.caller ?? caller, origin, request }, body);
    };
    if (definition.large === undefined) return await made();
    return jsonAnswer(reply, await largeAnswers.make(caller.organizationId, reply, made));
  };

  performers.set(name, async (call, { id = '', query = {}, body = {} }) => {
    const { caller } = call;
    requirePermission(caller, rule, method);
    requireOpenFilters(caller, rule, query);
    const valid = await readRequest(schemas, { body, query, bodyRefusal: null }, caller);
    const read = inZoneOf(valid, caller);
    const callerNow = (): Promise<Caller> => call.callerNow('up to the log');
    await requirePresence(auth, rule, { caller, id, body: read.body, callerNow });
    return shown(call, await handle({ ...call, ...read, id }));
  });

  server.route({
    method: method as HTTPMethods, // the table's own
    url,
    schema: routeSchema(operationId, name, definition),
    // `server.ts` authenticates the request by the rule and reads its body within the bounds.
    config: definition.bounds === undefined ? { rule } : { rule, bounds: definition.bounds },
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

/** A route of the API that needs no key: validation, deadline, status and OpenAPI as of all others. */
export const publicEndpoint =
  <Body extends z.ZodType = typeof NOTHING>(
    name: PublicRouteName,
    definition: Pick<RouteDescription, 'summary' | 'description' | 'examples' | 'answer' | 'mediaType'> & {
      readonly body?: Body;
    },
    handle: (
      call: Pick<Call<z.output<Body>, unknown>, 'body' | 'request' | 'reply'>,
      route: RouteContext,
    ) => Promise<unknown>,
  ): Registration =>
  (route) => {
    const { server, operationId } = route;
    const { summary } = definition;
    const { method, url } = methodAndUrl(name);
    const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      requireKnownHeaders(request, false);
      // An absent schema is the empty one, which is the default of its type parameter.
      const schema = definition.body ?? (NOTHING as z.ZodType as Body);
      const { body } = await readRequest({ summary, body: schema, query: NOTHING }, request, null);
      return handle({ body, request, reply }, route);
    };
    server.route({
      method: method as HTTPMethods, // the table's own
      url,
      schema: routeSchema(operationId, name, definition),
      handler: async (request, reply) => {
        const { status, secret }: PublicRoute = ROUTES[name];
        const body = await withTimeout({ ms: DEADLINE_MS }, answer(request, reply));
        if (secret) reply.header('cache-control', 'no-store');
        reply.code(status);
        return reply.send(body);
      },
    });
  };
