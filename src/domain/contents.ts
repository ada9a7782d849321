import type { Analysis } from './analysis/analysis.ts';

/**
 * PORT: the vault's contents. Personal data named by events: insert-only under a random id, deleted by erasure and
 * retention alone. Adapters: `adapters/contents/{in-memory,postgres}`.
 */

export interface StoredAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly contentId?: string;
  /** Base64. */
  readonly content: string;
}

export interface Mailbox {
  readonly address: string;
  readonly name?: string;
}

/** What `List-Unsubscribe` offers (RFC 2369 §3.2), one of the two at least. */
export interface UnsubscribeWays {
  readonly url?: string;
  /** An address, as parsed. */
  readonly mailto?: string;
}

/** Whom readers see addressed, whoever gets the message. */
export interface ShownRecipients {
  readonly to: readonly Mailbox[];
  readonly cc: readonly Mailbox[];
}

/** What the answer to a send tells of its analysis. */
export type ToldAnalysis = Pick<Analysis, 'score' | 'verdict' | 'findings'>;

/** What a client asked to send, as parsed; addresses of recipients stand beside the ids that events use for them. */
export interface MessageBody {
  readonly kind: 'message';
  readonly messageId: string;
  readonly from: Mailbox;
  readonly recipients: readonly (Mailbox & { readonly id: string; readonly kind: 'to' | 'cc' | 'bcc' })[];
  /** `To` and `Cc` as they were written, where these are not the recipients: some get copies of their own. */
  readonly shown?: ShownRecipients;
  readonly replyTo: readonly Mailbox[];
  readonly subject: string;
  readonly html?: string;
  readonly text?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly attachments: readonly StoredAttachment[];
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  readonly metadata: Readonly<Record<string, string>>;
  /** `managed`: a link of ours for each recipient. */
  readonly unsubscribe?: UnsubscribeWays | 'managed';
  /** What the sender was answered, where he asked for it: a replay answers the same. */
  readonly analysis?: ToldAnalysis;
}

/** What lists, events and webhooks show of a message: the body without its parts that can be large. */
export interface MessageHead extends Omit<MessageBody, 'html' | 'text' | 'attachments' | 'analysis' | 'shown'> {
  readonly attachments: readonly Omit<StoredAttachment, 'content'>[];
}

/** The text of one SMTP reply: it often quotes the address. */
export interface ReplyText {
  readonly kind: 'reply';
  readonly messageId: string;
  readonly text: string;
}

/** Whom a suppression keeps mail from, and what speaks for it. It lives as long as the suppression, whatever the message's does. */
export interface SuppressionEvidence {
  readonly kind: 'suppression';
  /** As written; null: it was erased before it was put on the list. */
  readonly address: string | null;
  /** The reply of the server, or the note of whoever added it; null: there is none. */
  readonly text: string | null;
}

export type StoredBody = MessageBody | ReplyText | SuppressionEvidence;
export type StoredHead = MessageHead | ReplyText | SuppressionEvidence;

export interface MessageContents {
  /** UUID, random per request. */
  readonly id: string;
  readonly organizationId: string;
  readonly body: StoredBody;
}

/** What is no message is its own head. */
export const headOf = (body: StoredBody): StoredHead => {
  if (body.kind !== 'message') return body;
  const { html, text, attachments, analysis, shown, ...head } = body;
  return { ...head, attachments: attachments.map(({ content, ...attachment }) => attachment) };
};

export interface Contents {
  /** Stores rows; an id that exists already keeps its first body. Durable when it resolves. */
  put(contents: readonly MessageContents[]): Promise<void>;
  /** Bodies by id; what is missing is absent from the map. Concurrent calls share a query. */
  get(ids: readonly string[]): Promise<ReadonlyMap<string, StoredBody>>;
  /** As `get`, without what is large: what is asked for a page of messages or events. */
  heads(ids: readonly string[]): Promise<ReadonlyMap<string, StoredHead>>;
}
