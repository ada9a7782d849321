import type { Pool } from 'pg';
import { DomainError } from '../domain/kernel/errors.ts';
import { createSemaphore, type Semaphore } from '../lib/async/async.ts';

/**
 * Bounds of the queries that organizations ask for. All queries of a role use one pool of ten connections (`MAX` in
 * `lib/postgres/pool.ts`); some connections are always left for what accepts and delivers mail. Organizations take
 * turns, and one holds its share of connections at most.
 */

/** Lists, searches and reads of audit logs at once. Higher: accepting mail waits for them. Lower: dashboards load slowly. */
const LISTS_MAX = 5;
/** Higher: others wait for slow lists of one organization. Lower: its own requests wait for each other. */
const LISTS_PER_ORGANIZATION_MAX = 3;
/** Statistics at once, each of several seconds at most. Higher: lists and mail wait. Lower: dashboards load slowly. */
const STATISTICS_MAX = 3;
/** Higher: others wait for slow statistics of one organization. Lower: its own dashboard waits. */
const STATISTICS_PER_ORGANIZATION_MAX = 2;
/** Each is an open request. Higher: they would not have their turn in time. Lower: short peaks are refused. */
const WAITING_MAX = 500;
/** Higher: requests exceed their deadline. Lower: short peaks are refused. */
const WAIT_MS_MAX = 6_000;

const tooMany = (): DomainError =>
  new DomainError('unavailable', 'too many lists or statistics are being read: send fewer requests at once');

interface Asked {
  readonly organizationId: string;
}

export const createQueryShares = (pool: Pool) => {
  const waiting = { waitingMax: WAITING_MAX, busy: tooMany, timeout: { ms: WAIT_MS_MAX, error: tooMany } };
  const lists = createSemaphore({ capacity: LISTS_MAX, share: LISTS_PER_ORGANIZATION_MAX, ...waiting });
  const statistics = createSemaphore({ capacity: STATISTICS_MAX, share: STATISTICS_PER_ORGANIZATION_MAX, ...waiting });

  const within =
    (semaphore: Semaphore) =>
    <By extends Asked, Result>(query: (db: Pool, by: By) => Promise<Result>) =>
    (by: By): Promise<Result> =>
      semaphore.run(() => query(pool, by), 1, by.organizationId);

  const ofOrganization = <Result>(organizationId: string, query: () => Promise<Result>): Promise<Result> =>
    lists.run(query, 1, organizationId);

  /** Queries of an audit tree, which belongs to an organization. */
  const ofTree =
    <Rest extends readonly unknown[], Result>(query: (tree: string, ...rest: Rest) => Promise<Result>) =>
    (tree: string, ...rest: Rest): Promise<Result> =>
      ofOrganization(tree, () => query(tree, ...rest));

  return { listed: within(lists), counted: within(statistics), ofOrganization, ofTree };
};
