import { Client } from 'pg';
import type { Logger } from '../../domain/logger.ts';
import { StartRefused } from '../../domain/start-refused.ts';
import type { System } from '../../domain/system.ts';
import { isUnreachable } from './faults.ts';

export interface CheckPostgresOptions {
  readonly url: string;
  readonly system: System;
  readonly logger: Logger;
  /** How long a server may be away when we start: longer hides a wrong address, shorter fails where both start at once. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 15_000;
const RETRY_MS = 500;
const CONNECT_TIMEOUT_MS = 5_000;
const VERSION_MIN = 15;

const REFUSALS: Readonly<Record<string, (url: URL) => string>> = {
  '28P01': () => 'refuses the user name and password: correct them in DATABASE_URL',
  '28000': () => 'refuses the user: correct DATABASE_URL or its pg_hba.conf',
  '3D000': (url) => `has no database "${url.pathname.slice(1)}": create it, or correct DATABASE_URL`,
  '42501': () => 'does not let this user in: grant it the database',
};

interface Facts {
  readonly version: string;
  readonly encoding: string;
}

const ask = async (url: string): Promise<Facts> => {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<Facts>(
      `select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding`,
    );
    return rows[0] as Facts; // a select without from has one row
  } finally {
    await client.end();
  }
};

const nameOf = (url: URL): string => `PostgreSQL at ${url.host || 'localhost'}`;

const refusal = (url: URL, error: unknown): StartRefused => {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  const known = REFUSALS[code ?? '']?.(url);
  if (known !== undefined) return new StartRefused(`${nameOf(url)} ${known}`);
  return new StartRefused(`${nameOf(url)} cannot be reached (${code ?? message}): start it, or correct DATABASE_URL`);
};

const examine = (url: URL, { version, encoding }: Facts): void => {
  const major = Math.floor(Number(version) / 10_000);
  if (major < VERSION_MIN) {
    throw new StartRefused(`${nameOf(url)} is version ${major}: Outbox needs ${VERSION_MIN} or newer`);
  }
  if (encoding !== 'UTF8') {
    throw new StartRefused(`the database at ${url.host} is encoded in ${encoding}: create one with encoding UTF8`);
  }
};

/**
 * Waits for the PostgreSQL of `DATABASE_URL` and makes sure that it can be used.
 * @throws {StartRefused} it is away, refuses us, or is not what we need.
 */
export const checkPostgres = async (options: CheckPostgresOptions): Promise<void> => {
  const { system, logger, patienceMs = PATIENCE_MS } = options;
  const url = new URL(options.url);
  const deadline = system.monotonicMs() + patienceMs;
  const askPatiently = async (): Promise<Facts> => {
    try {
      return await ask(options.url);
    } catch (error) {
      if (!isUnreachable(error) || system.monotonicMs() > deadline) throw refusal(url, error);
    }
    logger.info({ host: url.host }, 'waiting for PostgreSQL');
    await system.sleep(RETRY_MS);
    return askPatiently();
  };
  examine(url, await askPatiently());
};
