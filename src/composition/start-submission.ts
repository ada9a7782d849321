import { isLoopback } from '../adapters/mail/smarthost/smarthost.ts';
import type { Config } from '../config.ts';
import { clientNetworkOf } from '../domain/kernel/addresses.ts';
import type { SubmissionServer } from '../http/dependencies.ts';
import { StartRefused } from '../lib/async/async.ts';
import { createMailParser } from '../lib/mime/mime.ts';
import { type SmtpListener, startSmtpListener } from '../lib/smtp/smtp.ts';
import { createSubmission } from '../submission/submission.ts';
import type { SubmissionContext } from '../submission/submit-message.ts';
import { type Closers, type ListenAddress, listenRefused, type RunningRole } from './lifecycle.ts';
import { isUnspecified } from './read-service-config.ts';
import { followRenewals, readTls, TLS_PORT_NEEDS_FILES } from './tls-files.ts';

export interface RunningSubmission extends RunningRole {
  readonly port: number | undefined;
  readonly tlsPort: number | undefined;
  /** The servers as clients reach them. */
  readonly servers: readonly SubmissionServer[];
}

type Variable = Extract<ListenAddress['variable'], `SUBMISSION_${string}`>;

interface SubmissionAddress {
  readonly host: string;
  readonly publicUrl: string | undefined;
  readonly hasTls: boolean;
  readonly port: number | undefined;
  readonly tlsPort: number | undefined;
}

/** Host name under which clients reach this address. Without a certificate it is loopback, because other clients are refused. */
const hostOffered = ({ host, publicUrl, hasTls }: Omit<SubmissionAddress, 'port' | 'tlsPort'>): string | null => {
  const own = isUnspecified(host) ? '127.0.0.1' : host;
  if (!hasTls) return isLoopback(own) ? own : null;
  return publicUrl === undefined || isLoopback(host) ? own : new URL(publicUrl).hostname;
};

/** Servers that clients can use. */
export const serversOffered = ({ port, tlsPort, ...offered }: SubmissionAddress): readonly SubmissionServer[] => {
  const host = hostOffered(offered);
  if (host === null) return [];
  const asked = offered.hasTls ? 'starttls' : 'none';
  const listening = [
    { port, tls: asked },
    { port: tlsPort, tls: 'implicit' },
  ] as const;
  return listening.flatMap(({ port: at, tls }) => (at === undefined ? [] : [{ host, port: at, tls }]));
};

/**
 * Accepts mail over SMTP when `SUBMISSION_PORT` or `SUBMISSION_TLS_PORT` is set.
 * @throws {StartRefused} the certificate cannot be used, or an address cannot be listened on.
 */
export const startSubmission = async (
  { submissionPort, submissionTlsPort, host, publicUrl, ehloName, tlsFiles }: Config,
  closers: Closers,
  context: Omit<SubmissionContext, 'mailParser'>,
): Promise<RunningSubmission | undefined> => {
  if (submissionPort === undefined && submissionTlsPort === undefined) return undefined;
  const { logger } = context.deps;
  const tls = await readTls(tlsFiles);
  if (submissionTlsPort !== undefined && tls === undefined) {
    throw new StartRefused(TLS_PORT_NEEDS_FILES);
  }
  const mailParser = closers.keep('mail parser', createMailParser());
  const submission = createSubmission({ ...context, mailParser }, { hasTls: tls !== undefined, name: ehloName });

  const listen = async (port: number | undefined, variable: Variable): Promise<SmtpListener | undefined> => {
    if (port === undefined) return undefined;
    const tlsBegins = variable === 'SUBMISSION_TLS_PORT' ? 'implicit' : 'asked';
    const listener = await startSmtpListener(submission, {
      host,
      port,
      tls,
      tlsBegins,
      networkOf: clientNetworkOf,
      logger,
    }).catch((error: unknown) => {
      throw listenRefused(error, { host, port, variable });
    });
    logger.info({ port: listener.port, tls: tlsBegins }, 'accepting mail over SMTP');
    return listener;
  };

  const plain = await listen(submissionPort, 'SUBMISSION_PORT');
  const implicit = await listen(submissionTlsPort, 'SUBMISSION_TLS_PORT').catch(async (error: unknown) => {
    await plain?.close();
    throw error;
  });
  const listeners = [plain, implicit].filter((each) => each !== undefined);
  const endRenewals = followRenewals({ tlsFiles, logger }, (renewed) => {
    for (const { useTls } of listeners) useTls(renewed);
  });
  const ports = { port: plain?.port, tlsPort: implicit?.port };
  return {
    ...ports,
    servers: serversOffered({ host, publicUrl, hasTls: tls !== undefined, ...ports }),
    stop: async () => {
      endRenewals();
      await Promise.all(listeners.map(({ close }) => close()));
    },
  };
};
