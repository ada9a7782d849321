import type { Mailbox, MessageBody } from '../ports/contents.ts';
import type { RecipientKind } from './events.ts';

/** A send request after its shape was checked and its addresses parsed: what is stored, before anything has an id. */
export interface MessageDraft extends Omit<MessageBody, 'kind' | 'messageId' | 'recipients' | 'analysis'> {
  readonly recipients: readonly (Mailbox & { readonly kind: RecipientKind })[];
  readonly stream: 'transactional' | 'bulk';
  /** ISO 8601; absent: at once. */
  readonly scheduledAt?: string;
  /** From when it is to be sent. */
  readonly ttlSeconds: number;
}
