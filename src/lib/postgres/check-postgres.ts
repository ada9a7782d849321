import { Client } from 'pg';
import { type Logger, StartRefused, type System } from '../async/async.ts';
import { isUnreachable } from './pool.ts';

export interface CheckPostgresOptions {
  readonly url: string;
  readonly system: System;
  readonly logger: Logger;
  /**
   * How long the server may be down when we start. Longer hides a wrong address, shorter fails if both start at the
   * same time.
   */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 15_000;
const RETRY_MS = 500;
/** Failed attempts per log line: one line every 5 s. */
const TELL_EVERY = 10;
const CONNECT_TIMEOUT_MS = 5_000;
const VERSION_MIN = 15;

const REFUSALS: Readonly<Record<string, (url: URL) => string>> = {
  '28P01': () => 'refuses the user name and password: correct them in DATABASE_URL',
  '28000': () => 'refuses the user: correct DATABASE_URL or its pg_hba.conf',
  '3D000': (url) => `has no database "${url.pathname.slice(1)}": create it, or correct DATABASE_URL`,
  '42501': () => 'does not let this user in: grant it the database',
};

/** With one of these off, a commit may be forgotten after it was answered. */
const DURABILITY = ['fsync', 'full_page_writes', 'synchronous_commit'];

interface Facts {
  readonly version: string;
  readonly encoding: string;
  readonly off: readonly string[];
}

const FACTS = `
  select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding,
    (select coalesce(array_agg(name), '{}') from unnest($1::text[]) name where current_setting(name) = 'off') as off`;

const ask = async (url: string): Promise<Facts> => {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<Facts>(FACTS, [DURABILITY]);
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
 * Waits for the PostgreSQL of `DATABASE_URL` and makes sure that it can be used. Warns if it may lose commits.
 * @throws {StartRefused} if it is down, rejects us, or does not meet our needs.
 */
export const checkPostgres = async (options: CheckPostgresOptions): Promise<void> => {
  const { system, logger, patienceMs = PATIENCE_MS } = options;
  const url = new URL(options.url);
  const deadline = system.monotonicMs() + patienceMs;
  const tryToAsk = async (): Promise<Facts | null> => {
    try {
      return await ask(options.url);
    } catch (error) {
      if (!isUnreachable(error) || system.monotonicMs() > deadline) throw refusal(url, error);
      return null;
    }
  };
  let facts = await tryToAsk();
  for (let tries = 0; facts === null; tries += 1) {
    if (tries % TELL_EVERY === 0) logger.info({ host: url.host }, 'waiting for PostgreSQL');
    await system.sleep(RETRY_MS);
    facts = await tryToAsk();
  }
  examine(url, facts);
  if (facts.off.length > 0) {
    const told = `${nameOf(url)} has ${facts.off.join(' and ')} off: what is answered 202 may be lost when it crashes`;
    logger.warn({ off: facts.off }, told);
  }
};
