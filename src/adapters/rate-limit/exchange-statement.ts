import type { Pool } from 'pg';
import type { Grant, Offer } from './slice.ts';

export interface Exchange {
  /** Of this process, each one more than the last: the database passes over those that come too late. */
  readonly number: number;
  readonly claimsAll: boolean;
  readonly offers: readonly (readonly [bucket: string, offer: Offer])[];
}

/** What the database answers. */
export interface Standing {
  /** It had not forgotten this process. */
  readonly known: boolean;
  /** There is no other process: this one may take from everything. */
  readonly alone: boolean;
  /** Another process still takes from everything: nothing can be granted. */
  readonly blocked: boolean;
  readonly members: number;
  /** In the order of the offers. */
  readonly grants: readonly Grant[];
  /** What others lack of buckets that this process has slices of. */
  readonly wanted: readonly (readonly [bucket: string, wanted: number])[];
}

interface Answer extends Omit<Standing, 'grants'> {
  readonly given: readonly (readonly [more: number, free: number, othersFreeInMs: number | null])[];
}

const EXCHANGE = {
  name: 'rate-limits-exchange',
  text: `
    select limits.exchange($1, $2, $3, $4 * interval '1 millisecond', $5 * interval '1 millisecond',
      $6, $7, $8, $9, $10, $11, $12, $13) as answer`,
};

/** What was taken stays counted until it has left the window. */
const LEAVE = {
  name: 'rate-limits-leave',
  text: `
    update limits.processes set seen_at = clock_timestamp() - $2 * interval '1 millisecond', alone = false
    where id = $1 and exists (select from limits.slices where process = $1)`,
};

/** Nothing stays of a process without slices. */
const LEAVE_NOTHING = {
  name: 'rate-limits-leave-nothing',
  text: `
    delete from limits.processes
    where id = $1 and not exists (select from limits.slices where process = $1)`,
};

export interface ExchangeStatements {
  /** @returns null: a later exchange came first. */
  exchange(exchange: Exchange): Promise<Standing | null>;
  leave(): Promise<void>;
}

export interface StatementOptions {
  readonly pool: Pool;
  readonly processId: string;
  readonly leaseMs: number;
  readonly windowMs: number;
}

const grantOf = ([more, free, othersFreeInMs]: Answer['given'][number]): Grant => ({ more, free, othersFreeInMs });

export const createExchangeStatements = (options: StatementOptions): ExchangeStatements => {
  const { pool, processId, leaseMs, windowMs } = options;
  return {
    exchange: async ({ number, claimsAll, offers }) => {
      const columns = [
        offers.map(([bucket]) => bucket),
        offers.map(([, { ceiling }]) => ceiling),
        offers.map(([, { keep }]) => keep),
        offers.map(([, { leastNeed }]) => leastNeed),
        offers.map(([, { need }]) => need),
        offers.map(([, { isAhead }]) => isAhead),
        offers.map(([, { taken }]) => taken),
        offers.map(([, { freesMs }]) => freesMs),
      ];
      const values = [processId, number, claimsAll, leaseMs, windowMs, ...columns];
      const { rows } = await pool.query<{ answer: Answer | null }>({ ...EXCHANGE, values });
      const answer = rows[0]?.answer ?? null;
      return answer === null ? null : { ...answer, grants: answer.given.map(grantOf) };
    },
    leave: async () => {
      await pool.query({ ...LEAVE, values: [processId, leaseMs] });
      await pool.query({ ...LEAVE_NOTHING, values: [processId] });
    },
  };
};
