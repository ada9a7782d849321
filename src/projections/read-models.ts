import type { Pool } from 'pg';
import type { EventStore } from '../domain/kernel/event-store.ts';
import type { System } from '../lib/async/async.ts';
import { expiredKeys, listApiKeys } from './api-keys.ts';
import { createAuditTrees } from './audit/tree.ts';
import { billableRecipients, billedOn, billingUsage, countDays } from './billing.ts';
import { type Backlog, readBacklog } from './deliveries/backlog.ts';
import { deferredMail } from './deliveries/deferred.ts';
import {
  type AskDue,
  type AskDueByFlow,
  type AskHeld,
  type AskHolders,
  dueByFlow,
  dueDeliveries,
  heldMail,
  holdersOfMail,
} from './deliveries/queries.ts';
import { type ListSuspensions, listSuspensions } from './destinations.ts';
import { listDomains } from './domains.ts';
import { listErasures, type UnfinishedErasures, unfinishedErasures } from './erasures.ts';
import { placeAt, readFeed } from './events/queries.ts';
import { lastInvoices, listInvoices } from './invoices.ts';
import { type AskKeySends, keySends } from './messages/key-sends.ts';
import { messagesTo } from './messages/messages-to.ts';
import { listMessages, messageStatuses } from './messages/queries.ts';
import { createLagReader, createWaitFor, type WaitForOptions } from './progress.ts';
import { createQueryShares } from './query-shares.ts';
import { countsOfSender, type PageOfCounts, pageOfCounts } from './reputation/queries.ts';
import { findById, findByName, findEvent, findMessage, recentTagContents } from './search.ts';
import { type QueryStats, queryStats } from './stats/queries.ts';
import { tagContents } from './stats/tags.ts';
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

export interface ReadModelsOptions extends Pick<WaitForOptions, 'awaited'> {
  readonly pool: Pool;
  readonly store: Pick<EventStore, 'readAll'>;
  readonly system: System;
}

/** All queries of the read models; holds no resources. */
export const createReadModels = ({ pool, store, system, awaited }: ReadModelsOptions) => {
  const { listed, counted, ofTree, ofOrganization } = createQueryShares(pool);
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
      usage: (by: Parameters<typeof billingUsage>[1]) => billingUsage(pool, by),
      count: (by: Parameters<typeof countDays>[1]) => countDays(pool, by),
      billedOn: (by: Parameters<typeof billedOn>[1]) => billedOn(pool, by),
      recipients: (by: Parameters<typeof billableRecipients>[1]) => billableRecipients(pool, by),
      invoices: listed(listInvoices),
      lastInvoices: () => lastInvoices(pool),
    },
    audit: {
      ...trees,
      search: (by: Parameters<typeof trees.search>[0]) => ofOrganization(by.tree, () => trees.search(by)),
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
      sends: (by: AskKeySends) => keySends(pool, by),
    },
    templates: { list: listed(listTemplates) },
    webhooks: {
      list: listed(listWebhooks),
      count: (organizationId: string) => ofOrganization(organizationId, () => countWebhooks(pool, organizationId)),
      endpointsOf: (organizationId: string) => ofOrganization(organizationId, () => endpointsOf(pool, organizationId)),
    },
    suppressions: {
      list: listed(listSuppressions),
      listAll: listed(listAllSuppressions),
      export: listed(exportSuppressions),
      messagesOfDomain: (messageIds: readonly string[], domainId: string) =>
        messagesOfDomain(pool, messageIds, domainId),
    },
    topics: {
      list: listed(listTopics),
      optIns: listed(listOptIns),
    },
    erasures: {
      list: listed(listErasures),
      unfinished: (by: UnfinishedErasures) => unfinishedErasures(pool, by),
    },
    deliveries: {
      due: (by: AskDue) => dueDeliveries(pool, by),
      dueByFlow: (by: AskDueByFlow) => dueByFlow(pool, by),
      holders: (by: AskHolders) => holdersOfMail(pool, by),
      held: (by: AskHeld) => heldMail(pool, by),
      deferred: (messageIds: readonly string[]) => deferredMail(pool, messageIds),
      backlog: (): Promise<Backlog> => readBacklog(pool, system.now()),
    },
    destinations: { suspended: (by: ListSuspensions) => listSuspensions(pool, by) },
    reputation: {
      page: (by: PageOfCounts) => pageOfCounts(pool, by),
      ofSender: (by: Parameters<typeof countsOfSender>[1]) => countsOfSender(pool, by),
    },
    search: {
      byId: (kind: Parameters<typeof findById>[1], by: Parameters<typeof findById>[2]) =>
        ofOrganization(by.organizationId, () => findById(pool, kind, by)),
      byName: (kind: Parameters<typeof findByName>[1], by: Parameters<typeof findByName>[2]) =>
        ofOrganization(by.organizationId, () => findByName(pool, kind, by)),
      message: listed(findMessage),
      event: listed(findEvent),
      recentTagContents: listed(recentTagContents),
    },
    waitFor: createWaitFor({ pool, system, awaited }),
    lag: createLagReader({ pool, store, system }),
  };
};

export type ReadModels = ReturnType<typeof createReadModels>;
