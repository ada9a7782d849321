import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import type { LoadedStream } from '../../commands/execute.ts';
import { fold } from '../../domain/kernel/aggregate.ts';
import type { EventStore, RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { MessageEvent } from '../../domain/kernel/events.ts';
import { type Message, message } from '../../domain/message/message.ts';
import type { System } from '../../lib/async/async.ts';
import { type Leadership, repeat, type Work } from '../supervise.ts';
import {
  batched,
  type DeliveryQueue,
  type DeliveryQueues,
  type Destinations,
  dueOf,
  MESSAGE_CLASSES,
  type MessageClass,
  type RecentlyQueued,
} from './due.ts';

/**
 * Dispatch: queues messages as soon as the log says that they were accepted. It keeps no position: what was accepted
 * before it started, or while the queue was full or away, or for later, is in the timetable, and the sweep queues it.
 */

export type AcceptedEvent = RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageAccepted' }>>;

/**
 * Messages as they were accepted a moment ago, which saves the claim a read. A message may have changed since: a claim
 * made upon a stale state meets a revision conflict.
 */
export interface AcceptedCache {
  add(events: readonly AcceptedEvent[]): void;
  /** Once for each message. */
  take(messageId: string): LoadedStream<Message> | undefined;
}

/** About 10 MB with a few recipients each. What is forgotten early is read from the log. */
const CACHED_MAX = 5_000;

export const createAcceptedCache = (): AcceptedCache => {
  const events = new LRUCache<string, AcceptedEvent>({ max: CACHED_MAX });
  return {
    add: (accepted) => {
      for (const event of accepted) events.set(event.data.messageId, event);
    },
    take: (messageId) => {
      const event = events.get(messageId);
      if (event === undefined) return undefined;
      events.delete(messageId);
      return { state: fold(message, [event]), revision: event.revision };
    },
  };
};

/**
 * Which of the due mail a process queues. A queue on Redis distributes jobs among all workers, so one of them queues
 * everything. Without Redis each worker works its own jobs, so each queues its share: for a moment two may believe that a
 * message is theirs, and one of them loses the claim.
 */
export interface Share {
  /** Nothing belongs to this process. */
  isEmpty(): boolean;
  has(messageId: string): boolean;
}

/** Workers that are running, and the place of this one among them, from 0. */
export interface WorkerPlace {
  readonly place: number;
  readonly workers: number;
}

/** Longer: mail of a worker that has ended waits longer. Each look is a small query. */
const LOOK_EVERY_MS = 1_000;

interface ShareParts {
  /** Absent: the queue distributes jobs. */
  readonly workerPlace?: (() => Promise<WorkerPlace>) | undefined;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly system: System;
}

/** A share is empty until the first look, and stays as it was after a failed one. @returns it, and what keeps it up to date. */
export const createShare = ({
  workerPlace,
  leadership: { isLeader },
  system,
}: ShareParts): { readonly share: Share; readonly jobs: Readonly<Record<string, Work>> } => {
  if (workerPlace === undefined) return { share: { isEmpty: () => !isLeader(), has: isLeader }, jobs: {} };
  let known: WorkerPlace | null = null;
  const look = async (): Promise<number> => {
    known = await workerPlace();
    return LOOK_EVERY_MS;
  };
  return {
    share: {
      isEmpty: () => known === null,
      has: (messageId) => known !== null && crc32(messageId) % known.workers === known.place,
    },
    jobs: { 'watch of other workers': repeat(system, look) },
  };
};

export interface DispatchMessages {
  readonly store: Pick<EventStore, 'head' | 'subscribe'>;
  readonly queues: DeliveryQueues;
  /** Absent: one server takes everything. */
  readonly destinations?: Destinations | undefined;
  readonly recentlyQueued: RecentlyQueued;
  readonly acceptedCache: Pick<AcceptedCache, 'add'>;
  readonly share: Share;
  readonly system: Pick<System, 'monotonicMs'>;
}

/**
 * Jobs in the queue above which nothing is added: the sweep adds it later. Higher fills the queue's memory when delivery is
 * slow, lower leaves more to the sweep, which is a second slower.
 */
const HIGH_WATER_JOBS = 500;
/** The queue's depth is read this often at most: reading it for each message would cost more than the message. */
const DEPTH_AGE_MS_MAX = 250;

/**
 * Messages to be sent at once. A scheduled message has `MessageScheduled` right after `MessageAccepted`, in the same append;
 * if a page ends between the two, it is queued too early, and the claim finds that it is not due.
 */
const wantedIn = (events: readonly RecordedEvent[]): readonly AcceptedEvent[] => {
  const wanted = new Map<string, AcceptedEvent>();
  for (const event of events) {
    if (event.type === 'MessageAccepted') wanted.set(event.data.messageId, event);
    if (event.type === 'MessageScheduled') wanted.delete(event.data.messageId);
  }
  return [...wanted.values()];
};

/**
 * The queue's depth: read now and then, counted in between. It is waited for where the queue may be full: a lone message is
 * not held up by a question.
 */
const createDepth = (queue: DeliveryQueue, { monotonicMs }: Pick<System, 'monotonicMs'>) => {
  let depth = Number.POSITIVE_INFINITY;
  let askedMs = Number.NEGATIVE_INFINITY;
  const read = async (): Promise<void> => {
    askedMs = monotonicMs();
    depth = await queue.depth();
  };
  const isFull = (): boolean => depth >= HIGH_WATER_JOBS;
  return {
    isFull: async (): Promise<boolean> => {
      if (monotonicMs() - askedMs <= DEPTH_AGE_MS_MAX) return isFull();
      if (isFull()) await read();
      else read().catch(() => undefined); // a queue that is away refuses the jobs as well
      return isFull();
    },
    add: (jobs: number): void => {
      depth += jobs;
    },
  };
};

/** @returns what queues the messages that a page of events accepts. */
const createDispatcher = (deps: DispatchMessages): { apply(events: readonly RecordedEvent[]): Promise<void> } => {
  const { queues, destinations, recentlyQueued, acceptedCache, share, system } = deps;
  const depths = {
    transactional: createDepth(queues.transactional, system),
    bulk: createDepth(queues.bulk, system),
  };

  const dispatch = async (messageClass: MessageClass, wanted: readonly AcceptedEvent[]): Promise<void> => {
    if (wanted.length === 0 || (await depths[messageClass].isFull())) return;
    const due = wanted.flatMap(({ data: { messageId, recipients }, metadata: { environment, organizationId } }) => {
      const domains = recipients.map(({ domain }) => domain);
      return dueOf(
        { messageId, organizationId: organizationId ?? undefined, environment: environment ?? 'live', domains },
        destinations,
      );
    });
    const jobs = batched(due);
    acceptedCache.add(wanted);
    await queues[messageClass].add(jobs);
    recentlyQueued.add(due);
    depths[messageClass].add(jobs.length);
  };

  return {
    apply: async (events) => {
      const wanted = wantedIn(events).filter(({ data }) => share.has(data.messageId));
      const classes = Object.groupBy(wanted, ({ data }) => data.stream);
      for (const messageClass of MESSAGE_CLASSES) await dispatch(messageClass, classes[messageClass] ?? []);
    },
  };
};

/** Queues messages accepted from now on. */
export const dispatchMessages =
  (deps: DispatchMessages): Work =>
  async (signal, working) => {
    const { store } = deps;
    const dispatcher = createDispatcher(deps);
    for await (const page of store.subscribe(await store.head(), { categories: ['message'] }, signal)) {
      await dispatcher.apply(page.events);
      working();
    }
  };
