import { Counter, type Registry } from 'prom-client';
import { createInboundReportReader } from '../adapters/inbound-reports/inbound-report-reader.ts';
import { createPostmaster, type Postmaster } from '../adapters/inbound-reports/postmaster.ts';
import { createInboundReportTask } from '../adapters/inbound-reports/receive-inbound-reports.ts';
import { startSmtpListener } from '../adapters/smtp-listener/smtp-listener.ts';
import type { Config } from '../config.ts';
import { neighbourhoodOf } from '../domain/address-ranges.ts';
import type { MailTransport } from '../domain/ports/mail-transport.ts';
import {
  createTakeInboundReport,
  RETURNED_OUTCOMES,
  type ReturnedOutcome,
} from '../workers/inbound-reports/take-inbound-report.ts';
import { listenRefused } from './listen.ts';
import type { Engines } from './open-engines.ts';
import { followRenewals, readTls } from './tls-files.ts';

export interface InboundReportParts {
  /** Of live mail: what is written to the postmaster is passed on by it. */
  readonly transport: MailTransport;
  /** Absent: nobody looks. */
  readonly registry?: Registry | undefined;
}

/** Every outcome is there from the start: what has never happened is 0, and can be alarmed about. */
const counterIn = (registry: Registry | undefined): ((outcome: ReturnedOutcome) => void) => {
  if (registry === undefined) return () => undefined;
  const counter = new Counter({
    name: 'outbox_inbound_reports_total',
    help: 'Mail that came back, by what came of it',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of RETURNED_OUTCOMES) counter.inc({ outcome }, 0);
  return (outcome) => counter.inc({ outcome });
};

/**
 * Receives what comes back, when `BOUNCE_DOMAIN` is set.
 * @throws {StartRefused} the certificate cannot be used, or the address cannot be listened on.
 */
export const startInboundReport = async (
  { bounceDomain, bouncePort, postmaster, host, tlsFiles }: Config,
  { context, system, logger, closers }: Engines,
  { transport, registry }: InboundReportParts,
): Promise<void> => {
  if (bounceDomain === undefined) return;
  const tls = await readTls(tlsFiles);
  const reader = createInboundReportReader();
  closers.add('reader of returned mail', reader.close);
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
    neighbourOf: neighbourhoodOf,
    logger,
  }).catch((error: unknown) => {
    throw listenRefused(error, { host, port: bouncePort, variable: 'BOUNCE_PORT' });
  });
  closers.add('listener for returned mail', listener.close);
  const endRenewals = followRenewals({ tlsFiles, logger }, listener.useTls);
  closers.add('renewals of the certificate for returned mail', async () => endRenewals());
  logger.info({ port: listener.port }, 'mail that comes back is received');
};
