import swagger from '@fastify/swagger';
import Fastify, { type FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { BODIES_IN_FLIGHT_BYTES_MAX, createBodyBudget } from './bodies/body-budget.ts';
import { readJsonBodies } from './bodies/json-bodies.ts';
import type { HttpDependencies } from './dependencies.ts';
import type { DoorTools } from './door/door.ts';
import { createFailureCount } from './door/failure-count.ts';
import { createKeyDirectory } from './door/key-directory.ts';
import { answerErrors, answerUnparsable, sendError } from './errors/answer-errors.ts';
import { measureRequests } from './request-metrics.ts';
import { isRouteName } from './route-table.ts';
import { REGISTRATIONS } from './routes.ts';

/** A request that takes longer to arrive comes from nobody who means it: 25 MB at 4 Mbit/s fit. */
const REQUEST_MS_MAX = 60_000;
const HEADERS_MS_MAX = 15_000;
/** Longer than most balancers keep theirs, so that it is not we who close a connection they use. */
const KEEP_ALIVE_MS = 72_000;
const PARAM_CHARACTERS_MAX = 100;

const DOCUMENT = {
  openapi: '3.1.0',
  info: {
    title: 'Outbox',
    version: '1',
    description: 'Sends mail. Every error is `{error: {message, code, details?, retry_after?}}`.',
  },
  components: {
    securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: '`ob_live_…` or `ob_test_…`' } },
  },
} as const;

/** A route that nobody has written into the table would be open to everybody: it does not start. */
const requireTable = (server: FastifyInstance): void => {
  server.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat().filter((name) => name !== 'HEAD')) {
      if (!isRouteName(`${one} ${url}`)) throw new Error(`route ${one} ${url} is not in the route table`);
    }
  });
};

const createServer = ({ context: { system }, logger, trustedProxies }: HttpDependencies): FastifyInstance => {
  const nextId = (): string => `req_${system.uuid().replaceAll('-', '')}`;
  return Fastify({
    logger: false,
    genReqId: nextId,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    requestTimeout: REQUEST_MS_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: { headersTimeout: HEADERS_MS_MAX },
    routerOptions: { maxParamLength: PARAM_CHARACTERS_MAX },
    // While it closes, what still arrives on open connections is served: each answer says `Connection: close`.
    return503OnClosing: false,
    clientErrorHandler: answerUnparsable(nextId),
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id);
      sendError(logger)(error, request, reply);
    },
  });
};

/** Every response names its request; whoever debugs sees one line each. */
const identify = (server: FastifyInstance, { logger }: HttpDependencies): void => {
  server.decorateRequest('caller', null);
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    const { id: requestId, method, caller } = request;
    logger.debug({ requestId, method, status: reply.statusCode, keyId: caller?.keyId }, 'answered');
    done();
  });
};

/**
 * The API, ready to listen or to be injected into. It follows the log from `ready()` on and stops at `close()`, which
 * waits for the answers in hand; the dependencies stay open.
 */
export const buildServer = async (deps: HttpDependencies): Promise<FastifyInstance> => {
  const { context, keyStore, logger, usageMarks, rateLimiter } = deps;
  const { store, system, capturing } = context;
  const server = createServer(deps);
  const directory = createKeyDirectory({ store: keyStore ?? store, system, logger, capturing });
  const door: DoorTools = { directory, failures: createFailureCount(system), usageMarks, system, rateLimiter };
  const closing = new AbortController();

  // Schemas say what is read and answered; `endpoint.ts` validates, so that all problems are told at once.
  server.setValidatorCompiler(() => () => true);
  server.setSerializerCompiler(() => JSON.stringify);
  requireTable(server);
  identify(server, deps);
  if (deps.registry !== undefined) measureRequests(server, deps.registry);
  readJsonBodies(server, createBodyBudget(BODIES_IN_FLIGHT_BYTES_MAX));
  answerErrors(server, logger, door);
  await server.register(swagger, {
    openapi: { ...DOCUMENT, servers: [{ url: deps.publicUrl }] },
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  });
  for (const register of REGISTRATIONS) register({ server, deps, door, closing: closing.signal });

  server.addHook('onReady', () => directory.start());
  server.addHook('preClose', async () => closing.abort());
  server.addHook('onClose', () => directory.close());
  return server;
};
