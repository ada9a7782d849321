import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import type { Config } from '../config.ts';
import { createMetricsServer } from '../http/metrics.ts';
import { createReadModels } from '../projections/read-models.ts';
import { listenRefused } from './listen-refused.ts';
import { measureBacklog } from './measure-backlog.ts';
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
