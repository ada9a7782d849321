import type { EventStore, RecordedEvent } from '../../domain/ports/event-store.ts';
import type { System } from '../../domain/ports/system.ts';
import type { Duty } from '../duty.ts';
import type { Work } from '../supervise.ts';
import type { Accepted, AcceptedAtHand } from './accepted-at-hand.ts';
import { batched, type DeliveryQueue, type DeliveryQueues, STREAMS, type Stream } from './delivery-job.ts';
import { type Destinations, dueOf } from './destinations.ts';
import type { RecentlyAdded } from './recently-added.ts';

export interface DispatchMessages {
  readonly store: Pick<EventStore, 'head' | 'subscribe'>;
  readonly queues: DeliveryQueues;
  /** Absent: one server takes everything. */
  readonly destinations?: Destinations | undefined;
  readonly recentlyAdded: RecentlyAdded;
  readonly acceptedAtHand: Pick<AcceptedAtHand, 'add'>;
  readonly duty: Pick<Duty, 'isOn'>;
  readonly system: Pick<System, 'monotonicMs'>;
}

/**
 * Jobs in the queue above which nothing is added: what is passed over the sweeper adds later. Higher fills the queue's
 * memory when delivery is slow, lower leaves more to the sweeper, which is a second slower.
 */
const HIGH_WATER_JOBS = 500;
/** The queue's depth is asked this often at most: a question for every lone message would cost more than the message. */
const DEPTH_AGE_MS_MAX = 250;

/**
 * What wants to be sent at once. A message for later follows its acceptance with its schedule, in the same append; where a
 * page ends between the two, it is queued for nothing: the claim finds that it is not due.
 */
const wantedIn = (events: readonly RecordedEvent[]): readonly Accepted[] => {
  const wanted = new Map<string, Accepted>();
  for (const event of events) {
    if (event.type === 'MessageAccepted') wanted.set(event.data.messageId, event);
    if (event.type === 'MessageScheduled') wanted.delete(event.data.messageId);
  }
  return [...wanted.values()];
};

/** Whether a queue has jobs enough; asked now and then, counted in between. */
const createDepth = (queue: DeliveryQueue, { monotonicMs }: Pick<System, 'monotonicMs'>) => {
  let depth = 0;
  let askedMs = Number.NEGATIVE_INFINITY;
  return {
    isFull: async (): Promise<boolean> => {
      if (monotonicMs() - askedMs > DEPTH_AGE_MS_MAX) {
        depth = await queue.depth();
        askedMs = monotonicMs();
      }
      return depth >= HIGH_WATER_JOBS;
    },
    add: (jobs: number): void => {
      depth += jobs;
    },
  };
};

/**
 * Puts what is accepted from now on into the queue at once. It has no memory: what was accepted before it started, or
 * while the queue was full or away, or for later, is in the timetable, and the sweeper's.
 */
export const dispatchMessages =
  (deps: DispatchMessages): Work =>
  async (signal, working) => {
    const { store, queues, destinations, recentlyAdded, acceptedAtHand, duty, system } = deps;
    const depths = {
      transactional: createDepth(queues.transactional, system),
      bulk: createDepth(queues.bulk, system),
    };

    const dispatch = async (stream: Stream, wanted: readonly Accepted[]): Promise<void> => {
      if (wanted.length === 0 || !duty.isOn() || (await depths[stream].isFull())) return;
      const due = wanted.flatMap(({ data: { messageId, recipients }, metadata: { environment } }) => {
        const domains = recipients.map(({ domain }) => domain);
        return dueOf({ messageId, environment: environment ?? 'live', domains }, destinations);
      });
      const jobs = batched(due);
      acceptedAtHand.add(wanted);
      await queues[stream].add(jobs);
      recentlyAdded.add(due);
      depths[stream].add(jobs.length);
    };

    const dispatchAll = async (wanted: readonly Accepted[]): Promise<void> => {
      const streams = Object.groupBy(wanted, ({ data }) => data.stream);
      for (const stream of STREAMS) await dispatch(stream, streams[stream] ?? []);
    };

    const follow = store.subscribe(await store.head(), { categories: ['message'] }, signal);
    for await (const { events } of follow) {
      await dispatchAll(wantedIn(events));
      working();
    }
  };
