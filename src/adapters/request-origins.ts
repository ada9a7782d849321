import type { Pool } from 'pg';
import { ORIGIN_DAYS, originPart, type RequestOrigin, type RequestOrigins } from '../domain/ports/requests.ts';
import type { Logger, System } from '../lib/async/async.ts';
import { orUnavailable } from '../lib/postgres/postgres.ts';

export interface PostgresRequestOriginsOptions {
  readonly pool: Pool;
  readonly system: System;
  readonly logger: Logger;
}

const PUT = {
  name: 'request-origins-put',
  text: `
    insert into vault.request_origins (id, organization_id, address, user_agent, at, salt)
    values ($1, $2, $3, $4, $5, $6)`,
};

const ADDRESSES = {
  name: 'request-origins-addresses',
  text: 'select id, address from vault.request_origins where organization_id = $1 and id = any($2::uuid[])',
};

const USER_AGENTS = {
  name: 'request-origins-user-agents',
  text: `
    select id, user_agent as "userAgent" from vault.request_origins
    where organization_id = $1 and id = any($2::uuid[]) and user_agent is not null`,
};

const ORIGIN = {
  name: 'request-origin',
  text: `
    select address, user_agent as "userAgent", salt from vault.request_origins
    where organization_id = $1 and id = $2`,
};

/** Rows deleted at a time, so that no lock is held for long. */
const SWEPT_MAX = 10_000;
const SWEEP = {
  name: 'request-origins-sweep',
  text: `
    delete from vault.request_origins
    where id in (select id from vault.request_origins where at < $1 order by at limit ${SWEPT_MAX})`,
};
const SWEEP_EVERY_MS = 6 * 60 * 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;

type OriginReads = Pick<RequestOrigins, 'addressesOf' | 'userAgentsOf' | 'partOf'>;

export const readPostgresOrigins = (pool: Pool): OriginReads => ({
  addressesOf: async (organizationId, ids) => {
    const { rows } = await orUnavailable(
      pool.query<{ id: string; address: string }>({ ...ADDRESSES, values: [organizationId, ids] }),
    );
    return new Map(rows.map(({ id, address }) => [id, address]));
  },
  userAgentsOf: async (organizationId, ids) => {
    const { rows } = await orUnavailable(
      pool.query<{ id: string; userAgent: string }>({ ...USER_AGENTS, values: [organizationId, ids] }),
    );
    return new Map(rows.map(({ id, userAgent }) => [id, userAgent]));
  },
  partOf: async (organizationId, id) => {
    type Row = Pick<RequestOrigin, 'address' | 'userAgent' | 'salt'>;
    const { rows } = await orUnavailable(pool.query<Row>({ ...ORIGIN, values: [organizationId, id] }));
    return rows[0] === undefined ? null : originPart(rows[0]);
  },
});

/** Origins in the vault. Every process deletes expired ones at its start and four times a day. */
export const createPostgresRequestOrigins = ({
  pool,
  system,
  logger,
}: PostgresRequestOriginsOptions): RequestOrigins => {
  const closing = new AbortController();

  const sweep = async (): Promise<void> => {
    const before = new Date(system.now().getTime() - ORIGIN_DAYS * DAY_MS);
    let swept = SWEPT_MAX;
    while (swept === SWEPT_MAX && !closing.signal.aborted) {
      swept = (await pool.query({ ...SWEEP, values: [before] })).rowCount ?? 0;
    }
  };

  const sweepForEver = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await sweep().catch((error: unknown) => {
        logger.warn({ err: error }, 'could not delete old request origins: the next sweep will retry');
      });
      await system.sleep(SWEEP_EVERY_MS, closing.signal).catch(() => undefined);
    }
  };
  const sweeping = sweepForEver();

  return {
    ...readPostgresOrigins(pool),
    put: async ({ id, organizationId, address, userAgent, at, salt }) => {
      await orUnavailable(pool.query({ ...PUT, values: [id, organizationId, address, userAgent, at, salt] }));
    },
    close: async () => {
      closing.abort();
      await sweeping;
    },
  };
};
