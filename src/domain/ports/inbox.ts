import type { Environment } from '../environment.ts';

/** PORT: mail caught by the built-in server instead of leaving the machine. Adapters: `adapters/inbox/{in-memory,postgres}`. */

export interface ReceivedMail {
  /** `test`: simulated, and shown to test keys alone. */
  readonly environment: Environment;
  /** `MAIL FROM`; empty for the null sender. */
  readonly from: string;
  /** `RCPT TO`, in order. */
  readonly to: readonly string[];
  /** The message as it arrived, dots unstuffed. */
  readonly raw: Uint8Array;
  readonly receivedAt: Date;
}

export interface CapturedAttachment {
  readonly filename: string | null;
  readonly contentType: string;
  /** `attachment`, `inline` or whatever the sender wrote. */
  readonly disposition: string | null;
  /** Without angle brackets. */
  readonly contentId: string | null;
  readonly sizeBytes: number;
  /** Base64. */
  readonly content: string;
}

/** A captured message as its reader's program sees it, parsed when it is read. */
export interface CapturedMail {
  readonly id: string;
  readonly receivedAt: Date;
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  /** In order, names as written, values decoded and unfolded. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly subject: string | null;
  readonly text: string | null;
  readonly html: string | null;
  readonly attachments: readonly CapturedAttachment[];
  /** The whole message; bytes that are not UTF-8 are replaced. */
  readonly raw: string;
}

/** What is kept, newest first: fewer hide what a test looks for, more fill the disk of whoever forgets it. */
export const INBOX_MAILS_MAX = 1000;
export const INBOX_BYTES_MAX = 100_000_000;

export interface InboxPage {
  readonly mails: readonly CapturedMail[];
  /** Pass as `after` for the next page; null: there is none. */
  readonly next: string | null;
}

/** Which mail; absent: any. */
export interface InboxFilter {
  readonly environment?: Environment | undefined;
  readonly id?: string | undefined;
  /** Of the envelope's recipients, one: an address, in whatever case. */
  readonly to?: string | undefined;
  /** A part of the subject, in whatever case. */
  readonly subject?: string | undefined;
  /** Only mail whose envelope's sender is on one of these (A-labels). */
  readonly fromDomains?: readonly string[] | undefined;
}

export interface Inbox {
  /** Durable when it resolves. Concurrent calls share a write. @throws the mail was not stored. */
  store(mail: ReceivedMail): Promise<void>;
  /**
   * Newest first, at most `limit`, and fewer where the page would be larger than `INBOX_PAGE_BYTES_MAX`.
   * @param after `next` of the page before; one that this inbox never gave yields an empty page.
   */
  list(options: InboxFilter & { readonly limit: number; readonly after?: string }): Promise<InboxPage>;
  /** Deletes what matches. @returns how many. */
  remove(filter: InboxFilter): Promise<number>;
  /** Ends when everything given to `store` is stored. */
  close(): Promise<void>;
}

/** Raw bytes parsed for one page: larger blocks the event loop for seconds, smaller makes pages short. */
export const INBOX_PAGE_BYTES_MAX = 16_000_000;
