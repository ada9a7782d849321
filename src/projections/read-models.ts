import type { Pool } from 'pg';
import { DomainError } from '../domain/kernel/errors.ts';
import type { EventStore } from '../domain/kernel/event-store.ts';
import { createSemaphore, type Semaphore, type System } from '../lib/async/async.ts';
import {
  createCompleteUntil,
  createLagReader,
  createRebuildReader,
  createWaitFor,
  type WaitForOptions,
} from '../lib/projections/projections.ts';
import { expiredKeys, listApiKeys } from './api-keys.ts';
import { createAuditTrees } from './audit/tree.ts';
import { billableRecipients, billedOn, billingUsage, countDays, lastInvoices, listInvoicedMonths } from './billing.ts';
import {
  type Backlog,
  type DueQuery,
  deferredMail,
  dueDeliveries,
  type HeldQuery,
  type HoldersQuery,
  heldMail,
  holdersOfMail,
  readBacklog,
} from './deliveries/queries.ts';
import { listSuspensions } from './destinations.ts';
import { listDomains } from './domains.ts';
import { listErasures, type UnfinishedErasures, unfinishedErasures } from './erasures.ts';
import { placeAt, readFeed } from './events/queries.ts';
import { dueForwards, type InboundOfPerson, inboundOfPerson, listInbound } from './inbound.ts';
import { listInboundRoutes } from './inbound-routes.ts';
import { keySends } from './messages/projection.ts';
import { listMessages, messageStatuses, messagesTo } from './messages/queries.ts';
import { countsOfSender, countsOfSources, type PageOfCounts, pageOfCounts } from './reputation.ts';
import {
  findById,
  findByName,
  findEvent,
  findMessage,
  keysNamed,
  namesOfResources,
  recentTagContents,
} from './search.ts';
import { tagContents } from './stats/cohorts.ts';
import { type QueryStats, queryStats } from './stats/queries.ts';
import {
  exportSuppressions,
  listAllSuppressions,
  listOptIns,
  listSuppressions,
  messagesOfDomain,
} from './suppressions.ts';
import { listTemplates } from './templates.ts';
import { listTopics } from './topics.ts';
import { countWebhooks, endpointsOf, listWebhooks } from './webhooks.ts';

/**
 * Bounds of the queries that organizations ask for. All queries of a role use one pool of ten connections (`MAX` in
 * `lib/postgres/pool.ts`); some connections are always left for what accepts and delivers mail. Organizations take
 * turns, and one holds its share of connections at most.
 */

/** Lists, searches and reads of rows at once. Higher: accepting mail waits for them. Lower: dashboards load slowly. */
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

interface OrganizationQuery {
  readonly organizationId: string;
}

const createQueryShares = (pool: Pool) => {
  const waiting = { waitingMax: WAITING_MAX, busy: tooMany, timeout: { ms: WAIT_MS_MAX, error: tooMany } };
  const lists = createSemaphore({ capacity: LISTS_MAX, share: LISTS_PER_ORGANIZATION_MAX, ...waiting });
  const statistics = createSemaphore({ capacity: STATISTICS_MAX, share: STATISTICS_PER_ORGANIZATION_MAX, ...waiting });

  const within =
    (semaphore: Semaphore) =>
    <By extends OrganizationQuery, Result>(query: (db: Pool, by: By) => Promise<Result>) =>
    (by: By): Promise<Result> =>
      semaphore.run(() => query(pool, by), 1, by.organizationId);

  /** For queries outside the read models, of the same pool. */
  const inShareOf = <Result>(organizationId: string, query: () => Promise<Result>): Promise<Result> =>
    lists.run(query, 1, organizationId);

  /** Queries of an audit tree, which belongs to an organization. */
  const ofTree =
    <Rest extends readonly unknown[], Result>(query: (tree: string, ...rest: Rest) => Promise<Result>) =>
    (tree: string, ...rest: Rest): Promise<Result> =>
      inShareOf(tree, () => query(tree, ...rest));

  return { listed: within(lists), counted: within(statistics), inShareOf, ofTree };
};

interface ReadModelsOptions extends Pick<WaitForOptions, 'awaited'> {
  readonly pool: Pool;
  readonly store: Pick<EventStore, 'head' | 'readAll'>;
  readonly system: System;
}

/** All queries of the read models; holds no resources. */
export const createReadModels = ({ pool, store, system, awaited }: ReadModelsOptions) => {
  const { listed, counted, ofTree, inShareOf } = createQueryShares(pool);
  const trees = createAuditTrees(pool);
  return {
    messages: {
      list: listed(listMessages),
      to: listed(messagesTo),
      statuses: (ids: readonly string[]) => messageStatuses(pool, ids),
    },
    events: { page: listed(readFeed), placeAt: listed(placeAt) },
    stats: {
      query: counted((db, by: QueryStats) => queryStats(db, by)),
      tagContents: counted(tagContents),
    },
    billing: {
      usage: listed(billingUsage),
      count: (by: Parameters<typeof countDays>[1]) => countDays(pool, by),
      billedOn: listed(billedOn),
      recipients: (by: Parameters<typeof billableRecipients>[1]) => billableRecipients(pool, by),
      invoicedMonths: listed(listInvoicedMonths),
      lastInvoices: () => lastInvoices(pool),
    },
    audit: {
      ...trees,
      search: (by: Parameters<typeof trees.search>[0]) => inShareOf(by.tree, () => trees.search(by)),
      sizeAt: ofTree(trees.sizeAt),
      latestUpTo: ofTree(trees.latestUpTo),
      hashes: ofTree(trees.hashes),
      leaves: ofTree(trees.leaves),
      tile: ofTree(trees.tile),
      findAll: ofTree(trees.findAll),
      findCustomerEvent: ofTree(trees.findCustomerEvent),
    },
    domains: { list: listed(listDomains) },
    apiKeys: {
      list: listed(listApiKeys),
      expired: (by: Parameters<typeof expiredKeys>[1]) => expiredKeys(pool, by),
      sends: listed(keySends),
    },
    templates: { list: listed(listTemplates) },
    webhooks: {
      list: listed(listWebhooks),
      count: (organizationId: string) => inShareOf(organizationId, () => countWebhooks(pool, organizationId)),
      endpointsOf: (organizationId: string) => inShareOf(organizationId, () => endpointsOf(pool, organizationId)),
    },
    suppressions: {
      list: listed(listSuppressions),
      listAll: listed(listAllSuppressions),
      export: listed(exportSuppressions),
      messagesOfDomain: listed(messagesOfDomain),
    },
    topics: {
      list: listed(listTopics),
      optIns: listed(listOptIns),
    },
    inboundRoutes: { list: listed(listInboundRoutes) },
    erasures: {
      list: listed(listErasures),
      unfinished: (by: UnfinishedErasures) => unfinishedErasures(pool, by),
    },
    inbound: {
      list: listed(listInbound),
      ofPerson: (by: InboundOfPerson) => inboundOfPerson(pool, by),
      dueForwards: (now: string) => dueForwards(pool, now),
    },
    deliveries: {
      due: (by: DueQuery) => dueDeliveries(pool, by),
      holders: (by: HoldersQuery) => holdersOfMail(pool, by),
      held: (by: HeldQuery) => heldMail(pool, by),
      deferred: listed(deferredMail),
      backlog: (): Promise<Backlog> => readBacklog(pool, system.now()),
    },
    destinations: { suspended: listed(listSuspensions) },
    reputation: {
      page: (by: PageOfCounts) => pageOfCounts(pool, by),
      ofSender: listed(countsOfSender),
      ofSources: (from: string) => countsOfSources(pool, from),
    },
    search: {
      byId: (kind: Parameters<typeof findById>[1], by: Parameters<typeof findById>[2]) =>
        inShareOf(by.organizationId, () => findById(pool, kind, by)),
      byName: (kind: Parameters<typeof findByName>[1], by: Parameters<typeof findByName>[2]) =>
        inShareOf(by.organizationId, () => findByName(pool, kind, by)),
      message: listed(findMessage),
      event: listed(findEvent),
      recentTagContents: listed(recentTagContents),
      namesOf: listed(namesOfResources),
      keysNamed: listed(keysNamed),
    },
    inShareOf,
    waitFor: createWaitFor({ pool, system, awaited }),
    completeUntil: createCompleteUntil(pool),
    lag: createLagReader({ pool, store, system }),
    rebuilds: createRebuildReader({ pool, store }),
  };
};

export type ReadModels = ReturnType<typeof createReadModels>;
