import type { FastifyInstance } from 'fastify';
import { Histogram, type Registry } from 'prom-client';

/** From what a send takes to what a long poll does. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30];
const MS_PER_SECOND = 1000;

/** Times of answers by route and status; never by path, which names customers' things. */
export const measureRequests = (server: FastifyInstance, registry: Registry): void => {
  const seconds = new Histogram({
    ...{ name: 'outbox_http_request_seconds', help: 'Time from a request to its answer' },
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  });
  server.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request;
    const labels = { method, route: routeOptions.url ?? 'unknown', status: String(reply.statusCode) };
    seconds.observe(labels, reply.elapsedTime / MS_PER_SECOND);
    done();
  });
};
