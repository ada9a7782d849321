import type { FastifyInstance } from 'fastify';
import { DomainError } from '../../domain/domain-error.ts';

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
