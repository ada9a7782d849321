import type { Pool } from 'pg';
import type { NewJob } from '../../../src/domain/ports/queue.ts';
import { GOOD_REPUTATION } from '../../../src/domain/reputation/reputation.ts';
import { dueDeliveries, heldMail, holdersOfMail } from '../../../src/projections/deliveries/queries.ts';
import {
  createRecentlyQueued,
  type DeliveryJob,
  type DeliveryQueue,
  type DueMail,
} from '../../../src/workers/delivery/due.ts';
import { createFindReleased } from '../../../src/workers/delivery/released.ts';
import { type SweepDeliveries, sweepDeliveries } from '../../../src/workers/delivery/sweep.ts';
import { createSteppableSystem } from '../../support/system.ts';

/** The sweep, run over real rows of the timetable. */

export const START = '2026-01-01T00:00:00.000Z';

/** A queue whose workers take added jobs immediately. */
export const takingQueue = (take: (due: DueMail) => void): DeliveryQueue => ({
  add: async (jobs: readonly NewJob<DeliveryJob>[]) => {
    for (const { data } of jobs) for (const due of data.due) take(due);
  },
  depth: async () => 0,
  counts: async () => ({ waiting: 0, active: 0 }),
  work: () => undefined,
  close: async () => undefined,
});

/** A clock that only advances during sleeps. */
const createSleepingSystem = () => {
  const system = createSteppableSystem({ start: START });
  let sleptMs = 0;
  return {
    ...system,
    now: () => new Date(Date.parse(START) + sleptMs),
    monotonicMs: () => sleptMs,
    sleep: async (ms: number) => {
      sleptMs += ms;
    },
  };
};

export interface Rows {
  readonly count: number;
  /** SQL expression for row `n`. */
  readonly destination: string;
  readonly heldBy?: string;
  /** Default: none, as in rows older than the column. */
  readonly organizationId?: string;
}

/** Rows that became due up to an hour ago, or that something holds. */
export const insertRows = (pool: Pool, { count, destination, heldBy, organizationId }: Rows) =>
  pool.query(
    `
    insert into read_models.deliveries
      (message_id, organization_id, destination, environment, bulk, due_at, held_by, expires_at, recipients)
    select concat_ws('_', 'msg', $3::text, n), $3, ${destination}, 'live', $2::text is not null,
      case when $2 is null then timestamptz '${START}' - interval '1 hour' + (n / 10) * interval '1 ms'
        else timestamptz '${START}' + interval '9 days' end,
      $2, timestamptz '${START}' + interval '40 days', '[]'
    from generate_series(1, $1) n`,
    [count, heldBy ?? null, organizationId ?? null],
  );

interface SweepOptions {
  readonly queue: DeliveryQueue;
  readonly isOneServer: boolean;
  /** Seconds of the sweep's own clock. 0: one sweep. */
  readonly seconds: number;
  /** Default: nothing is saturated. */
  readonly saturated?: SweepDeliveries['destinationQueues']['saturated'];
  /** Which messages belong to this process. Default: all. */
  readonly has?: SweepDeliveries['share']['has'];
}

export const sweepOver = async (pool: Pool, options: SweepOptions): Promise<void> => {
  const { queue, isOneServer, seconds, saturated = () => [], has = () => true } = options;
  const system = createSleepingSystem();
  const sweep = sweepDeliveries({
    timetable: { due: (ask) => dueDeliveries(pool, ask) },
    queues: { transactional: queue, bulk: queue },
    ...(isOneServer ? {} : { destinations: { providerOf: async (domain: string) => domain } }),
    released: createFindReleased({
      heldMail: { holders: (ask) => holdersOfMail(pool, ask), held: (ask) => heldMail(pool, ask) },
      sendingHolds: { reputationOf: () => GOOD_REPUTATION },
      suspensionHolds: { keeps: () => false },
      warmUpHolds: { keeps: () => false, offered: () => undefined },
      sendingDomains: { isDeleted: () => false },
      isOneServer,
    }),
    recentlyQueued: createRecentlyQueued(system),
    destinationQueues: { saturated },
    share: { isEmpty: () => false, has },
    leadership: { isLeader: () => true },
    system,
  });
  const over = new AbortController();
  await sweep(over.signal, () => {
    if (system.monotonicMs() >= seconds * 1000) over.abort();
  });
};
