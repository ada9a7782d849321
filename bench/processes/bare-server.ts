import { createHmac, timingSafeEqual } from 'node:crypto';
import Fastify from 'fastify';
import { z } from 'zod';
import { serveParent } from '../harness/serve-parent.ts';

export interface BareServer {
  /** The key of every request. */
  readonly key: string;
}

const PEPPER = 'an HMAC costs the same with any secret';

const text = z.string().min(1).max(1_000_000);
const body = z.strictObject({
  from: text,
  to: text,
  subject: text,
  html: text,
  tags: z.array(z.strictObject({ name: text, value: text })),
});

const hashOf = (key: string): Buffer => createHmac('sha256', PEPPER).update(key).digest();

/**
 * The minimum work of a JavaScript server for a send: plain Fastify, validation of the body with zod, and an HMAC of
 * the key. It stores nothing and checks neither addresses nor HTML.
 */
await serveParent(async ({ key }: BareServer) => {
  const known = hashOf(key);
  const server = Fastify({ logger: false });
  server.post('/v1/messages/send', (request, reply) => {
    const presented = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (!timingSafeEqual(hashOf(presented), known)) return reply.code(401).send({ error: 'unauthorized' });
    const read = body.safeParse(request.body);
    if (!read.success) return reply.code(400).send({ error: 'invalid_request' });
    return reply.code(202).send({ id: `msg_${request.id}`, status: 'queued', to: [read.data.to] });
  });
  const baseUrl = await server.listen({ host: '127.0.0.1', port: 0 });
  return { facts: { baseUrl }, answers: {}, close: () => server.close() };
});
