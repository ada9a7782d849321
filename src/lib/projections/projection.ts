import type { EventShape, EventStore, LogProofs, Page, RecordedEvent } from '../event-log/event-log.ts';
import type { Batch, LogFollower } from '../event-log/follower.ts';
import type { Database } from './database.ts';

/** Origin of an event. */
interface Context {
  readonly organizationId: string;
  /** ISO 8601. */
  readonly occurredAt: string;
}

export type LogEvent = RecordedEvent<EventShape, Context>;
export type LogPage = Page<EventShape, Context>;
export type Log = EventStore<EventShape, Context>;
export type Follower = LogFollower<EventShape, Context>;
export type FollowedBatch = Batch<EventShape, Context>;

/** Writes a read model. Table names have no schema: the transaction sets it. */
export interface Projection {
  readonly name: string;
  /** Raise it when the same events make other rows: the next start rebuilds the read model. */
  readonly version: number;
  /** Stream categories that it follows. */
  readonly categories: readonly string[];
  /** Tables that only this projection writes. */
  readonly tables: readonly string[];
  /** Types of events that are written at once. Others wait up to a second for what follows them. */
  readonly urgent?: readonly string[];
  /** An event that cannot be applied is never parked: nothing after it can be applied without it. */
  readonly isWhole?: boolean;
  /**
   * Applies events in order, inside the caller's transaction.
   * @param proofs of the log. Absent: its events carry no proof of who wrote them.
   */
  apply(db: Database, events: readonly LogEvent[], proofs?: LogProofs): Promise<void>;
}
