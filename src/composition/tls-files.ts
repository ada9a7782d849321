import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { TlsFiles } from '../config.ts';
import { type Logger, StartRefused } from '../lib/async/async.ts';
import type { TlsPair } from '../lib/smtp/smtp.ts';

/** Delay until a renewed certificate is used. Shorter: two small files are read more often than needed. */
const RENEWAL_CHECK_MS = 60_000;

export const TLS_PORT_NEEDS_FILES = 'SUBMISSION_TLS_PORT needs TLS_CERT_FILE and TLS_KEY_FILE: set them, or unset it';

/** @throws {StartRefused} a file cannot be read, or certificate and key do not match. */
export const readTls = async (
  files: TlsFiles | undefined,
  variables = 'TLS_CERT_FILE and TLS_KEY_FILE',
): Promise<TlsPair | undefined> => {
  if (files === undefined) return undefined;
  try {
    const [cert, key] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')]);
    createSecureContext({ cert, key });
    return { cert, key };
  } catch (error) {
    throw new StartRefused(
      `${variables} cannot be used: ${(error as Error).message}: set a certificate and its key in PEM`,
    );
  }
};

export interface FollowRenewals {
  readonly tlsFiles: TlsFiles | undefined;
  /** Names of the variables, as in `readTls`. */
  readonly variables?: string;
  readonly logger: Logger;
}

/**
 * Uses a renewed certificate once its files are valid; until then the previous one, and the log says why.
 * @returns stops watching.
 */
export const followRenewals = (
  { tlsFiles, variables, logger }: FollowRenewals,
  use: (tls: TlsPair) => void,
  everyMs = RENEWAL_CHECK_MS,
): (() => void) => {
  if (tlsFiles === undefined) return () => undefined;
  let known = '';
  /** True once for each state of the files and for each problem with them. */
  const isNew = (found: readonly string[]): boolean => {
    const before = known;
    known = found.join('\n');
    return known !== before;
  };
  const look = (): Promise<void> =>
    readTls(tlsFiles, variables).then(
      (tls) => {
        if (tls !== undefined && isNew([tls.cert, tls.key])) use(tls);
      },
      (err: Error) => {
        if (isNew([err.message]))
          logger.error({ err }, 'cannot reload the TLS certificate: the one before stays in use');
      },
    );
  const timer = setInterval(() => void look(), everyMs).unref();
  return () => clearInterval(timer);
};
