import type { FastifyInstance, FastifyReply } from 'fastify';
import { type AnswerCheck, answerCheck } from '../../support/openapi/answer-check.ts';
import { readOpenApi } from '../../support/openapi/document.ts';

const DOCUMENT = '/openapi.json';

const headersOf = (reply: FastifyReply) => ({
  get: (name: string): string | null => {
    const value = reply.getHeader(name);
    return value === undefined ? null : String(value);
  },
});

/**
 * Of the first server with an inbox, and of the first without: otherwise all have the same routes, and making and compiling
 * a document takes as long as hundreds of tests.
 */
const loaded = new Map<boolean, Promise<AnswerCheck>>();

const load = (server: FastifyInstance): Promise<AnswerCheck> => {
  const hasInbox = server.hasRoute({ method: 'GET', url: '/v1/inbox' });
  const known = loaded.get(hasInbox);
  if (known !== undefined) return known;
  const made = server.inject(DOCUMENT).then((answer) => answerCheck(readOpenApi(answer.json())));
  loaded.set(hasInbox, made);
  return made;
};

/**
 * From now on every JSON answer of this server is held against the OpenAPI document: the status, the code, the
 * headers and the body. One that is not as described becomes a 500 that says so, and so fails the test that asked.
 */
export const recordAnswers = (server: FastifyInstance): void => {
  server.addHook('onSend', async (request, reply, payload) => {
    const isJson = String(reply.getHeader('content-type') ?? '').startsWith('application/json');
    if (typeof payload !== 'string' || !isJson || request.url === DOCUMENT) return payload;
    const { method, url: path } = request;
    const answer = { method, path, status: reply.statusCode, headers: headersOf(reply), text: payload };
    const problems = (await load(server))(answer);
    if (problems.length === 0) return payload;
    const undescribed = `${method} ${request.routeOptions.url} ${reply.statusCode}: ${problems.join('; ')}`;
    reply.code(500);
    return JSON.stringify({ undescribed, payload });
  });
};
