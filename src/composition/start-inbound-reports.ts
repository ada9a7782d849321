import { Counter, type Registry } from 'prom-client';
import { createInboundReportReader } from '../adapters/inbound-reports/inbound-report-reader.ts';
import { createPostmaster, type Postmaster } from '../adapters/inbound-reports/postmaster.ts';
import { createInboundReportTask } from '../adapters/inbound-reports/receive-inbound-reports.ts';
import type { Config } from '../config.ts';
import { clientNetworkOf } from '../domain/kernel/addresses.ts';
import type { MailTransport } from '../domain/ports/mail-transport.ts';
import { startSmtpListener } from '../lib/smtp/smtp.ts';
import {
  createTakeInboundReport,
  RETURNED_OUTCOMES,
  type ReturnedOutcome,
} from '../workers/inbound-reports/take-inbound-report.ts';
import { listenRefused } from './lifecycle.ts';
import type { Engines } from './open-engines.ts';
import { followRenewals, readTls } from './tls-files.ts';

export interface InboundReportParts {
  /** Transport of live mail, which forwards mail to the postmaster. */
  readonly transport: MailTransport;
  /** Absent: no metrics. */
  readonly registry?: Registry | undefined;
}

/** Every outcome starts at 0, so that alerts can refer to one that has not happened yet. */
const counterIn = (registry: Registry | undefined): ((outcome: ReturnedOutcome) => void) => {
  if (registry === undefined) return () => undefined;
  const counter = new Counter({
    name: 'outbox_inbound_reports_total',
    help: 'Inbound reports by outcome',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of RETURNED_OUTCOMES) counter.inc({ outcome }, 0);
  return (outcome) => counter.inc({ outcome });
};

/**
 * Receives bounces and complaints when `BOUNCE_DOMAIN` is set.
 * @throws {StartRefused} the certificate cannot be used, or the address cannot be listened on.
 */
export const startInboundReport = async (
  { bounceDomain, bouncePort, postmaster, host, tlsFiles }: Config,
  { context, system, logger, closers }: Engines,
  { transport, registry }: InboundReportParts,
): Promise<void> => {
  if (bounceDomain === undefined) return;
  const tls = await readTls(tlsFiles);
  const reader = closers.keep('inbound report reader', createInboundReportReader());
  const count = counterIn(registry);
  const take = createTakeInboundReport({ context, system, logger, count });
  const passing = (address: string): Postmaster => {
    const { pass } = createPostmaster({ domain: bounceDomain, address, transport, system, logger });
    return { pass: (raw, from) => pass(raw, from).then(() => count('postmaster')) };
  };
  const task = createInboundReportTask({
    domain: bounceDomain,
    take,
    reader,
    logger,
    postmaster: postmaster === undefined ? undefined : passing(postmaster),
  });
  const listener = await startSmtpListener(task, {
    host,
    port: bouncePort,
    tls,
    networkOf: clientNetworkOf,
    logger,
  }).catch((error: unknown) => {
    throw listenRefused(error, { host, port: bouncePort, variable: 'BOUNCE_PORT' });
  });
  closers.add('inbound report listener', listener.close);
  const endRenewals = followRenewals({ tlsFiles, logger }, listener.useTls);
  closers.add('certificate renewal of the inbound report listener', async () => endRenewals());
  logger.info({ port: listener.port }, 'receiving bounces and complaints');
};
