import type { NewJob, Queue } from '../../domain/ports/queue.ts';

/** Recipients of a message who want to be delivered to now. */
export interface Due {
  readonly messageId: string;
  /** Their domain; null: whatever their domains, one server takes it. */
  readonly destination: string | null;
  /** Their time to live is over: nothing is left to be sent. */
  readonly isExpired?: true;
}

/** What is due, for any destination. Ids and domains only: a queue is not a place for addresses. */
export interface DeliveryJob {
  readonly due: readonly Due[];
}

export type DeliveryQueue = Queue<DeliveryJob>;

/** A message that somebody waits for stands in no line behind a campaign. */
export interface DeliveryQueues {
  readonly transactional: DeliveryQueue;
  readonly bulk: DeliveryQueue;
}
export type Stream = keyof DeliveryQueues;
export const STREAMS: readonly Stream[] = ['transactional', 'bulk'];

/** Names it among all that is due. */
export const keyOf = ({ messageId, destination }: Due): string =>
  destination === null ? messageId : `${messageId} ${destination}`;

/** The queue's cost is per job. Larger batches are handed back and done twice in larger lumps. */
export const BATCH_DUE_MAX = 100;

/** In order; a lone message is a batch of one. */
export const batched = (due: readonly Due[]): readonly NewJob<DeliveryJob>[] =>
  Array.from({ length: Math.ceil(due.length / BATCH_DUE_MAX) }, (_, index) => {
    const from = index * BATCH_DUE_MAX;
    return { data: { due: due.slice(from, from + BATCH_DUE_MAX) } };
  });
