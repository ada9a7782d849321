import { createServer as createHttpServer, type Server, type ServerOptions } from 'node:http';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { createTemplateUses } from '../commands/template/use-template.ts';
import { parseRange } from '../domain/kernel/addresses.ts';
import type { AuthContext } from './auth/authenticate.ts';
import { createKeyCache } from './auth/key-cache.ts';
import { createMemberAddresses } from './auth/member-addresses.ts';
import { createOwnersOf } from './auth/owners.ts';
import { createCatchUpLimit } from './auth/rate-limits.ts';
import { createSessionActivity } from './auth/session-activity.ts';
import { type BodyBudget, createBodyBudget } from './bodies/body-budget.ts';
import { readJsonBodies } from './bodies/json-bodies.ts';
import { boundHttpConnections, connectionsMax, UNAUTHENTICATED_PER_NETWORK_MAX } from './connections.ts';
import type { HttpDependencies } from './dependencies.ts';
import { workOf } from './endpoint.ts';
import { createEngagementRecorder } from './engagement-recorder.ts';
import { answerErrors, answerTunnel, answerUnparsable, refuseInWords, sendError } from './errors/error-handlers.ts';
import { oneAtATime } from './http-pipelining.ts';
import { createLargeAnswers } from './large-answers.ts';
import { measureRequests } from './metrics.ts';
import { createOpenRequests } from './open-requests.ts';
import { collectOperations } from './openapi/operation.ts';
import { sendErrorPage } from './pages/define-page.ts';
import { createRefusalRecorder } from './refused-requests/refusal-recorder.ts';
import { inCohorts } from './request-cohorts.ts';
import { isPage, isRouteName } from './route-table.ts';
import { REGISTRATIONS } from './routes.ts';
import { createSignInMail } from './sign-in-mail.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The client's address is not even logged. */
    readonly anonymous?: true;
  }
  interface FastifyInstance {
    /** Shared with the SMTP submission listener: authentication, and the memory for bodies in flight. */
    readonly shared: { readonly auth: AuthContext; readonly bodies: BodyBudget };
  }
}

/** 25 MB at 4 Mbit/s arrive in time. Longer lets slow clients hold connections. */
const REQUEST_MS_MAX = 60_000;
const HEADERS_MS_MAX = 15_000;
/** Longer than the idle timeout of most load balancers, which otherwise reuse a connection that is being closed. */
const KEEP_ALIVE_MS = 72_000;
const SERVER_OPTIONS: ServerOptions = {
  requestTimeout: REQUEST_MS_MAX,
  keepAliveTimeout: KEEP_ALIVE_MS,
  headersTimeout: HEADERS_MS_MAX,
  requireHostHeader: false,
};
/** Longer than any request line Node accepts: an id that is too long is refused after authentication, as any other. */
const PARAM_CHARACTERS_MAX = 20_000;

/** Refuses to start with a route that is not in the table: it would need no key. */
const requireTable = (server: FastifyInstance): void => {
  server.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat().filter((name) => name !== 'HEAD')) {
      if (!isRouteName(`${one} ${url}`)) throw new Error(`route ${one} ${url} is not in the route table`);
    }
  });
};

/**
 * A client that has closed its side behind a request is answered all the same: otherwise it would never know what was
 * accepted. Node has the switch, but no type for it.
 */
const answerHalfClosed = (server: Server): Server => Object.assign(server, { httpAllowHalfOpen: true });

const createServer = ({
  context: { system },
  logger,
  trustedProxies,
  descriptors,
}: HttpDependencies): FastifyInstance => {
  const nextId = (): string => `req_${system.uuid().replaceAll('-', '')}`;
  const server = Fastify({
    logger: false,
    genReqId: nextId,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    serverFactory: (serve) => answerHalfClosed(createHttpServer(SERVER_OPTIONS, oneAtATime(inCohorts(serve)))),
    routerOptions: { maxParamLength: PARAM_CHARACTERS_MAX },
    // While closing, requests on open connections are still served, with `Connection: close`.
    return503OnClosing: false,
    clientErrorHandler: answerUnparsable(nextId),
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
      // An unsubscribe link with a token that is too long is still answered with a page.
      const isLong = error.code === 'FST_ERR_MAX_PARAM_LENGTH';
      const send = isLong && isPage(request.url) ? sendErrorPage : sendError;
      send(logger)(error, request, reply);
    },
  });
  server.server.on('connect', answerTunnel(nextId));
  const max = connectionsMax(descriptors ?? Number.POSITIVE_INFINITY);
  const requests = createOpenRequests(max);
  const connections = boundHttpConnections(server.server, {
    max,
    perNetwork: UNAUTHENTICATED_PER_NETWORK_MAX,
    trusted: trustedProxies.map(parseRange).filter((range) => range !== null),
  });
  server.addHook('preParsing', ({ caller, raw }, reply, _payload, done) => {
    if (caller === null) return done();
    connections.authenticated(raw.socket);
    done(requests.begin(caller.organizationId, reply));
  });
  return server;
};

/** Sets `X-Request-Id` on every response and logs one debug line per request. */
const identify = (server: FastifyInstance, { logger }: HttpDependencies): void => {
  server.decorateRequest('caller', null);
  server.decorateRequest('authenticated', null);
  server.decorateRequest('overLimit', null);
  server.decorateRequest('isLate', false);
  server.decorateRequest('refusal', null);
  server.decorateRequest('refusedCaller', null);
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
    // No protocol upgrade is supported, and after such a request Node serves no other on its connection.
    if (request.headers.upgrade !== undefined) reply.header('connection', 'close');
    done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    const { id: requestId, method, caller } = request;
    const { url: route, config } = request.routeOptions;
    const clientAddress = config.anonymous === true ? undefined : request.ip;
    const tookMs = Math.round(reply.elapsedTime);
    logger.debug(
      { requestId, method, route, status: reply.statusCode, tookMs, keyId: caller?.keyId, clientAddress },
      'answered',
    );
    done();
  });
};

/** Reports the request at each stage that may block the event loop; `endpoint.ts` reports those of the handler. */
const nameStages = (server: FastifyInstance, eventLoop: HttpDependencies['eventLoop']): void => {
  if (eventLoop === undefined) return;
  const touch = (request: FastifyRequest): void => eventLoop.touch(workOf(request));
  const stage = (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    touch(request);
    done();
  };
  server.addHook('onRequest', stage);
  server.addHook('preParsing', (request, _reply, payload, done) => {
    payload.once('end', () => touch(request)); // the body is complete and is parsed next
    done();
  });
  server.addHook('preHandler', stage);
  server.addHook('preSerialization', (request, _reply, payload, done) => {
    touch(request);
    done(null, payload);
  });
};

/**
 * Builds the API, ready to listen or for `inject`. It follows the log from `ready()` until `close()`, which waits for
 * the requests in flight. The dependencies stay open.
 */
export const buildServer = async (deps: HttpDependencies): Promise<FastifyInstance> => {
  const { context, keyStore, logger, usageMarks, rateLimiter } = deps;
  const { store, system, capturing } = context;
  const server = createServer(deps);
  const keyCache = createKeyCache({ store: keyStore ?? store, system, logger, capturing });
  const auth: AuthContext = {
    keyCache,
    catchUpLimit: createCatchUpLimit(system),
    usageMarks,
    sessionActivity: createSessionActivity({ usageMarks, system }),
    get publicUrl() {
      return deps.publicUrl;
    },
    system,
    rateLimiter,
    ownersOf: createOwnersOf({ keyCache, contents: context.contents, logger }),
  };
  const closing = new AbortController();

  requireTable(server);
  identify(server, deps);
  nameStages(server, deps.eventLoop);
  refuseInWords(server);
  if (deps.registry !== undefined) measureRequests(server, deps.registry);
  const bodies = deps.bodies ?? createBodyBudget();
  server.decorate('shared', { auth, bodies });
  readJsonBodies(server, bodies, `content:${context.system.uuid()}:`);
  answerErrors(server, logger, auth);
  const engagements = createEngagementRecorder(deps);
  const memberAddresses = createMemberAddresses({ keyCache, contents: context.contents });
  const signInMail = createSignInMail(deps, { keyCache, addresses: memberAddresses });
  const refusals = createRefusalRecorder(deps);
  server.addHook('onResponse', (request, reply, done) => {
    refusals.note(request, reply);
    done();
  });
  const route = {
    server,
    deps,
    auth,
    engagements,
    signInMail,
    refusals,
    memberAddresses,
    largeAnswers: createLargeAnswers(),
    templates: createTemplateUses(deps),
    closing: closing.signal,
    operations: collectOperations(server),
  };
  // `sendMessageRoute` registers what clients call `sendMessage`.
  for (const [name, register] of Object.entries(REGISTRATIONS)) {
    register({ ...route, operationId: name.replace(/Route$/, '') });
  }

  server.addHook('onReady', () => keyCache.start());
  server.addHook('preClose', async () => closing.abort());
  server.addHook('onClose', () => signInMail.close().then(() => keyCache.close()));
  server.addHook('onClose', () => engagements.close());
  server.addHook('onClose', () => refusals.close());
  return server;
};
