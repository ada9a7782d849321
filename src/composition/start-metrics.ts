import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Config } from '../config.ts';
import { createMetricsServer } from '../http/metrics.ts';
import type { Backlog } from '../projections/deliveries/backlog.ts';
import { createReadModels } from '../projections/read-models.ts';
import type { DeliveryMetrics, DeliveryOutcome } from '../workers/delivery/attempt-log.ts';
import { listenRefused } from './listen.ts';
import type { Engines } from './open-engines.ts';

/**
 * Serves metrics on their own port, in every role, when `METRICS_PORT` is set.
 * @throws {StartRefused} the address cannot be listened on.
 * @returns where measures are to be registered; undefined: nobody looks.
 */
export const startMetrics = async (
  { metricsPort, metricsHost: host }: Config,
  engines: Engines,
): Promise<Registry | undefined> => {
  if (metricsPort === undefined) return undefined;
  const { pool, store, system, logger, closers } = engines;
  const { lag, deliveries } = createReadModels({ pool, store, system });
  const registry = new Registry();
  measureBacklog(registry, deliveries.backlog);
  const server = createMetricsServer({ registry, lag }).listen(metricsPort, host);
  await once(server, 'listening').catch((error: unknown) => {
    throw listenRefused(error, { host, port: metricsPort, variable: 'METRICS_PORT' });
  });
  closers.add('metrics', async () => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  logger.info({ port }, 'metrics are served');
  return registry;
};

/** All figures of one scrape are of one look, and scrapes that overlap share it. */
const sharing = (look: () => Promise<Backlog>): (() => Promise<Backlog>) => {
  let looking: Promise<Backlog> | undefined;
  return () => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  };
};

/** Shows what waits in all of the service, when it is asked for: the same in each process. */
export const measureBacklog = (registry: Registry, look: () => Promise<Backlog>): void => {
  const backlog = sharing(look);
  const registers = [registry];
  new Gauge({
    name: 'outbox_deliveries_waiting',
    help: 'Messages that wait, for each domain of theirs, by the reason',
    labelNames: ['reason'],
    registers,
    async collect() {
      const { waiting } = await backlog();
      for (const [reason, count] of Object.entries(waiting)) this.set({ reason }, count);
    },
  });
  new Gauge({
    name: 'outbox_deliveries_oldest_due_age_seconds',
    help: 'How long the oldest that is due has been so',
    registers,
    async collect() {
      this.set((await backlog()).oldestDueSeconds);
    },
  });
  new Gauge({
    name: 'outbox_destinations_suspended',
    help: 'Operators of mail servers that get nothing for a while',
    registers,
    async collect() {
      this.set((await backlog()).pausedDestinations);
    },
  });
};

/** Each is there from the start: what has never happened is 0, and can be alarmed about. */
const OUTCOMES: Readonly<Record<DeliveryOutcome, true>> = {
  delivered: true,
  deferred: true,
  bounced: true,
  unknown: true,
  suppressed: true,
  failed: true,
  expired: true,
};

/** From a server on this machine to one that takes all the time it is given. */
const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 240];
const MS_PER_SECOND = 1000;

/**
 * Counts what comes of mail in this process. @param sessions with mail servers now.
 * @returns undefined: nobody looks.
 */
export const measureDeliveries = (
  registry: Registry | undefined,
  sessions: () => number,
): DeliveryMetrics | undefined => {
  if (registry === undefined) return undefined;
  const registers = [registry];
  const recipients = new Counter({
    name: 'outbox_delivery_recipients_total',
    help: 'Recipients of live mail, by what an attempt came to',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of Object.keys(OUTCOMES)) recipients.inc({ outcome }, 0);
  const seconds = new Histogram({
    name: 'outbox_delivery_attempt_duration_seconds',
    help: 'Time of an attempt with a mail server, waits for a session included',
    buckets: BUCKETS_SECONDS,
    registers,
  });
  new Gauge({
    name: 'outbox_smtp_sessions',
    help: 'Sessions with mail servers, open or being opened',
    registers,
    collect() {
      this.set(sessions());
    },
  });
  return {
    count: (outcome) => recipients.inc({ outcome }),
    took: (ms) => seconds.observe(ms / MS_PER_SECOND),
  };
};
