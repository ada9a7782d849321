import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { TlsPair } from '../adapters/smtp-listener/smtp-listener.ts';
import type { Config } from '../config.ts';
import type { Logger } from '../domain/ports/logger.ts';
import { StartRefused } from '../domain/start-refused.ts';

/** Certificates are renewed weeks before they expire. Shorter reads the files for nothing. */
const RENEWAL_CHECK_MS = 3_600_000;

export const TLS_PORT_NEEDS_FILES = 'SUBMISSION_TLS_PORT needs TLS_CERT_FILE and TLS_KEY_FILE: set them, or unset it';

/** @throws {StartRefused} a file cannot be read, or certificate and key do not match. */
export const readTls = async (
  files: Config['tlsFiles'],
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

/** What is shown to webhook endpoints. @throws {StartRefused} as `readTls`. */
export const readWebhookTls = ({
  webhookCertFile: cert,
  webhookKeyFile: key,
}: Pick<Config, 'webhookCertFile' | 'webhookKeyFile'>): Promise<TlsPair | undefined> =>
  readTls(
    cert === undefined || key === undefined ? undefined : { cert, key },
    'WEBHOOK_CERT_FILE and WEBHOOK_KEY_FILE',
  );

/** Uses a renewed certificate once its files are valid; until then the previous one. @returns stops watching. */
export const followRenewals = (
  { tlsFiles, logger }: Pick<Config, 'tlsFiles'> & { readonly logger: Logger },
  use: (tls: TlsPair) => void,
  everyMs = RENEWAL_CHECK_MS,
): (() => void) => {
  if (tlsFiles === undefined) return () => undefined;
  const look = (): Promise<void> =>
    readTls(tlsFiles).then(
      (tls) => {
        if (tls !== undefined) use(tls);
      },
      (err: unknown) => logger.error({ err }, 'cannot reload the TLS certificate'),
    );
  const timer = setInterval(() => void look(), everyMs).unref();
  return () => clearInterval(timer);
};
