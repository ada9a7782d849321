import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Pool, QueryResultRow } from 'pg';
import type { Config } from '../config.ts';
import type { KeptSessionLock } from '../lib/postgres/postgres.ts';
import type { WorkerPlace } from '../workers/delivery/dispatch.ts';

/**
 * The processes of a service find each other in the database: each holds a session for as long as it runs (the lock on the
 * log), and the session's name says what it is.
 */

export type Role = 'api' | 'projections' | 'workers';

export interface Instance {
  /** Host and process id. */
  readonly name: string;
  readonly version: string;
  readonly roles: readonly Role[];
  readonly since: Date;
}

const LETTERS: Readonly<Record<Role, string>> = { api: 'a', projections: 'p', workers: 'w' };
const ROLES = Object.keys(LETTERS) as readonly Role[];
/** PostgreSQL cuts longer names off, and replaces what is not ASCII. */
const NAME_BYTES_MAX = 63;
const MARK = /^outbox instance (?<letters>[apw]+) (?<version>\S+) (?<name>\S+)$/;

/** Name of the session of this process. */
export const instanceMark = ({ roles }: Pick<Config, 'roles'>, version: string): string => {
  const letters = ROLES.filter((role) => roles.has(role)).map((role) => LETTERS[role]);
  const begin = `outbox instance ${letters.join('')} ${version} `;
  const end = `:${process.pid}`;
  return `${begin}${hostname().slice(0, NAME_BYTES_MAX - begin.length - end.length)}${end}`;
};

const SESSIONS = `
  select application_name as mark, backend_start as since from pg_stat_activity
  where datname = current_database() and application_name like 'outbox instance %'
  order by backend_start limit 100`;

/** The longest connected first. */
export const readInstances = async (pool: Pick<Pool, 'query'>): Promise<readonly Instance[]> => {
  const { rows } = await pool.query<{ mark: string; since: Date }>(SESSIONS);
  return rows.flatMap(({ mark, since }) => {
    const { letters = '', version = '', name = '' } = MARK.exec(mark)?.groups ?? {};
    const roles = ROLES.filter((role) => letters.includes(LETTERS[role]));
    return roles.length === 0 ? [] : [{ name, version, roles, since }];
  });
};

/**
 * A worker looks for the others on its session every second, so a session that was silent for longer belongs to a process
 * that hangs, or to a version that does not look. Shorter: a busy worker loses its share for a moment, and two claim the
 * same mail. Longer: mail of a worker that hangs waits longer.
 */
const SILENT_MS = 10_000;

const workersAwake = (silentMs: number): string => `
  select count(*)::int as workers, count(*) filter (where pid < pg_backend_pid())::int as place from pg_stat_activity
  where datname = current_database() and application_name ~ '^outbox instance a?p?w '
    and state_change > clock_timestamp() - interval '${silentMs} milliseconds'`;

/** @param session of this process, which is a worker. @throws if the session has ended. */
export const readWorkerPlace = async (
  session: Pick<KeptSessionLock, 'query'>,
  silentMs = SILENT_MS,
): Promise<WorkerPlace> => {
  const { rows } = await session.query<WorkerPlace & QueryResultRow>(workersAwake(silentMs));
  const [found] = rows as [WorkerPlace]; // without `group by` it is one row
  return found;
};

/** Absent with Redis, whose queue distributes the work. */
export const workerPlaceOf = (
  { redisUrl }: Pick<Config, 'redisUrl'>,
  session: Pick<KeptSessionLock, 'query'>,
): (() => Promise<WorkerPlace>) | undefined => (redisUrl === undefined ? () => readWorkerPlace(session) : undefined);

/** Version in `package.json`. */
export const version = async (): Promise<string> => {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  return String((JSON.parse(text) as { readonly version?: unknown }).version);
};
