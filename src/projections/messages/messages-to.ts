import type { Database } from '../database.ts';
import { type ListCursor, pageOf, rowsToAsk } from '../page-of.ts';
import { labelKey, labelOf } from './labels.ts';
import type { ListMessages } from './queries.ts';

/** Finds all messages ever sent to an address, for its erasure. */

const MESSAGES_TO = `
  select message_id as "messageId", created_at as "createdAt" from read_models.message_labels
  where label = $1::bigint and ($2::timestamptz is null or (created_at, message_id) < ($2, $3::text))
  order by created_at desc, message_id desc
  limit $4`;

export interface AskMessagesTo extends Pick<ListMessages, 'organizationId' | 'environment' | 'after'> {
  /** Keyed digest of the recipient's address. */
  readonly digest: string;
}

/** Streams that are read for one page of them. */
const MESSAGES_TO_PER_PAGE = 100;

/** Ids of the messages to an address, newest first, a page at a time. */
export const messagesTo = async (
  db: Database,
  { digest, ...by }: AskMessagesTo,
): Promise<{ readonly messageIds: readonly string[]; readonly next: ListCursor | null }> => {
  const values = [labelKey(by, labelOf('to', digest)), by.after?.createdAt, by.after?.id];
  const { rows } = await db.query<{ messageId: string; createdAt: Date }>({
    name: 'messages-to',
    text: MESSAGES_TO,
    values: [...values.map((value) => value ?? null), rowsToAsk(MESSAGES_TO_PER_PAGE)],
  });
  const page = pageOf(rows, MESSAGES_TO_PER_PAGE, ({ createdAt, messageId }) => ({
    createdAt: createdAt.toISOString(),
    id: messageId,
  }));
  return { messageIds: page.items.map(({ messageId }) => messageId), next: page.next };
};
