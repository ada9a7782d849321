import { load } from '../../commands/execute.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import { webhookStream } from '../../domain/kernel/streams.ts';
import type { OldRows, Retention } from '../../domain/ports/contents.ts';
import { REFUSED_REQUEST_DAYS } from '../../domain/ports/requests.ts';
import { webhook } from '../../domain/webhook/webhook.ts';
import { pause, type System } from '../../lib/async/async.ts';

/**
 * Deletes rows that are no longer needed: webhook tries and captured mail after 30 days, refused requests after 7 days,
 * and pending deliveries of deleted webhooks.
 */

/** Larger holds locks and the connection for longer, smaller costs round trips. */
export const BATCH = 500;
/** Rest after a batch, in times of what it took: a fifth of a connection's time is used. Less is felt, more takes days. */
const REST_SHARE = 4;
const WEBHOOK_TRY_DAYS = 30;
const CAPTURED_MAIL_DAYS = 30;
/** A post that was due this long ago is not in flight: its endpoint is failing, disabled or deleted. */
const WAITING_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** Rests in proportion to the work. @returns what the work returns. */
export const paced = async <Result>(
  system: System,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> => {
  const begunMs = system.monotonicMs();
  const result = await work();
  await pause(system, (system.monotonicMs() - begunMs) * REST_SHARE, signal);
  return result;
};

export interface DeleteOldRows {
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
