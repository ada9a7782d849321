import type { Mailbox, StoredAttachment } from '../contents.ts';
import type { RecipientKind } from './events.ts';

/** A send request after its shape was checked and its addresses parsed. */
export interface MessageDraft {
  readonly from: Mailbox;
  readonly recipients: readonly (Mailbox & { readonly kind: RecipientKind })[];
  readonly replyTo: readonly Mailbox[];
  readonly subject: string;
  readonly html?: string;
  readonly text?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly attachments: readonly StoredAttachment[];
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly stream: 'transactional' | 'bulk';
  readonly ttlSeconds: number;
}
