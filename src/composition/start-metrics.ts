import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Config } from '../config.ts';
import { createMetricsServer, readGauge } from '../http/metrics.ts';
import { shareCalls } from '../lib/async/async.ts';
import { createPool } from '../lib/postgres/postgres.ts';
import type { Backlog } from '../projections/deliveries/queries.ts';
import { createReadModels } from '../projections/read-models.ts';
import type { DeliveryMetrics, DeliveryOutcome } from '../workers/delivery/claim.ts';
import { version } from './instances.ts';
import { listenRefused } from './lifecycle.ts';
import { METRICS_POOL, measureProcess, measureService } from './measure-service.ts';
import type { Engines } from './open-engines.ts';

/**
 * Serves metrics on their own port, in every role, when `METRICS_PORT` is set.
 * @throws {StartRefused} the address cannot be listened on.
 * @returns the registry; undefined: no metrics.
 */
export const startMetrics = async (config: Config, engines: Engines): Promise<Registry | undefined> => {
  const { metricsPort, metricsHost: host } = config;
  if (metricsPort === undefined) return undefined;
  const { store, system, logger, closers } = engines;
  const pool = createPool({ url: engines.databaseUrl, logger, ...METRICS_POOL });
  closers.add('metrics pool', () => pool.end());
  const own = { ...engines, pool, context: { ...engines.context, ...engines.vaultOn(pool) } };
  const readModels = createReadModels({ pool, store, system });
  const { deliveries } = readModels;
  const registry = new Registry();
  measureBacklog(registry, deliveries.backlog);
  measureService(registry, { config, engines: own, readModels });
  measureProcess(registry, { config, engines, version: await version() });
  measureMissingContents(registry, engines.missingContents);
  const server = createMetricsServer({ registry, readModels, version: await version() }).listen(metricsPort, host);
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

/** Shows what the last check of the audit trees by this process found, how long it took, and what this process signs. */
export const measureAudit = (registry: Registry | undefined) => {
  if (registry === undefined) return undefined;
  const registers = [registry];
  const faults = new Gauge({
    name: 'outbox_audit_faults',
    help: 'Faults that the last nightly check of the audit trees found; 0 before the first',
    registers,
  });
  const duration = new Gauge({
    name: 'outbox_audit_check_duration_seconds',
    help: 'Duration of the last nightly check of the audit trees; 0 before the first',
    registers,
  });
  const signed = new Counter({
    name: 'outbox_audit_checkpoints_signed_total',
    help: 'Checkpoints of audit logs that were signed',
    registers,
  });
  return {
    onChecked: (found: number) => faults.set(found),
    took: (ms: number) => duration.set(ms / MS_PER_SECOND),
    onSigned: () => signed.inc(),
  };
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

/** Registers the backlog of the whole service, read at each scrape: the same in every process. */
export const measureBacklog = (registry: Registry, look: () => Promise<Backlog>): void => {
  const backlog = shareCalls(look);
  readGauge(registry, {
    name: 'outbox_deliveries_waiting',
    help: 'Messages that wait for delivery, once per recipient domain, by reason',
    labelNames: ['reason'],
    read: async () =>
      Object.entries((await backlog()).waiting).map(([reason, value]) => ({ labels: { reason }, value })),
  });
  readGauge(registry, {
    name: 'outbox_deliveries_oldest_due_age_seconds',
    help: 'Time since the oldest due delivery became due',
    read: async () => [{ value: (await backlog()).oldestDueSeconds }],
  });
  readGauge(registry, {
    name: 'outbox_destinations_suspended',
    help: 'Mailbox providers whose deliveries are suspended',
    read: async () => [{ value: (await backlog()).suspendedDestinations }],
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
 * Counts outcomes. Each starts at 0, so that alerts can refer to one that has not happened yet.
 * @param registry absent: no metrics.
 */
export const countOutcomes = <Outcome extends string>(
  registry: Registry | undefined,
  { outcomes, ...about }: { readonly name: string; readonly help: string; readonly outcomes: readonly Outcome[] },
): ((outcome: Outcome) => void) => {
  if (registry === undefined) return () => undefined;
  const counter = new Counter({ ...about, labelNames: ['outcome'], registers: [registry] });
  for (const outcome of outcomes) counter.inc({ outcome }, 0);
  return (outcome) => counter.inc({ outcome });
};

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
  const sources = new Counter({
    name: 'outbox_source_recipients_total',
    help: 'Recipients of live mail by the address that it was sent from and the outcome of an attempt',
    labelNames: ['source', 'outcome'],
    registers,
  });
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
    countSource: (source, outcome) => sources.inc({ source, outcome }),
    took: (ms) => seconds.observe(ms / MS_PER_SECOND),
  };
};
