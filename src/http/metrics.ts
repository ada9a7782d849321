import { createServer, type Server } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';
import { shareCalls, withTimeout } from '../lib/async/async.ts';
import type { ProjectionLag } from '../lib/projections/projections.ts';
import type { ReadModels } from '../projections/read-models.ts';

/** From a send to a long poll. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30];
const MS_PER_SECOND = 1000;

/** Duration of requests by route and status, never by path: paths hold ids. */
export const requestDurations = (registry: Registry): ((request: FastifyRequest, reply: FastifyReply) => void) => {
  const seconds = new Histogram({
    name: 'outbox_http_request_duration_seconds',
    help: 'Duration of requests',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  });
  return ({ method, routeOptions }, reply) => {
    const labels = { method, route: routeOptions.url ?? 'unknown', status: String(reply.statusCode) };
    seconds.observe(labels, reply.elapsedTime / MS_PER_SECOND);
  };
};

export interface MetricsServerOptions {
  readonly registry: Registry;
  readonly readModels: Pick<ReadModels, 'lag' | 'rebuilds'>;
  /** Version of this service. */
  readonly version: string;
}

/** Most collectors give up a scrape after 10 s. */
const SCRAPE_MS_MAX = 5_000;
/** Longer leaves a scrape without answer while the database is away. Shorter loses values of a database that is busy. */
const READ_MS_MAX = 2_000;

export interface MeasuredValue {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

interface ReadGauge {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  /** Called at each scrape. Empty: the service has no such value. */
  read(): Promise<readonly MeasuredValue[]>;
}

/** A gauge that is absent from a scrape if it cannot be read in time, so that the other metrics still arrive. */
export const readGauge = (registry: Registry, { read, labelNames = [], ...metric }: ReadGauge): void => {
  const gauge: Gauge = new Gauge({
    ...metric,
    labelNames: [...labelNames],
    registers: [registry],
    async collect() {
      const values = await withTimeout({ ms: READ_MS_MAX }, read()).catch(() => []);
      gauge.reset();
      // `reset` leaves 0 in a gauge without labels.
      if (labelNames.length === 0) gauge.remove();
      for (const { labels = {}, value } of values) gauge.set(labels, value);
    },
  });
};

interface LagMetric {
  readonly name: string;
  readonly help: string;
  read(lag: ProjectionLag): number;
}

const LAG_METRICS: readonly LagMetric[] = [
  {
    name: 'outbox_projection_lag_seconds',
    help: 'Age of the oldest event not yet in the read model',
    read: ({ seconds }) => seconds,
  },
  {
    name: 'outbox_projection_events_parked',
    help: 'Events that could not be applied to the read model',
    read: ({ parkedEvents }) => parkedEvents,
  },
];

const measureLag = (registry: Registry, lag: ReadModels['lag']): void => {
  const once = shareCalls(lag);
  for (const { read, ...metric } of LAG_METRICS) {
    readGauge(registry, {
      ...metric,
      labelNames: ['projection'],
      read: async () => (await once()).map((one) => ({ labels: { projection: one.name }, value: read(one) })),
    });
  }
};

/** Present only while a read model is being rebuilt, by whichever process. */
const measureRebuilds = (registry: Registry, rebuilds: ReadModels['rebuilds']): void => {
  readGauge(registry, {
    name: 'outbox_projection_rebuild_ratio',
    help: 'Part of the log in a read model that is being rebuilt',
    labelNames: ['projection'],
    read: async () => (await rebuilds()).map(({ name, part }) => ({ labels: { projection: name }, value: part })),
  });
};

/**
 * Serves `/metrics` and `/livez` in every role, on a port of its own that customers do not reach. Not listening yet.
 */
export const createMetricsServer = ({ registry, readModels, version }: MetricsServerOptions): Server => {
  collectDefaultMetrics({ register: registry });
  measureLag(registry, readModels.lag);
  measureRebuilds(registry, readModels.rebuilds);
  return createServer((request, response) => {
    response.setHeader('x-content-type-options', 'nosniff');
    if (request.url === '/livez') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ status: 'ok', version }));
      return;
    }
    if (request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    withTimeout({ ms: SCRAPE_MS_MAX }, registry.metrics()).then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(503, { 'retry-after': '1' }).end(),
    );
  });
};
