import { createServer as createHttpServer, type Server, type ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { createTemplateUses } from '../commands/template/use-template.ts';
import { clientNetworkOf, isWithin, parseRange } from '../domain/kernel/addresses.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import type { Logger } from '../lib/async/async.ts';
import {
  type BodyBudget,
  boundHttpConnections,
  connectionsMax,
  createBodyBudget,
  FORM_TYPES,
  inCohorts,
  oneAtATime,
  UNAUTHENTICATED_PER_NETWORK_MAX,
} from '../lib/http/http.ts';
import { type AuthContext, authenticateRequest, UNKNOWN_ROUTE } from './auth/authenticate.ts';
import { createKeyCache, createSessionActivity } from './auth/key-cache.ts';
import { createCatchUpLimit, createLargeAnswers, createOpenRequests } from './auth/limits.ts';
import { createOwnersOf } from './auth/permissions.ts';
import { createRequestBodies } from './bodies.ts';
import { CHALLENGES, compatUrl, unsupportedCall, vendorError, vendorOf } from './compat/vendors.ts';
import type { HttpDependencies } from './dependencies.ts';
import { type Operation, type RouteContext, workOf } from './endpoint.ts';
import { createEngagementRecorder } from './engagement-recorder.ts';
import { beginErrorAnswer, refusalAnswer } from './errors.ts';
import { requestDurations } from './metrics.ts';
import { sendErrorPage } from './pages/page.ts';
import { createListReadings } from './readings.ts';
import { createRefusalRecorder } from './refused-requests/refusal-recorder.ts';
import { isNamedElsewhere, isPage, isRouteName, methodsOf, similarPath } from './route-table.ts';
import { REGISTRATIONS } from './routes.ts';
import { createMemberAddresses, createSignInMail } from './sign-in-mail.ts';

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

/**
 * Builds the API, ready to listen or for `inject`. It follows the log from `ready()` until `close()`, which waits for
 * the requests in flight. The dependencies stay open.
 */
export const buildServer = async (deps: HttpDependencies): Promise<FastifyInstance> => {
  const { context, keyStore, logger, usageMarks, rateLimiter, registry, eventLoop } = deps;
  const { store, system, capturing } = context;
  const nextId = (): string => `req_${system.uuid().replaceAll('-', '')}`;
  const server = createServer(deps, nextId);
  const max = connectionsMax(deps.descriptors ?? Number.POSITIVE_INFINITY);
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
  const budget = deps.bodies ?? createBodyBudget();
  server.decorate('shared', { auth, bodies: budget });
  decorateRequests(server);

  // 1. A connection is admitted. `createServer` runs its requests one at a time and in cohorts.
  const trusted = deps.trustedProxies.map(parseRange).filter((range) => range !== null);
  const connections = boundHttpConnections(server.server, {
    max,
    perNetwork: UNAUTHENTICATED_PER_NETWORK_MAX,
    networkOf: clientNetworkOf,
    isTrusted: (address) => isWithin(trusted, address),
  });

  // 3. A request gets its id.
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
    // No protocol upgrade is supported, and after such a request Node serves no other on its connection.
    if (request.headers.upgrade !== undefined) reply.header('connection', 'close');
    done(lacksHost(request) ? new DomainError('invalid_request', 'the Host header is missing') : undefined);
  });
  if (eventLoop !== undefined) nameStages(server, eventLoop);

  // 4. Its path is known, and its key may use it.
  server.addHook('onRequest', (request, reply, done) => {
    const access = checkAccess(auth, request, reply);
    if (access === null) done();
    else access.then(() => done(), done);
  });

  // 5. It takes a place in the share of its organization.
  const openRequests = createOpenRequests(max);
  server.addHook('preParsing', ({ caller, raw }, reply, _payload, done) => {
    if (caller === null) return done();
    connections.authenticated(raw.socket);
    done(openRequests.begin(caller.organizationId, reply));
  });

  // 6. Its body is read, if it is JSON, or a form where the route accepts one; no other is.
  const bodies = createRequestBodies(budget, `content:${system.uuid()}:`);
  server.addHook('onRequest', (request, reply, done) => {
    bodies.releaseAtEnd(request, reply);
    done();
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(['application/json', ...FORM_TYPES], bodies.parse);

  // 7. A route handles it, and 8. answers it: `endpoint.ts`. Errors are answered here.
  server.setErrorHandler(sendError(logger));

  // 9. It was answered.
  const refusals = createRefusalRecorder(deps);
  const observe = registry === undefined ? undefined : requestDurations(registry);
  server.addHook('onResponse', (request, reply, done) => {
    observe?.(request, reply);
    logAnswer(logger, request, reply);
    refusals.note(request, reply);
    done();
  });

  const closing = new AbortController();
  const engagements = createEngagementRecorder(deps);
  const memberAddresses = createMemberAddresses({ keyCache, contents: context.contents });
  const signInMail = createSignInMail(deps, { keyCache, addresses: memberAddresses });
  registerRoutes({
    server,
    deps,
    auth,
    engagements,
    signInMail,
    refusals,
    memberAddresses,
    largeAnswers: createLargeAnswers(),
    listReadings: createListReadings(deps),
    templates: createTemplateUses(deps),
    closing: closing.signal,
  });

  server.addHook('onReady', () => keyCache.start());
  server.addHook('preClose', async () => closing.abort());
  server.addHook('onClose', () => signInMail.close().then(() => keyCache.close()));
  server.addHook('onClose', () => engagements.close());
  server.addHook('onClose', () => refusals.close());
  return server;
};

/**
 * A client that has closed its side behind a request is answered all the same: otherwise it would never know what was
 * accepted. Node has the switch, but no type for it.
 */
const answerHalfClosed = (server: Server): Server => Object.assign(server, { httpAllowHalfOpen: true });

/** Steps 1 and 2, and answers for clients that do not speak HTTP. @param nextId makes the id of a request. */
const createServer = ({ logger, trustedProxies }: HttpDependencies, nextId: () => string): FastifyInstance => {
  const server = Fastify({
    logger: false,
    genReqId: nextId,
    rewriteUrl: ({ url = '/' }) => compatUrl(url),
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
  // Node would answer an unknown expectation without a body (RFC 9110 §10.1.1): it is ignored.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  return server;
};

/** Every property that a step adds to a request: V8 is faster if all requests have the same shape. */
const decorateRequests = (server: FastifyInstance): void => {
  server.decorateRequest('caller', null);
  server.decorateRequest('authenticated', null);
  server.decorateRequest('overLimit', null);
  server.decorateRequest('isLate', false);
  server.decorateRequest('refusal', null);
  server.decorateRequest('refusedCaller', null);
  server.decorateRequest('bodyRefusal', null);
  server.decorateRequest('bodyReservation', null);
  server.decorateRequest('sentJson', null);
};

/** RFC 9112 §3.2. Node would refuse it without a body, so the server has `requireHostHeader: false`. */
const lacksHost = ({ raw, headers }: FastifyRequest): boolean =>
  raw.httpVersion === '1.1' && headers.host === undefined;

/** Reports the request at each stage that may block the event loop; `endpoint.ts` reports those of the handler. */
const nameStages = (server: FastifyInstance, eventLoop: NonNullable<HttpDependencies['eventLoop']>): void => {
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

/** @returns null: the route needs no key. An answer from memory costs no turn of the event loop. */
const checkAccess = (auth: AuthContext, request: FastifyRequest, reply: FastifyReply): Promise<void> | null => {
  const { config, url } = request.routeOptions;
  const [path = ''] = request.url.split('?');
  if (request.is404 || isNamedElsewhere(path, url)) return refuseUnknown(auth, path, request, reply);
  return config.rule === undefined ? null : authenticateRequest(auth, config.rule, request, reply);
};

/** Clients may send long paths. */
const SHOWN_CHARACTERS_MAX = 100;

const nothingAt = (path: string, method: string): string => {
  const shown = path.length > SHOWN_CHARACTERS_MAX ? `${path.slice(0, SHOWN_CHARACTERS_MAX)}…` : path;
  const vendor = vendorOf(path);
  if (vendor !== null) return unsupportedCall(vendor, method, shown);
  const similar = similarPath(path);
  return `no such endpoint: ${method} ${shown}${similar === undefined ? '' : `. Did you mean ${similar}?`}`;
};

/** Refuses an unknown path or method. Under `/v1` the request must be authenticated first. */
const refuseUnknown = async (
  auth: AuthContext,
  path: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<never> => {
  if (path === '/v1' || path.startsWith('/v1/')) await authenticateRequest(auth, UNKNOWN_ROUTE, request, reply);
  const methods = methodsOf(path);
  // Not registered by this process although in the table: 404.
  if (methods.length === 0 || methods.includes(request.method === 'HEAD' ? 'GET' : request.method))
    throw new DomainError('not_found', nothingAt(path, request.method));
  reply.header('allow', methods.join(', '));
  throw new DomainError('method_not_allowed', `${path} accepts ${methods.join(', ')}`);
};

/** Answers an error as JSON: in the shape of the vendor whose client asks, or in ours. */
const sendError =
  (logger: Logger) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const body = beginErrorAnswer(logger, error, request, reply);
    const vendor = vendorOf(request.url);
    if (vendor === null) return reply.send(body);
    const answer = vendorError(vendor, body);
    const challenge = CHALLENGES[vendor];
    if (answer.status === 401 && challenge !== undefined) reply.header('www-authenticate', challenge);
    return reply.code(answer.status).send(answer.body);
  };

const logAnswer = (logger: Logger, request: FastifyRequest, reply: FastifyReply): void => {
  const { id: requestId, method, caller } = request;
  const { url: route, config } = request.routeOptions;
  const clientAddress = config.anonymous === true ? undefined : request.ip;
  const tookMs = Math.round(reply.elapsedTime);
  logger.debug(
    { requestId, method, route, status: reply.statusCode, tookMs, keyId: caller?.keyId, clientAddress },
    'answered',
  );
};

/** Registers every route of `routes.ts`. Refuses to start with one that is not in the table: it would need no key. */
const registerRoutes = (route: Omit<RouteContext, 'operations' | 'operationId' | 'performers'>): void => {
  const { server } = route;
  const operations: Operation[] = [];
  const performers: RouteContext['performers'] = new Map();
  server.addHook('onRoute', ({ method, url, schema }) => {
    // Fastify adds HEAD to every GET: the same operation without its body.
    const methods = [method].flat().filter((name) => name !== 'HEAD');
    for (const name of methods) {
      if (!isRouteName(`${name} ${url}`)) throw new Error(`route ${name} ${url} is not in the route table`);
    }
    if (methods.length > 0 && schema?.operation !== undefined) operations.push(schema.operation);
  });
  // `sendMessageRoute` registers what clients call `sendMessage`.
  for (const [name, register] of Object.entries(REGISTRATIONS)) {
    register({ ...route, operations, performers, operationId: name.replace(/Route$/, '') });
  }
};

/** Statuses of errors of Node's HTTP parser. */
const PARSER_STATUSES: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [
    431,
    'Request Header Fields Too Large',
    'the request headers are too large: at most 16 kB are accepted',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'the request did not arrive within a minute'],
};

/**
 * Answers on the raw socket and closes it, where there is no Fastify request.
 * @param head status and further headers.
 */
const endWith = (socket: Duplex, head: string, { refusal, id }: { refusal: DomainError; id: string }): void => {
  const body = JSON.stringify(refusalAnswer(refusal).body);
  socket.end(
    `HTTP/1.1 ${head}\r\nConnection: close\r\nX-Request-Id: ${id}\r\nX-Content-Type-Options: nosniff\r\n` +
      `Content-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
};

/** Answers CONNECT, which Node would close silently. */
const answerTunnel =
  (nextId: () => string) =>
  (_request: unknown, socket: Duplex): void => {
    socket.on('error', () => socket.destroy());
    const refusal = new DomainError('method_not_allowed', 'CONNECT is not supported');
    endWith(socket, '405 Method Not Allowed\r\nAllow: ', { refusal, id: nextId() });
  };

/**
 * How long what a client still writes is read and thrown away. Closed before, its own system would throw away the answer
 * that it has not read (RFC 9112 §9.6). Longer holds connections of clients that never stop.
 */
const LINGER_MS = 5_000;

/** Answers what the HTTP parser rejects, if the socket is still writable. */
const answerUnparsable =
  (nextId: () => string) =>
  (error: Error & { readonly code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return void socket.destroy();
    if (!socket.writable) return; // it has its answer, and this is more of the same
    const [status, reason, message] = PARSER_STATUSES[error.code ?? ''] ?? [
      400,
      'Bad Request',
      'the request is not valid HTTP',
    ];
    endWith(socket, `${status} ${reason}`, { refusal: new DomainError('invalid_request', message), id: nextId() });
    const lingering = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(lingering));
  };
