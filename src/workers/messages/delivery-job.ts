import type { Environment } from '../../domain/environment.ts';
import type { NewJob, Queue } from '../../domain/queue.ts';

/** Messages to be sent by one route. Ids only: a queue is not a place for addresses. */
export interface DeliveryJob {
  readonly route: Environment;
  readonly messageIds: readonly string[];
}

export type DeliveryQueue = Queue<DeliveryJob>;

/** A message that wants to be delivered now. */
export interface DueMessage {
  readonly messageId: string;
  readonly route: Environment;
}

/** The queue's cost is per job. Larger batches are handed back and done twice in larger lumps. */
export const BATCH_MESSAGES_MAX = 100;

/** Batches of one route each, in order; a lone message is a batch of one. */
export const batched = (due: readonly DueMessage[]): readonly NewJob<DeliveryJob>[] =>
  Object.entries(Object.groupBy(due, ({ route }) => route)).flatMap(([route, messages]) =>
    Array.from({ length: Math.ceil(messages.length / BATCH_MESSAGES_MAX) }, (_, index) => {
      const from = index * BATCH_MESSAGES_MAX;
      const messageIds = messages.slice(from, from + BATCH_MESSAGES_MAX).map(({ messageId }) => messageId);
      return { data: { route: route as Environment, messageIds } }; // a key of the grouping above
    }),
  );
