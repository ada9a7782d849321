import { customerEvents } from '../../../src/domain/customer-events/customer-events.ts';
import type { FinishedTry, WebhookDeliveries } from '../../../src/domain/ports/webhooks.ts';
import type { Ground } from '../ground.ts';
import type { Log } from './log.ts';

/** Pending webhook deliveries, derived from the log and the attempts. */
export interface PendingDeliveries {
  /** Ids of all events that the endpoint must receive, in log order. */
  readonly eventIds: ReadonlySet<string>;
  /** Pending deliveries and when the next attempt of each is due, Unix time in milliseconds. */
  readonly dues: ReadonlyMap<string, number>;
  /** True if the whole log has been turned into deliveries and no post is in flight. */
  isQuiet(): boolean;
  /** Wraps deliveries to observe recording, claiming and finishing. */
  noticing(deliveries: WebhookDeliveries): WebhookDeliveries;
}

/** Upper bound for a post: its time-out plus some slow calls. */
const POST_MS = 25_000;

export const createPendingDeliveries = ({ scheduler }: Ground, log: Log): PendingDeliveries => {
  const eventIds = new Set<string>();
  const recorded = new Set<string>();
  const dues = new Map<string, number>();
  let registered = false;
  /** Claimed, unfinished deliveries and their claim times. */
  const claims = new Map<string, number>();

  log.onEvent(({ event }) => {
    registered ||= event.type === 'WebhookRegistered';
    if (!registered) return;
    for (const { id, type, environment } of customerEvents(event)) {
      if (environment !== 'test' && !type.startsWith('webhook.')) eventIds.add(id);
    }
  });

  const note = ({ owed, now }: Pick<Parameters<WebhookDeliveries['record']>[0], 'owed' | 'now'>): void => {
    for (const { id, event } of owed) {
      recorded.add(event.id);
      dues.set(id, now.getTime());
    }
  };

  const noteTry = ({ deliveryId, state, dueAt }: FinishedTry): void => {
    claims.delete(deliveryId);
    if (state !== 'pending') dues.delete(deliveryId);
    // If another process has finished the delivery, it stays finished whatever this process reports.
    else if (dues.has(deliveryId)) dues.set(deliveryId, dueAt.getTime());
  };

  return {
    eventIds,
    dues,
    isQuiet: () =>
      recorded.size === eventIds.size && ![...claims.values()].some((atMs) => scheduler.nowMs() - atMs < POST_MS),
    noticing: (deliveries) => ({
      ...deliveries,
      distribute: async (distribution) => {
        await deliveries.distribute(distribution);
        note(distribution);
      },
      record: async (recording) => {
        const moved = await deliveries.record(recording);
        if (moved) note(recording);
        return moved;
      },
      claim: async (wanted, times) => {
        const claimed = await deliveries.claim(wanted, times);
        for (const { id } of claimed) {
          dues.set(id, times.leaseUntil.getTime());
          claims.set(id, scheduler.nowMs());
        }
        return claimed;
      },
      finish: async (tries) => {
        await deliveries.finish(tries);
        for (const tried of tries) noteTry(tried);
      },
    }),
  };
};
