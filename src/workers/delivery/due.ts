import { LRUCache } from 'lru-cache';
import type { Environment } from '../../domain/kernel/environment.ts';
import type { NewJob, Queue, Queues } from '../../domain/ports/queue.ts';
import type { System } from '../../lib/async/async.ts';

/**
 * A due delivery: the unit of work in the queue, with facts that this process knows before the timetable does.
 */
export interface DueMail {
  readonly messageId: string;
  /** Recipient domain; null: all recipients, one server takes everything. */
  readonly destination: string | null;
  /** Organization whose share of the queue it uses. Absent: queued or stored by a version that did not record it. */
  readonly organizationId?: string | undefined;
  /** The recipients' time to live has ended, so it is not sent. */
  readonly isExpired?: true;
}

/** Ids and domains only: a queue is not a place for addresses. */
export interface DeliveryJob {
  readonly due: readonly DueMail[];
}

export type DeliveryQueue = Queue<DeliveryJob>;

/** A queue for each message class: a password reset does not wait behind a campaign. */
export interface DeliveryQueues {
  readonly transactional: DeliveryQueue;
  readonly bulk: DeliveryQueue;
}
export type MessageClass = keyof DeliveryQueues;
export const openDeliveryQueues = ({ open }: Pick<Queues, 'open'>): DeliveryQueues => ({
  transactional: open<DeliveryJob>('deliver-messages'),
  bulk: open<DeliveryJob>('deliver-bulk-messages'),
});
/** Highest priority first. */
export const MESSAGE_CLASSES: readonly MessageClass[] = ['transactional', 'bulk'];

/** Identifies it among all that is due. */
export const keyOf = ({ messageId, destination }: DueMail): string =>
  destination === null ? messageId : `${messageId} ${destination}`;

/** The queue's cost is per job. A larger batch is handed back, and repeated, in a larger lump. */
const BATCH_DUE_MAX = 100;

/** In order; a lone message is a batch of one. */
export const batched = (due: readonly DueMail[]): readonly NewJob<DeliveryJob>[] =>
  Array.from({ length: Math.ceil(due.length / BATCH_DUE_MAX) }, (_, index) => {
    const from = index * BATCH_DUE_MAX;
    return { data: { due: due.slice(from, from + BATCH_DUE_MAX) } };
  });

/** Which mail servers take the mail of a recipient domain. */
export interface Destinations {
  /** Mailbox provider of a domain: domains with one provider share a destination queue. Never fails. */
  providerOf(domain: string): Promise<string>;
  /** Addresses of a domain's servers; asked for while its provider is suspended. Never fails. Absent: unknown. */
  serversOf?(domain: string): Promise<readonly string[]>;
}

export interface MessageDomains {
  readonly messageId: string;
  readonly organizationId: string | undefined;
  readonly environment: Environment;
  readonly domains: readonly string[];
}

/** Due deliveries of a message: one per recipient domain, or a single one for simulated mail and for a single server. */
export const dueOf = (
  { messageId, organizationId, environment, domains }: MessageDomains,
  destinations: Destinations | undefined,
): readonly DueMail[] =>
  destinations === undefined || environment === 'test'
    ? [{ messageId, organizationId, destination: null }]
    : [...new Set(domains)].map((destination) => ({ messageId, organizationId, destination }));

/** Deliveries that this process has just queued or found not to be due. The sweep skips them. */
export interface RecentlyQueued {
  add(due: readonly DueMail[]): void;
  /** It is not due, by the log. @param since time of that read, ISO 8601. */
  addNotDue(due: DueMail, since: string): void;
  /**
   * Queued less than `QUEUED_MS` ago, or found not due less than `NOT_DUE_MS` ago, and not before it became due
   * (`dueAt`, ISO 8601): a retry is a new matter.
   */
  has(due: DueMail, dueAt: string): boolean;
}

/**
 * How long a due message that is not claimed is assumed to be in the queue. Shorter queues it twice when workers are
 * busy, which costs a read; longer waits longer after a queue was wiped.
 */
const QUEUED_MS = 4000;
/**
 * How long a row that the log contradicts is believed to be stale. Shorter reads the log again and again while read
 * models stand still; an attempt whose claim the timetable never learns of is found so late after its lease.
 */
const NOT_DUE_MS = 60_000;
/** About 20 MB of ids for each of both. What is forgotten early is at worst queued twice. */
const IDS_MAX = 100_000;

interface KnownDelay {
  readonly ms: number;
  readonly at: string;
}

export const createRecentlyQueued = ({ monotonicMs, now }: Pick<System, 'monotonicMs' | 'now'>): RecentlyQueued => {
  const queued = new LRUCache<string, KnownDelay>({ max: IDS_MAX });
  const notDue = new LRUCache<string, KnownDelay>({ max: IDS_MAX });

  const dropOlder = (known: LRUCache<string, KnownDelay>, ageMs: number): void => {
    const before = monotonicMs() - ageMs;
    for (const id of known.rkeys()) {
      if ((known.peek(id)?.ms ?? 0) > before) return;
      known.delete(id);
    }
  };

  const isIn = (known: LRUCache<string, KnownDelay>, ageMs: number, id: string, dueAt: string): boolean => {
    const last = known.peek(id);
    return last !== undefined && last.ms > monotonicMs() - ageMs && last.at >= dueAt;
  };

  return {
    add: (due) => {
      const adding = { ms: monotonicMs(), at: now().toISOString() };
      for (const one of due) queued.set(keyOf(one), adding);
      dropOlder(queued, QUEUED_MS);
    },
    addNotDue: (due, since) => {
      notDue.set(keyOf(due), { ms: monotonicMs(), at: since });
      dropOlder(notDue, NOT_DUE_MS);
    },
    // Held mail has no due time of its own ('' here): its release makes it due, whatever was found before.
    has: (due, dueAt) =>
      isIn(queued, QUEUED_MS, keyOf(due), dueAt) || (dueAt !== '' && isIn(notDue, NOT_DUE_MS, keyOf(due), dueAt)),
  };
};
