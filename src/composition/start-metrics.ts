import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Config } from '../config.ts';
import { createMetricsServer } from '../http/metrics.ts';
import type { Backlog } from '../projections/deliveries/queries.ts';
import { createReadModels } from '../projections/read-models.ts';
import type { DeliveryMetrics, DeliveryOutcome } from '../workers/delivery/claim.ts';
import { version } from './instances.ts';
import { listenRefused } from './lifecycle.ts';
import type { Engines } from './open-engines.ts';

/**
 * Serves metrics on their own port, in every role, when `METRICS_PORT` is set.
 * @throws {StartRefused} the address cannot be listened on.
 * @returns the registry; undefined: no metrics.
 */
export const startMetrics = async (
  { metricsPort, metricsHost: host }: Config,
  engines: Engines,
): Promise<Registry | undefined> => {
  if (metricsPort === undefined) return undefined;
  const { pool, store, system, logger, closers } = engines;
  const { lag, deliveries, audit } = createReadModels({ pool, store, system });
  const registry = new Registry();
  measureBacklog(registry, deliveries.backlog);
  measureDisputes(registry, audit.disputed);
  measureForeign(registry, async () => (await audit.foreign(FOREIGN_MAX)).length);
  measureMissingContents(registry, engines.missingContents);
  const server = createMetricsServer({ registry, lag, version: await version() }).listen(metricsPort, host);
  await once(server, 'listening').catch((error: unknown) => {
    throw listenRefused(error, { host, port: metricsPort, variable: 'METRICS_PORT' });
  });
  closers.add('metrics', async () => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  logger.info({ port }, 'serving metrics');
  return registry;
};

const measureDisputes = (registry: Registry, trees: () => Promise<number>): void => {
  new Gauge({
    name: 'outbox_audit_logs_disputed',
    help: 'Audit logs that are not signed because a witness has seen another history',
    registers: [registry],
    async collect() {
      this.set(await trees());
    },
  });
};

/** The number matters less than that it is not 0. */
const FOREIGN_MAX = 1_000;

const measureForeign = (registry: Registry, trees: () => Promise<number>): void => {
  new Gauge({
    name: 'outbox_audit_logs_foreign',
    help: 'Audit logs that are not signed because they have an event that this service did not write',
    registers: [registry],
    async collect() {
      this.set(await trees());
    },
  });
};

const measureMissingContents = (registry: Registry, total: () => number): void => {
  new Counter({
    name: 'outbox_contents_missing_total',
    help: 'Reads of contents that are missing although they have not expired',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(total());
    },
  });
};

/** Counts contents that expired by retention. */
export const measureExpiry = (registry: Registry | undefined): ((contents: number) => void) | undefined => {
  if (registry === undefined) return undefined;
  const counter = new Counter({
    name: 'outbox_contents_expired_total',
    help: 'Contents that were removed when their retention ended',
    registers: [registry],
  });
  return (contents) => counter.inc(contents);
};

/** Shows what the last check of the audit trees by this process found. */
export const measureAuditFaults = (registry: Registry | undefined): ((faults: number) => void) | undefined => {
  if (registry === undefined) return undefined;
  const gauge = new Gauge({
    name: 'outbox_audit_faults',
    help: 'Faults that the last nightly check of the audit trees found; 0 before the first',
    registers: [registry],
  });
  return (faults) => gauge.set(faults);
};

export const measureBillingStopped = (
  registry: Registry | undefined,
): ((organizations: number) => void) | undefined => {
  if (registry === undefined) return undefined;
  const gauge = new Gauge({
    name: 'outbox_billing_stopped_organizations',
    help: 'Organizations that are not invoiced because the read model of billing differs from the log',
    registers: [registry],
  });
  return (organizations) => gauge.set(organizations);
};

/** Overlapping calls share one query, so that all figures of a scrape agree. */
const sharing = (look: () => Promise<Backlog>): (() => Promise<Backlog>) => {
  let looking: Promise<Backlog> | undefined;
  return () => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  };
};

/** Registers the backlog of the whole service, read at each scrape: the same in every process. */
export const measureBacklog = (registry: Registry, look: () => Promise<Backlog>): void => {
  const backlog = sharing(look);
  const registers = [registry];
  new Gauge({
    name: 'outbox_deliveries_waiting',
    help: 'Messages that wait for delivery, once per recipient domain, by reason',
    labelNames: ['reason'],
    registers,
    async collect() {
      const { waiting } = await backlog();
      for (const [reason, count] of Object.entries(waiting)) this.set({ reason }, count);
    },
  });
  new Gauge({
    name: 'outbox_deliveries_oldest_due_age_seconds',
    help: 'Time since the oldest due delivery became due',
    registers,
    async collect() {
      this.set((await backlog()).oldestDueSeconds);
    },
  });
  new Gauge({
    name: 'outbox_destinations_suspended',
    help: 'Mailbox providers whose deliveries are suspended',
    registers,
    async collect() {
      this.set((await backlog()).suspendedDestinations);
    },
  });
};

/** Every outcome starts at 0, so that alerts can refer to one that has not happened yet. */
const OUTCOMES: Readonly<Record<DeliveryOutcome, true>> = {
  delivered: true,
  deferred: true,
  bounced: true,
  unknown: true,
  suppressed: true,
  cancelled: true,
  failed: true,
  expired: true,
};

/** From a server on this machine to the longest time-out. */
const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 240];
const MS_PER_SECOND = 1000;

/**
 * Counts delivery outcomes of this process. @param sessions open with mail servers.
 * @returns undefined: no metrics.
 */
export const measureDeliveries = (
  registry: Registry | undefined,
  sessions: () => number,
): DeliveryMetrics | undefined => {
  if (registry === undefined) return undefined;
  const registers = [registry];
  const recipients = new Counter({
    name: 'outbox_delivery_recipients_total',
    help: 'Recipients of live mail by outcome of an attempt',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of Object.keys(OUTCOMES)) recipients.inc({ outcome }, 0);
  const seconds = new Histogram({
    name: 'outbox_delivery_attempt_duration_seconds',
    help: 'Duration of a delivery attempt, including the wait for a session',
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
