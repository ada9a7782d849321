import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { TlsPair } from '../adapters/smtp-listener/smtp-listener.ts';
import type { Config } from '../config.ts';
import type { Logger } from '../domain/ports/logger.ts';
import { StartRefused } from '../domain/start-refused.ts';

/** Certificates are renewed weeks before they end; oftener reads files for nothing. */
const RENEWAL_LOOK_MS = 3_600_000;

export const TLS_PORT_NEEDS_FILES = 'SUBMISSION_TLS_PORT needs TLS_CERT_FILE and TLS_KEY_FILE: set them, or unset it';

/** @throws {StartRefused} a file cannot be read, or the two are no pair. */
export const readTls = async (files: Config['tlsFiles']): Promise<TlsPair | undefined> => {
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
  use: (tls: TlsPair) => void,
  everyMs = RENEWAL_LOOK_MS,
): (() => void) => {
  if (tlsFiles === undefined) return () => undefined;
  const look = (): Promise<void> =>
    readTls(tlsFiles).then(
      (tls) => {
        if (tls !== undefined) use(tls);
      },
      (err: unknown) => logger.error({ err }, 'the TLS certificate could not be read again'),
    );
  const timer = setInterval(() => void look(), everyMs).unref();
  return () => clearInterval(timer);
};
