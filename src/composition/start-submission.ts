import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createSecureContext } from 'node:tls';
import { createMailParser } from '../adapters/mail-parser/mail-parser.ts';
import type { Config } from '../config.ts';
import { StartRefused } from '../domain/start-refused.ts';
import { createSubmissionServer, type TlsPair } from '../submission/create-submission-server.ts';
import type { SubmissionHouse } from '../submission/submit-message.ts';
import type { Closers } from './closers.ts';
import { listenRefused } from './listen-refused.ts';
import type { RunningRole } from './role.ts';

export interface RunningSubmission extends RunningRole {
  readonly port: number;
}

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
  const { port } = listening.address() as AddressInfo;
  house.deps.logger.info({ port }, 'mail is taken by SMTP');
  return { port, stop: () => new Promise((resolve) => server.close(() => resolve())) };
};
