/**
 * PORT: removes what the vault and the inbox no longer keep, a batch at a time. Adapters:
 * `adapters/retention/postgres`, `test/support/in-memory/retention`.
 */

/** A content that retention may remove. */
export interface OldContent {
  readonly id: string;
  readonly kind: 'message' | 'reply' | 'link' | 'contact';
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

export interface Retention {
  /** Contents of an organization stored before a time, oldest first. */
  contents(query: StoredBefore): Promise<readonly OldContent[]>;
  /**
   * Puts the record that they expired in the place of contents, in one step: nothing is removed without it. @returns how
   * many; what expired before, or is just expiring, is left out.
   */
  expire(ids: readonly string[], at: Date): Promise<number>;
  /** Deletes webhook deliveries that ended, and tries, from before a time. @returns how many of the more numerous. */
  deleteWebhookTries(rows: OldRows): Promise<number>;
  /** Deletes captured mail from before a time. @returns how many. */
  deleteCapturedMail(rows: OldRows): Promise<number>;
}
