import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/domain-error.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import { type AuthContext, authenticateRequest, NOWHERE } from '../auth/authenticate.ts';
import { isNamedElsewhere, methodsOf } from '../route-paths.ts';
import { type ErrorAnswer, errorAnswer, refusalAnswer } from './error-response.ts';

/**
 * What Node would refuse by itself and without a word: a request without `Host` (RFC 9112 §3.2) is refused in our
 * words, an expectation that nobody knows (RFC 9110 §10.1.1) is not minded. The server is made with `requireHostHeader:
 * false`.
 */
export const refuseInWords = (server: FastifyInstance): void => {
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  server.addHook('onRequest', ({ raw, headers }, _reply, done) => {
    const lacksHost = raw.httpVersion === '1.1' && headers.host === undefined;
    done(lacksHost ? new DomainError('invalid_request', 'the Host header is missing') : undefined);
  });
};

/** Logs what is nobody's fault but ours, and sets status and headers. @returns the body that says why. */
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
  return body;
};

/** Answers an error in the one shape there is for programs. */
export const sendError =
  (logger: Logger) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    reply.send(beginErrorAnswer(logger, error, request, reply));

/** A path or method that is not there; under `/v1` only who has a key is told which of the two. */
const refuseUnknown = async (auth: AuthContext, request: FastifyRequest, reply: FastifyReply): Promise<never> => {
  const [path = ''] = request.url.split('?');
  if (path === '/v1' || path.startsWith('/v1/')) await authenticateRequest(auth, NOWHERE, request, reply);
  const methods = methodsOf(path);
  // A route of the table that this process has not registered was not found with its own method.
  if (methods.length === 0 || methods.includes(request.method === 'HEAD' ? 'GET' : request.method))
    throw new DomainError('not_found', 'there is no such path');
  reply.header('allow', methods.join(', '));
  throw new DomainError('method_not_allowed', `${path} takes ${methods.join(', ')}`);
};

export const answerErrors = (server: FastifyInstance, logger: Logger, auth: AuthContext): void => {
  server.setErrorHandler(sendError(logger));
  // Before the body is read: what is wrong with it is not for whoever asks for nothing that is there.
  server.addHook('onRequest', (request, reply, done) => {
    const [path = ''] = request.url.split('?');
    if (request.is404 || isNamedElsewhere(path, request.routeOptions.url))
      refuseUnknown(auth, request, reply).catch(done);
    else done();
  });
};

/** Statuses of what Node's parser refuses before there is a request. */
const PARSER_STATUSES: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'the headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'the request did not arrive in time'],
};

/** Ends a connection with an answer to what never became a request of Fastify's. @param head status, further headers. */
const endWith = (socket: Duplex, head: string, { refusal, id }: { refusal: DomainError; id: string }): void => {
  const body = JSON.stringify(refusalAnswer(refusal).body);
  socket.end(
    `HTTP/1.1 ${head}\r\nConnection: close\r\nX-Request-Id: ${id}\r\nX-Content-Type-Options: nosniff\r\n` +
      `Content-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
};

/** A CONNECT, which Node would end without a word. @param nextId of what would be a request. */
export const answerTunnel =
  (nextId: () => string) =>
  (_request: unknown, socket: Duplex): void => {
    socket.on('error', () => socket.destroy());
    const refusal = new DomainError('method_not_allowed', 'no path takes CONNECT');
    endWith(socket, '405 Method Not Allowed\r\nAllow: ', { refusal, id: nextId() });
  };

/** What is no HTTP at all is answered too, as long as somebody listens. @param nextId of what would be a request. */
export const answerUnparsable =
  (nextId: () => string) =>
  (error: Error & { readonly code?: string }, socket: Socket): void => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const [status, reason, message] = PARSER_STATUSES[error.code ?? ''] ?? [
      400,
      'Bad Request',
      'the request is not HTTP',
    ];
    endWith(socket, `${status} ${reason}`, { refusal: new DomainError('invalid_request', message), id: nextId() });
  };
