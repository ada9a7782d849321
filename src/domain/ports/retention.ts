import type { ErasureCounts } from '../erasure/events.ts';

/** A content that retention may remove. */
export interface OldContent {
  readonly id: string;
  /** `partly_erased`: a message of which only other recipients than the erased ones are left. */
  readonly kind: 'message' | 'reply' | 'link' | 'contact' | 'partly_erased';
  /** null: it is not of a message. */
  readonly messageId: string | null;
  /** When it was stored, in the form of the adapter. */
  readonly storedAt: string;
}

export interface StoredBefore {
  readonly organizationId: string;
  readonly before: Date;
  /** The last of the page before; null: from the oldest. */
  readonly after: OldContent | null;
  readonly limit: number;
}

export interface OldRows {
  readonly before: Date;
  readonly limit: number;
}

/** What an erasure removes in one step. */
export interface Going {
  readonly erasureId: string;
  readonly organizationId: string;
  /** Of messages, replies, links and suppressions. */
  readonly contentIds: readonly string[];
  /** The person, as recipient of these messages. Who the other recipients were is kept. */
  readonly recipientIds: readonly string[];
  /** Webhook deliveries whose tries go: the posts named the person, and the answers may quote them. */
  readonly deliveryIds: readonly string[];
  /** Captured mail goes by the Message-ID and the sender's domain. */
  readonly mail: readonly { readonly internetMessageId: string; readonly fromDomain: string }[];
  readonly at: Date;
}

export interface ErasureNote {
  readonly erasureId: string;
  readonly organizationId: string;
  /** Messages that have not ended for all recipients. */
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
 * PORT: removes what the vault and the inbox no longer keep, a batch at a time. Adapter: `adapters/retention/postgres`.
 */
export interface Retention {
  /** Contents of an organization stored before a time, oldest first. */
  contents(query: StoredBefore): Promise<readonly OldContent[]>;
  /**
   * Puts the record that they expired in the place of contents, in one step: nothing is removed without it. Hashes of the
   * parts that an event is bound to stay in it. @returns how many; what expired before, or is just expiring, is left out.
   */
  expire(ids: readonly string[], at: Date): Promise<number>;
  /**
   * Removes what is stored about a person, and adds what was removed to the progress of the erasure, in one step.
   * Repeating it removes and counts nothing. @returns how many rows were removed.
   */
  erase(going: Going): Promise<number>;
  /** How many rows `erase` would remove, by kind. */
  countErasable(going: Omit<Going, 'erasureId' | 'at'>): Promise<ErasureCounts>;
  /** Notes how many messages an erasure waits for, and whether this vault holds nothing of the person any more. */
  noteErasure(note: ErasureNote): Promise<void>;
  /** Progress of erasures by id; of one that has not begun there is none. */
  erasureProgress(ids: readonly string[]): Promise<ReadonlyMap<string, ErasureProgress>>;
  /** Deletes webhook deliveries and replays that ended, and tries, from before a time. @returns how many of the most numerous. */
  deleteWebhookTries(rows: OldRows): Promise<number>;
  /** Endpoints of webhooks, in order after one of them, that have pending deliveries which were due before a time. */
  waitingEndpoints(query: OldRows & { readonly after: string }): Promise<readonly string[]>;
  /** Deletes pending deliveries of an endpoint. @returns how many. */
  deletePendingDeliveries(webhookId: string, limit: number): Promise<number>;
  /** Deletes captured mail from before a time. @returns how many. */
  deleteCapturedMail(rows: OldRows): Promise<number>;
  /** Deletes refused requests from before a time. @returns how many. */
  deleteRefusedRequests(rows: OldRows): Promise<number>;
  /** Deletes refused requests whose bodies named an address. @returns how many. */
  eraseRefusedRequests(person: { readonly organizationId: string; readonly digest: string }): Promise<number>;
}
