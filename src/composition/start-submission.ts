import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { SMTPServer } from 'smtp-server';
import { createMailParser } from '../adapters/mail-parser/mail-parser.ts';
import type { Config } from '../config.ts';
import type { Logger } from '../domain/logger.ts';
import { StartRefused } from '../domain/start-refused.ts';
import { createSubmissionServer, type TlsPair } from '../submission/create-submission-server.ts';
import type { SubmissionHouse } from '../submission/submit-message.ts';
import type { Closers } from './closers.ts';
import { listenRefused } from './listen-refused.ts';
import type { RunningRole } from './role.ts';

export interface RunningSubmission extends RunningRole {
  readonly port: number;
}

/** Certificates are renewed weeks before they end; oftener reads files for nothing. */
const RENEWAL_LOOK_MS = 3_600_000;

/** @throws {StartRefused} a file cannot be read, or the two are no pair. */
const readTls = async (files: Config['tlsFiles']): Promise<TlsPair | undefined> => {
  if (files === undefined) return undefined;
  try {
    const [cert, key] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')]);
    createSecureContext({ cert, key });
    return { cert, key };
  } catch (error) {
    throw new StartRefused(
      `TLS_CERT_FILE and TLS_KEY_FILE cannot be used: ${(error as Error).message}: set a certificate and its key in PEM`,
    );
  }
};

/** What is renewed in its place is used from then on; until it can be, the one before is. @returns the end of looking. */
export const followRenewals = (
  { tlsFiles, logger }: Pick<Config, 'tlsFiles'> & { readonly logger: Logger },
  server: Pick<SMTPServer, 'updateSecureContext'>,
  everyMs = RENEWAL_LOOK_MS,
): (() => void) => {
  if (tlsFiles === undefined) return () => undefined;
  const look = (): Promise<void> =>
    readTls(tlsFiles).then(
      (tls) => server.updateSecureContext(tls),
      (err: unknown) => logger.error({ err }, 'the TLS certificate could not be read again'),
    );
  const timer = setInterval(() => void look(), everyMs).unref();
  return () => clearInterval(timer);
};

/**
 * Takes mail by SMTP beside the API, when `SUBMISSION_PORT` is set.
 * @throws {StartRefused} the certificate cannot be used, or the address cannot be listened on.
 */
export const startSubmission = async (
  { submissionPort, host, ehloName, tlsFiles }: Config,
  closers: Closers,
  house: Omit<SubmissionHouse, 'mailParser'>,
): Promise<RunningSubmission | undefined> => {
  if (submissionPort === undefined) return undefined;
  const tls = await readTls(tlsFiles);
  const mailParser = createMailParser();
  closers.add('mail parser', mailParser.close);
  const server = createSubmissionServer({ ...house, mailParser }, { tls, name: ehloName });
  const listening = server.listen(submissionPort, host);
  await once(listening, 'listening').catch((error: unknown) => {
    throw listenRefused(error, { host, port: submissionPort, variable: 'SUBMISSION_PORT' });
  });
  const endRenewals = followRenewals({ tlsFiles, logger: house.deps.logger }, server);
  const { port } = listening.address() as AddressInfo;
  house.deps.logger.info({ port }, 'mail is taken by SMTP');
  return {
    port,
    stop: () => {
      endRenewals();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
};
