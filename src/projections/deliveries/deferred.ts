import type { Database } from '../database.ts';

/** Recipients of a message in one domain that wait for another attempt. */
export interface DeferredMail {
  readonly messageId: string;
  /** A-labels. */
  readonly recipientDomain: string;
  readonly recipientIds: readonly string[];
  /** When the next attempt is due; ISO 8601. */
  readonly nextAttemptAt: string;
}

/** A probe of the primary key for each message. */
const DEFERRED = `
  select d.message_id, d.destination, d.due_at, d.recipients
  from read_models.deliveries d
  where d.message_id = any($1) and d.waiting = 'deferred'`;

interface Row {
  readonly message_id: string;
  readonly destination: string;
  readonly due_at: Date;
  readonly recipients: readonly { readonly id: string }[];
}

/** Mail of these messages that still waits after an attempt. */
export const deferredMail = async (db: Database, messageIds: readonly string[]): Promise<readonly DeferredMail[]> => {
  const { rows } = await db.query<Row>({ name: 'deferred-mail', text: DEFERRED, values: [messageIds] });
  return rows.map(({ message_id, destination, due_at, recipients }) => ({
    messageId: message_id,
    recipientDomain: destination,
    recipientIds: recipients.map(({ id }) => id),
    nextAttemptAt: due_at.toISOString(),
  }));
};
