import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { Logger } from '../../lib/async/async.ts';
import { type AuthContext, authenticateRequest, NOWHERE } from '../auth/authenticate.ts';
import { vendorError, vendorOf } from '../compat/vendors.ts';
import { isNamedElsewhere, methodsOf } from '../route-table.ts';
import { type ErrorAnswer, errorAnswer, refusalAnswer } from './error-response.ts';

/**
 * Handles what Node would refuse without a body: a missing `Host` header (RFC 9112 §3.2) is a JSON error, an unknown
 * expectation (RFC 9110 §10.1.1) is ignored. Needs a server with `requireHostHeader: false`.
 */
export const refuseInWords = (server: FastifyInstance): void => {
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  server.addHook('onRequest', ({ raw, headers }, _reply, done) => {
    const lacksHost = raw.httpVersion === '1.1' && headers.host === undefined;
    done(lacksHost ? new DomainError('invalid_request', 'the Host header is missing') : undefined);
  });
};

/** Sets status and headers and logs a fault. @returns the response body. */
export const beginErrorAnswer = (
  logger: Logger,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): ErrorAnswer['body'] => {
  const { status, body, fault } = errorAnswer(error);
  if (fault)
    logger.error(
      { error, requestId: request.id, method: request.method, url: request.routeOptions.url },
      'a request failed',
    );
  if (body.error.retry_after !== undefined) reply.header('retry-after', body.error.retry_after);
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  reply.code(status);
  request.refusal = body.error;
  return body;
};

/** Answers an error as JSON: in the shape of the vendor whose client asks, or in ours. */
export const sendError =
  (logger: Logger) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const body = beginErrorAnswer(logger, error, request, reply);
    const vendor = vendorOf(request.url);
    if (vendor === null) return reply.send(body);
    const answer = vendorError(vendor, body);
    return reply.code(answer.status).send(answer.body);
  };

const nothingAt = (path: string, method: string): string => {
  const vendor = vendorOf(path);
  if (vendor === null) return 'there is no such path';
  return `${method} is not offered at this path to clients of ${vendor}: docs/migrating-from-${vendor}.md lists what is`;
};

/** Refuses an unknown path or method. Under `/v1` the request must be authenticated first. */
const refuseUnknown = async (auth: AuthContext, request: FastifyRequest, reply: FastifyReply): Promise<never> => {
  const [path = ''] = request.url.split('?');
  if (path === '/v1' || path.startsWith('/v1/')) await authenticateRequest(auth, NOWHERE, request, reply);
  const methods = methodsOf(path);
  // Not registered by this process although in the table: 404.
  if (methods.length === 0 || methods.includes(request.method === 'HEAD' ? 'GET' : request.method))
    throw new DomainError('not_found', nothingAt(path, request.method));
  reply.header('allow', methods.join(', '));
  throw new DomainError('method_not_allowed', `${path} takes ${methods.join(', ')}`);
};

export const answerErrors = (server: FastifyInstance, logger: Logger, auth: AuthContext): void => {
  server.setErrorHandler(sendError(logger));
  // Before the body is read: problems of the body do not matter for an unknown path.
  server.addHook('onRequest', (request, reply, done) => {
    const [path = ''] = request.url.split('?');
    if (request.is404 || isNamedElsewhere(path, request.routeOptions.url))
      refuseUnknown(auth, request, reply).catch(done);
    else done();
  });
};

/** Statuses of errors of Node's HTTP parser. */
const PARSER_STATUSES: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'the headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'the request did not arrive in time'],
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

/** Answers CONNECT, which Node would close silently. @param nextId makes the request id. */
export const answerTunnel =
  (nextId: () => string) =>
  (_request: unknown, socket: Duplex): void => {
    socket.on('error', () => socket.destroy());
    const refusal = new DomainError('method_not_allowed', 'no path takes CONNECT');
    endWith(socket, '405 Method Not Allowed\r\nAllow: ', { refusal, id: nextId() });
  };

/**
 * How long what a client still writes is read and thrown away. Closed before, its own system would throw away the answer
 * that it has not read (RFC 9112 §9.6). Longer holds connections of clients that never stop.
 */
const LINGER_MS = 5_000;

/** Answers what the HTTP parser rejects, if the socket is still writable. @param nextId makes the request id. */
export const answerUnparsable =
  (nextId: () => string) =>
  (error: Error & { readonly code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return void socket.destroy();
    if (!socket.writable) return; // it has its answer, and this is more of the same
    const [status, reason, message] = PARSER_STATUSES[error.code ?? ''] ?? [
      400,
      'Bad Request',
      'the request is not HTTP',
    ];
    endWith(socket, `${status} ${reason}`, { refusal: new DomainError('invalid_request', message), id: nextId() });
    const lingering = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(lingering));
  };
