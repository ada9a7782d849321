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
 * Checks by the presence of an inbox. Servers have the same routes otherwise, and building and compiling a document
 * takes as long as hundreds of tests.
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
 * Checks every later JSON response of this server against the OpenAPI document: the status, the code, the headers and
 * the body. A response that does not conform is replaced by a 500 with the reason, which fails the test.
 */
export const recordAnswers = (server: FastifyInstance): void => {
  server.addHook('onSend', async (request, reply, payload) => {
    const isJson = String(reply.getHeader('content-type') ?? '').startsWith('application/json');
    if (typeof payload !== 'string' || !isJson || request.url === DOCUMENT) return payload;
    if (request.url.startsWith('/compat/')) return payload; // other services document these
    const { method, url: path } = request;
    const answer = { method, path, status: reply.statusCode, headers: headersOf(reply), text: payload };
    const problems = (await load(server))(answer);
    if (problems.length === 0) return payload;
    const undescribed = `${method} ${request.routeOptions.url} ${reply.statusCode}: ${problems.join('; ')}`;
    reply.code(500);
    return JSON.stringify({ undescribed, payload });
  });
};
