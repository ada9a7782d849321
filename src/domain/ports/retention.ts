import type { ErasureCounts } from '../erasure/events.ts';

/** A content that retention may remove. */
export interface OldContent {
  readonly id: string;
  /** `partly_erased`: a message of which only the parts about other recipients remain. */
  readonly kind: 'message' | 'reply' | 'link' | 'contact' | 'partly_erased';
  /** Null if it does not belong to a message. */
  readonly messageId: string | null;
  /** Time of storage, in the adapter's format. */
  readonly storedAt: string;
}

export interface StoredBefore {
  readonly organizationId: string;
  readonly before: Date;
  /** Last content of the previous page; null to start from the oldest. */
  readonly after: OldContent | null;
  readonly limit: number;
}

export interface OldRows {
  readonly before: Date;
  readonly limit: number;
}

/** The items that an erasure removes in one step. */
export interface Going {
  readonly erasureId: string;
  readonly organizationId: string;
  /** Ids of contents of messages, replies, links and suppressions. */
  readonly contentIds: readonly string[];
  /** The person's recipient ids in these messages. The identities of other recipients are kept. */
  readonly recipientIds: readonly string[];
  /** Webhook deliveries whose tries are removed: the requests named the person, and the responses may quote them. */
  readonly deliveryIds: readonly string[];
  /** Captured mail is found by Message-ID and sender domain. */
  readonly mail: readonly { readonly internetMessageId: string; readonly fromDomain: string }[];
  readonly at: Date;
}

export interface ErasureNote {
  readonly erasureId: string;
  readonly organizationId: string;
  /** Number of messages with recipients that have no final outcome yet. */
  readonly waitingMessages: number;
  readonly isDone: boolean;
  readonly at: Date;
}

export interface ErasureProgress {
  readonly counts: ErasureCounts;
  readonly waitingMessages: number;
  /** ISO 8601. */
  readonly updatedAt: string;
}

/**
 * PORT: removes expired and erased data from the vault and the inbox, a batch at a time. Adapter:
 * `adapters/retention/postgres`.
 */
export interface Retention {
  /** Contents of an organization stored before a time, oldest first. */
  contents(query: StoredBefore): Promise<readonly OldContent[]>;
  /**
   * Replaces contents with the record that they expired, in one step: nothing is removed without a record. It keeps the
   * hashes of parts that an event is bound to.
   * @returns the number replaced, without those that expired earlier or are expiring concurrently.
   */
  expire(ids: readonly string[], at: Date): Promise<number>;
  /**
   * Removes data about a person and adds the counts to the progress of the erasure, in one step. Repeating it removes
   * and counts nothing.
   * @returns the number of removed rows.
   */
  erase(going: Going): Promise<number>;
  /** Number of rows that `erase` would remove, by kind. */
  countErasable(going: Omit<Going, 'erasureId' | 'at'>): Promise<ErasureCounts>;
  /**
   * Records how many messages an erasure waits for, and whether this vault no longer holds anything about the person.
   */
  noteErasure(note: ErasureNote): Promise<void>;
  /** Progress of erasures by id. Those that have not started are absent. */
  erasureProgress(ids: readonly string[]): Promise<ReadonlyMap<string, ErasureProgress>>;
  /**
   * Deletes finished webhook deliveries and replays, and tries, from before a time.
   * @returns the number of the most numerous kind.
   */
  deleteWebhookTries(rows: OldRows): Promise<number>;
  /** Webhook endpoints, in order after the given one, with pending deliveries that were due before a time. */
  waitingEndpoints(query: OldRows & { readonly after: string }): Promise<readonly string[]>;
  /** Deletes pending deliveries of an endpoint. @returns the number deleted. */
  deletePendingDeliveries(webhookId: string, limit: number): Promise<number>;
  /** Deletes captured mail from before a time. @returns the number deleted. */
  deleteCapturedMail(rows: OldRows): Promise<number>;
  /** Deletes refused requests from before a time. @returns the number deleted. */
  deleteRefusedRequests(rows: OldRows): Promise<number>;
  /** Deletes refused requests whose bodies named an address. @returns the number deleted. */
  eraseRefusedRequests(person: { readonly organizationId: string; readonly digest: string }): Promise<number>;
}
