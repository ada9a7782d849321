import type { Pool } from 'pg';
import type { EventStore } from '../domain/ports/event-store.ts';
import type { System } from '../lib/async/async.ts';
import { expiredKeys, type ListApiKeys, listApiKeys } from './api-keys.ts';
import { createAuditTrees } from './audit/tree.ts';
import { billableRecipients, billedOn, billingUsage, countDays } from './billing.ts';
import { type Backlog, readBacklog } from './deliveries/backlog.ts';
import { deferredMail } from './deliveries/deferred.ts';
import {
  type AskDue,
  type AskDueByDestination,
  type AskHeld,
  type AskHolders,
  dueByDestination,
  dueDeliveries,
  heldMail,
  holdersOfMail,
} from './deliveries/queries.ts';
import { type ListSuspensions, listSuspensions } from './destinations.ts';
import { type ListDomains, listDomains } from './domains.ts';
import { type ListErasures, listErasures, type UnfinishedErasures, unfinishedErasures } from './erasures.ts';
import { type PlaceAt, placeAt, type ReadFeed, readFeed } from './events/queries.ts';
import { lastInvoices, listInvoices } from './invoices.ts';
import { type AskKeySends, keySends } from './messages/key-sends.ts';
import { type AskMessagesTo, messagesTo } from './messages/messages-to.ts';
import { type ListMessages, listMessages, messageStatuses } from './messages/queries.ts';
import { createLagReader, createWaitFor, type WaitForOptions } from './progress.ts';
import { countsOfSender, type PageOfCounts, pageOfCounts } from './reputation/queries.ts';
import { findById, findByName, findEvent, findMessage, recentTagContents } from './search.ts';
import { type QueryStats, queryStats } from './stats/queries.ts';
import { type AskTagContents, tagContents } from './stats/tags.ts';
import {
  type ExportSuppressions,
  exportSuppressions,
  type ListAllSuppressions,
  type ListOptIns,
  type ListSuppressions,
  listAllSuppressions,
  listOptIns,
  listSuppressions,
  messagesOfDomain,
} from './suppressions.ts';
import { type ListTemplates, listTemplates } from './templates.ts';
import { type ListTopics, listTopics } from './topics.ts';
import { countWebhooks, endpointsOf, type ListWebhooks, listWebhooks } from './webhooks.ts';

export interface ReadModelsOptions extends Pick<WaitForOptions, 'awaited'> {
  readonly pool: Pool;
  readonly store: Pick<EventStore, 'readAll'>;
  readonly system: System;
}

/** Parameters behind the database. */
type Tail<Query extends (...by: never) => unknown> = Parameters<Query> extends [unknown, ...infer Rest] ? Rest : never;

/** All queries of the read models; holds no resources. */
export const createReadModels = ({ pool, store, system, awaited }: ReadModelsOptions) => ({
  messages: {
    list: (by: ListMessages) => listMessages(pool, by),
    to: (by: AskMessagesTo) => messagesTo(pool, by),
    statuses: (ids: readonly string[]) => messageStatuses(pool, ids),
  },
  events: { page: (by: ReadFeed) => readFeed(pool, by), placeAt: (by: PlaceAt) => placeAt(pool, by) },
  stats: {
    query: (by: QueryStats) => queryStats(pool, by),
    tagContents: (by: AskTagContents) => tagContents(pool, by),
  },
  billing: {
    usage: (by: Parameters<typeof billingUsage>[1]) => billingUsage(pool, by),
    count: (by: Parameters<typeof countDays>[1]) => countDays(pool, by),
    billedOn: (by: Parameters<typeof billedOn>[1]) => billedOn(pool, by),
    recipients: (by: Parameters<typeof billableRecipients>[1]) => billableRecipients(pool, by),
    invoices: (by: Parameters<typeof listInvoices>[1]) => listInvoices(pool, by),
    lastInvoices: () => lastInvoices(pool),
  },
  audit: createAuditTrees(pool),
  domains: { list: (by: ListDomains) => listDomains(pool, by) },
  apiKeys: {
    list: (by: ListApiKeys) => listApiKeys(pool, by),
    expired: (by: Parameters<typeof expiredKeys>[1]) => expiredKeys(pool, by),
    sends: (by: AskKeySends) => keySends(pool, by),
  },
  templates: { list: (by: ListTemplates) => listTemplates(pool, by) },
  webhooks: {
    list: (by: ListWebhooks) => listWebhooks(pool, by),
    count: (organizationId: string) => countWebhooks(pool, organizationId),
    endpointsOf: (organizationId: string) => endpointsOf(pool, organizationId),
  },
  suppressions: {
    list: (by: ListSuppressions) => listSuppressions(pool, by),
    listAll: (by: ListAllSuppressions) => listAllSuppressions(pool, by),
    export: (by: ExportSuppressions) => exportSuppressions(pool, by),
    messagesOfDomain: (messageIds: readonly string[], domainId: string) => messagesOfDomain(pool, messageIds, domainId),
  },
  topics: {
    list: (by: ListTopics) => listTopics(pool, by),
    optIns: (by: ListOptIns) => listOptIns(pool, by),
  },
  erasures: {
    list: (by: ListErasures) => listErasures(pool, by),
    unfinished: (by: UnfinishedErasures) => unfinishedErasures(pool, by),
  },
  deliveries: {
    due: (by: AskDue) => dueDeliveries(pool, by),
    dueByDestination: (by: AskDueByDestination) => dueByDestination(pool, by),
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
    byId: (...by: Tail<typeof findById>) => findById(pool, ...by),
    byName: (...by: Tail<typeof findByName>) => findByName(pool, ...by),
    message: (...by: Tail<typeof findMessage>) => findMessage(pool, ...by),
    event: (...by: Tail<typeof findEvent>) => findEvent(pool, ...by),
    recentTagContents: (...by: Tail<typeof recentTagContents>) => recentTagContents(pool, ...by),
  },
  waitFor: createWaitFor({ pool, system, awaited }),
  lag: createLagReader({ pool, store, system }),
});

export type ReadModels = ReturnType<typeof createReadModels>;
