import type { Environment } from '../kernel/ids.ts';

/** PORT: mail caught by the built-in server instead of leaving the machine. Adapter: `adapters/inbox`. */

export interface ReceivedMail {
  /** `test`: simulated, and visible to test keys only. */
  readonly environment: Environment;
  /** `MAIL FROM`; empty for the null sender. */
  readonly from: string;
  /** `RCPT TO`, in order. */
  readonly to: readonly string[];
  /** The message as received, dots unstuffed. */
  readonly raw: Uint8Array;
  readonly receivedAt: Date;
}

export interface CapturedAttachment {
  readonly filename: string | null;
  /** Media type without its parameters. */
  readonly contentType: string;
  readonly sizeBytes: number;
}

/** A captured message without its contents. */
export interface CapturedMail {
  readonly id: string;
  readonly receivedAt: Date;
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  readonly subject: string | null;
  /** Size of the whole message. */
  readonly sizeBytes: number;
  readonly attachments: readonly CapturedAttachment[];
  /** Whether the mail lets its recipient sign in (`CONFIDENTIAL_HEADER`). */
  readonly isConfidential: boolean;
}

/** A captured message as a mail program would show it. */
export interface CapturedContent {
  /** In order, with names as written and values decoded and unfolded. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly text: string | null;
  readonly html: string | null;
  /** True if something was longer than `INBOX_SHOWN_BYTES_MAX` and was cut. */
  readonly truncated: boolean;
}

/** Headers, text and HTML are each cut at this size. Higher: blocks the event loop. Lower: cuts real mail. */
export const INBOX_SHOWN_BYTES_MAX = 1_000_000;

/** Marks a message that lets its recipient sign in. The service writes it; the capture server reads it. */
export const CONFIDENTIAL_HEADER = 'X-Outbox-Confidential';

/**
 * Maximum stored mail; the oldest is dropped first. Higher: fills the disk unless it is cleaned up. Lower: drops mail
 * that a test looks for.
 */
export const INBOX_MAILS_MAX = 1000;
export const INBOX_BYTES_MAX = 100_000_000;

export interface InboxPage {
  readonly mails: readonly CapturedMail[];
  /** Pass as `after` for the next page; null on the last page. */
  readonly next: string | null;
}

/** Selects mail. An absent field matches any. */
export interface InboxFilter {
  readonly environment?: Environment | undefined;
  readonly id?: string | undefined;
  /** One of the envelope's recipients, case-insensitive. */
  readonly to?: string | undefined;
  /** Part of the subject, case-insensitive. */
  readonly subject?: string | undefined;
  /** Matches mail whose envelope sender is on one of these domains (A-labels). */
  readonly fromDomains?: readonly string[] | undefined;
}

export interface Inbox {
  /** Durable when it resolves. Concurrent calls share a write. @throws if the mail was not stored. */
  store(mail: ReceivedMail): Promise<void>;
  /**
   * Newest first, at most `limit`.
   * @param after `next` of the previous page; one that this inbox never issued yields an empty page.
   */
  list(options: InboxFilter & { readonly limit: number; readonly after?: string }): Promise<InboxPage>;
  /**
   * Parses a message.
   * @param owner organization; owners take turns.
   * @returns null if the message is gone.
   * @throws {MailParserUnavailable}
   */
  content(mail: CapturedMail, owner: string): Promise<CapturedContent | null>;
  /** The message as received, in chunks. @throws if the message is gone. */
  source(mail: CapturedMail): AsyncIterable<Uint8Array>;
  /**
   * Reads one attachment.
   * @param place index in `attachments`, from 0.
   * @param owner as for `content`.
   * @returns null if it does not exist.
   * @throws {MailParserUnavailable}
   */
  attachment(mail: CapturedMail, place: number, owner: string): Promise<Uint8Array | null>;
  /** Deletes matching mail. @returns the number deleted. */
  remove(filter: InboxFilter): Promise<number>;
  /** Resolves when everything passed to `store` has been stored. */
  close(): Promise<void>;
}
