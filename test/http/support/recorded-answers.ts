import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';

/** What each route declares that it answers, by status. */
type Declared = Readonly<Record<string, unknown>>;

const schemaOf = (declared: Declared, status: number): z.ZodType | undefined => {
  const found = declared[String(status)];
  return found instanceof z.ZodType ? found : undefined;
};

/** Why an answer is not what its route declares; undefined: it is. */
const problemOf = (request: FastifyRequest, reply: FastifyReply, payload: string): string | undefined => {
  const schema = schemaOf((request.routeOptions.schema?.response ?? {}) as Declared, reply.statusCode);
  return schema === undefined ? 'is not declared' : schema.safeParse(JSON.parse(payload)).error?.message;
};

/**
 * From now on every JSON answer of this server is held against the schema that its route declares for the status; one
 * that does not fit becomes a 500 that says so, and so fails the test that asked.
 */
export const recordAnswers = (server: FastifyInstance): void => {
  server.addHook('onSend', async (request, reply, payload) => {
    const isJson = String(reply.getHeader('content-type') ?? '').startsWith('application/json');
    if (typeof payload !== 'string' || !isJson || request.is404) return payload;
    const problem = problemOf(request, reply, payload);
    if (problem === undefined) return payload;
    reply.code(500);
    return JSON.stringify({ undeclared: `${request.method} ${request.routeOptions.url}: ${problem}`, payload });
  });
};
