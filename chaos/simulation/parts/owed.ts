import { customerEvents } from '../../../src/domain/customer-events.ts';
import type { FinishedTry, WebhookDeliveries } from '../../../src/domain/ports/webhook-deliveries.ts';
import type { Ground } from '../ground.ts';
import type { Log } from './log.ts';

/** What customers' endpoints are to be told, as far as the log and the tries go. */
export interface Owed {
  /** Ids of all events that the endpoint is to get, in the order of the log. */
  readonly eventIds: ReadonlySet<string>;
  /** What is owed and not yet handed over: when the next try is due (ms since the epoch). */
  readonly dues: ReadonlyMap<string, number>;
  /** Whether all of the log has become rows, and no post is under way. */
  isQuiet(): boolean;
  /** Observes recording, claiming and finishing. */
  noticing(deliveries: WebhookDeliveries): WebhookDeliveries;
}

/** A post that was begun has ended by then: its time-out, and some calls that are slow. */
const POST_MS = 25_000;

export const createOwed = ({ scheduler }: Ground, log: Log): Owed => {
  const eventIds = new Set<string>();
  const recorded = new Set<string>();
  const dues = new Map<string, number>();
  let registered = false;
  /** Claimed and unfinished deliveries, and since when. */
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
    // A delivery that another process has ended meanwhile stays ended, whatever this one says.
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
