import { load } from '../../commands/execute.ts';
import { auditor } from '../../domain/audit/audit.ts';
import { inboundRoute } from '../../domain/inbound/route.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import {
  auditorStream,
  inboundRouteStream,
  membersStream,
  messageStream,
  organizationStream,
  webhookStream,
} from '../../domain/kernel/streams.ts';
import { members } from '../../domain/member/member.ts';
import { isOpen, message, type RecipientStatus } from '../../domain/message/message.ts';
import type { OrganizationSettings } from '../../domain/organization/events.ts';
import { organization } from '../../domain/organization/organization.ts';
import type { Contents, OldContent, OldRows, Retention, StoredBefore } from '../../domain/ports/contents.ts';
import { REFUSED_REQUEST_DAYS } from '../../domain/ports/requests.ts';
import { webhook } from '../../domain/webhook/webhook.ts';
import { pause, type System } from '../../lib/async/async.ts';
import { type Leadership, repeat, type Work } from '../supervise.ts';

/**
 * Deletes rows that are no longer needed: webhook tries and captured mail after 30 days, refused requests after 7 days,
 * and pending deliveries of deleted webhooks.
 */

/** Larger holds locks and the connection for longer, smaller costs round trips. */
const BATCH = 500;
/** Rest after a batch, in times of what it took: a fifth of a connection's time is used. Less is felt, more takes days. */
const REST_SHARE = 4;
const WEBHOOK_TRY_DAYS = 30;
const CAPTURED_MAIL_DAYS = 30;
/** A post that was due this long ago is not in flight: its endpoint is failing, disabled or deleted. */
const WAITING_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Rests in proportion to the work. @returns what the work returns. */
const paced = async <Result>(system: System, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> => {
  const begunMs = system.monotonicMs();
  const result = await work();
  await pause(system, (system.monotonicMs() - begunMs) * REST_SHARE, signal);
  return result;
};

interface DeleteOldRows {
  readonly retention: Omit<Retention, 'contents' | 'expire'>;
  readonly store: EventStore;
  readonly system: System;
}

export const deleteOldRows = async (
  { retention, store, system }: DeleteOldRows,
  signal: AbortSignal,
): Promise<void> => {
  const ago = (ms: number): Date => new Date(system.now().getTime() - ms);

  /** Batch by batch, until one is not full. */
  const deleteAll = async (remove: () => Promise<number>): Promise<void> => {
    while (!signal.aborted && (await paced(system, signal, remove)) === BATCH);
  };

  const deleteOlder = (days: number, remove: (rows: OldRows) => Promise<number>): Promise<void> => {
    const rows = { before: ago(days * DAY_MS), limit: BATCH };
    return deleteAll(() => remove(rows));
  };

  /** The log decides: what a webhook was owed may be stored after it was deleted. A disabled one gets it when it is enabled. */
  const isDeleted = async (webhookId: string): Promise<boolean> =>
    (await load(store, webhook, webhookStream(webhookId))).state.status === 'deleted';

  const deleteOwed = async (webhookId: string): Promise<void> => {
    if (signal.aborted || !(await paced(system, signal, () => isDeleted(webhookId)))) return;
    await deleteAll(() => retention.deletePendingDeliveries(webhookId, BATCH));
  };

  const deleteOwedToDeleted = async (after: string): Promise<void> => {
    const waiting = { before: ago(WAITING_MS), after, limit: BATCH };
    const page = await paced(system, signal, () => retention.waitingEndpoints(waiting));
    for (const webhookId of page) await deleteOwed(webhookId);
    const last = page.at(-1);
    if (page.length === BATCH && last !== undefined && !signal.aborted) await deleteOwedToDeleted(last);
  };

  await deleteOlder(WEBHOOK_TRY_DAYS, retention.deleteWebhookTries);
  await deleteOlder(CAPTURED_MAIL_DAYS, retention.deleteCapturedMail);
  await deleteOlder(REFUSED_REQUEST_DAYS, retention.deleteRefusedRequests);
  if (!signal.aborted) await deleteOwedToDeleted('');
};

/**
 * Removes expired data: contents of messages after the retention of their organization, and rows that are no longer needed.
 * A round goes through all organizations, oldest contents first, in small batches with pauses, so that it hardly affects
 * live traffic.
 *
 * A message's content stays as long as a recipient is open, however old it is. The read model of messages provides this. It
 * may be behind the log, but a recipient that has ended never reopens. Messages missing from it are read from the log.
 */

/** Status of messages by id, as far as the read models know. */
type MessageStatuses = (ids: readonly string[]) => Promise<ReadonlyMap<string, RecipientStatus>>;

export interface ExpireContents {
  readonly retention: Retention;
  readonly messageStatuses: MessageStatuses;
  readonly organizations: ReadonlyMap<string, unknown>;
  /** Resolves when all organizations are known. */
  readonly caughtUp: Promise<void>;
  readonly store: EventStore;
  readonly contents: Pick<Contents, 'get'>;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly system: System;
  /** Counts. */
  readonly onExpired?: ((contents: number) => void) | undefined;
}

/** Between rounds: how late what is not kept at all goes. Each costs a query per organization, and one per open old mail. */
const ROUND_EVERY_MS = 600_000;
/** Nothing younger goes, even where nothing is kept: requests, webhooks and suppressions still read it. */
const YOUNGEST_MS = 3_600_000;

interface KeptContents {
  readonly organizationId: string;
  readonly contactId: string | null;
  readonly statuses: ReadonlyMap<string, RecipientStatus>;
}

const ignore = (): void => undefined;

export const expireContents = (parts: ExpireContents): Work => {
  const { retention, messageStatuses, organizations, caughtUp, store, contents, leadership, system } = parts;
  const { onExpired = ignore } = parts;

  /** False for a message that the log lacks: only its content was stored. */
  const isOpenInLog = async (messageId: string): Promise<boolean> => {
    const { state } = await load(store, message, messageStream(messageId));
    return state.status !== 'absent' && state.recipients.some(({ status }) => isOpen(status));
  };

  const isOfRoute = async (id: string, routeId: string): Promise<boolean> => {
    const { state } = await load(store, inboundRoute, inboundRouteStream(routeId));
    return state.status === 'active' && state.forwardTo?.addressId === id;
  };

  /** Whether it is the contact of an auditor or a member who was not removed, or an address that a route forwards to. */
  const isInUse = async (id: string, organizationId: string): Promise<boolean> => {
    const body = (await contents.get([id])).get(id);
    if (body?.kind !== 'contact') return false;
    if (body.inboundRoute !== undefined) return isOfRoute(id, body.inboundRoute);
    if (body.auditor !== undefined)
      return (await load(store, auditor, auditorStream(body.auditor.id))).state.status === 'active';
    if (body.member === undefined) return false;
    return body.member.id in (await load(store, members, membersStream(organizationId))).state.members;
  };

  const isNeeded = async (
    { id, kind, messageId }: OldContent,
    { organizationId, contactId, statuses }: KeptContents,
  ): Promise<boolean> => {
    if (kind === 'contact') return id === contactId || (await isInUse(id, organizationId));
    if (kind !== 'message' || messageId === null) return false;
    const status = statuses.get(messageId);
    return status === undefined ? isOpenInLog(messageId) : isOpen(status);
  };

  const statusesOf = (page: readonly OldContent[]): Promise<ReadonlyMap<string, RecipientStatus>> =>
    messageStatuses(
      page.flatMap(({ kind, messageId }) => (kind === 'message' && messageId !== null ? [messageId] : [])),
    );

  /** Those that nothing needs, in order. */
  const unneeded = async (page: readonly OldContent[], kept: KeptContents): Promise<readonly string[]> => {
    const ids: string[] = [];
    for (const each of page) if (!(await isNeeded(each, kept))) ids.push(each.id);
    return ids;
  };

  const expirePage = async (page: readonly OldContent[], of: Omit<KeptContents, 'statuses'>): Promise<void> => {
    if (page.length === 0) return;
    const ids = await unneeded(page, { ...of, statuses: await statusesOf(page) });
    if (ids.length > 0) onExpired(await retention.expire(ids, system.now()));
  };

  /** Reads the settings from the log, because removal cannot be undone. @returns null: nothing must be removed. */
  const settingsOf = async (organizationId: string): Promise<OrganizationSettings | null> => {
    const { state } = await load(store, organization, organizationStream(organizationId));
    return state.status === 'absent' || state.heldSince !== null ? null : state.settings;
  };

  /** @returns the examined contents; a legal hold that begins in the meantime protects the next page. */
  const expireNext = async (query: Pick<StoredBefore, 'organizationId' | 'after'>): Promise<readonly OldContent[]> => {
    const settings = await settingsOf(query.organizationId);
    if (settings === null) return [];
    const { contentDays, contactId } = settings;
    const before = new Date(system.now().getTime() - Math.max(YOUNGEST_MS, contentDays * DAY_MS));
    const found = await retention.contents({ ...query, before, limit: BATCH });
    await expirePage(found, { organizationId: query.organizationId, contactId });
    return found;
  };

  const expireOf = async (organizationId: string, signal: AbortSignal): Promise<void> => {
    let after: OldContent | null = null;
    while (!signal.aborted) {
      const query: Parameters<typeof expireNext>[0] = { organizationId, after };
      const page: readonly OldContent[] = await paced(system, signal, () => expireNext(query));
      if (page.length < BATCH) return;
      after = page.at(-1) ?? null;
    }
  };

  const round = async (signal: AbortSignal): Promise<void> => {
    for (const organizationId of organizations.keys()) {
      if (signal.aborted || !leadership.isLeader()) return;
      await expireOf(organizationId, signal);
    }
    await deleteOldRows({ retention, store, system }, signal);
  };

  return repeat(system, async (signal) => {
    await caughtUp;
    await round(signal);
    return ROUND_EVERY_MS;
  });
};
