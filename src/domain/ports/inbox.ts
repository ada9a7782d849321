import type { Environment } from '../environment.ts';

/** PORT: mail caught by the built-in server instead of leaving the machine. Adapter: `adapters/inbox`. */

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
  /** Without its parameters. */
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
  /** It lets its recipient sign in (`CONFIDENTIAL_HEADER`). */
  readonly isConfidential: boolean;
}

/** A captured message as a mail program shows it. */
export interface CapturedContent {
  /** In order, names as written, values decoded and unfolded. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly text: string | null;
  readonly html: string | null;
  /** Something was longer than `INBOX_SHOWN_BYTES_MAX` and is cut. */
  readonly truncated: boolean;
}

/** Headers, text and html are cut at this size each. Larger holds the event loop, smaller cuts real mail. */
export const INBOX_SHOWN_BYTES_MAX = 1_000_000;

/** Marks a message that lets its recipient sign in. The service writes it; the capture server reads it. */
export const CONFIDENTIAL_HEADER = 'X-Outbox-Confidential';

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
   * Newest first, at most `limit`.
   * @param after `next` of the page before; one that this inbox never gave yields an empty page.
   */
  list(options: InboxFilter & { readonly limit: number; readonly after?: string }): Promise<InboxPage>;
  /**
   * @param owner readers take turns: an organization.
   * @returns null if the message is gone. @throws {MailParserUnavailable}
   */
  content(mail: CapturedMail, owner: string): Promise<CapturedContent | null>;
  /** The message as it arrived, in pieces. @throws the message is gone. */
  source(mail: CapturedMail): AsyncIterable<Uint8Array>;
  /**
   * @param place its place in `attachments`, from 0.
   * @param owner as for `content`.
   * @returns null if it does not exist. @throws {MailParserUnavailable}
   */
  attachment(mail: CapturedMail, place: number, owner: string): Promise<Uint8Array | null>;
  /** Deletes what matches. @returns how many. */
  remove(filter: InboxFilter): Promise<number>;
  /** Ends when everything given to `store` is stored. */
  close(): Promise<void>;
}
