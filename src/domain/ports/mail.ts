import type { UnsubscribeWays } from '../../lib/mime/mime.ts';
import type { SigningKey, TlsPolicy } from '../../lib/smtp/smtp.ts';
import type { Environment } from '../kernel/environment.ts';
import type { MessageBody } from './contents.ts';

/**
 * PORT: makes one attempt to deliver a message. Adapters: `adapters/mail`. It returns the outcome for each
 * recipient, `deferred` if another attempt may help; the domain decides when that is (`message/retry-schedule.ts`).
 */

export interface EnvelopeRecipient {
  readonly recipientId: string;
  readonly address: string;
}

/** Tracking of the HTML in one copy. */
export interface TrackedHtml {
  /** Target URL to track for a link; null if the link stays unchanged. */
  targetOf(href: string): string | null;
  /** URL that replaces a tracked link. @param link its index among the `links` tracked links of the message. */
  hrefOf(target: string, link: number, links: number): string;
  /** Image that reports opens; null: none. */
  readonly pixelUrl: string | null;
}

/** Produces the HTML of one copy. */
export interface HtmlTracker {
  /** Returns the HTML unchanged if it is not tracked or could not be parsed in time: tracking must not stop mail. */
  htmlOf(mail: Pick<OutgoingMail, 'organizationId' | 'body' | 'tracking'>): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Serializes a message to its source. */
export interface MessageSources {
  /**
   * Produces RFC 5322 with MIME, unsigned and untracked, in chunks of about 64 kB.
   * @throws {Error} if it cannot be built.
   */
  of(mail: OutgoingMail): Promise<Iterable<Uint8Array>>;
}

export interface OutgoingMail {
  /** Organization whose turns it uses while it is made. Absent: mail of the service itself. */
  readonly organizationId?: string;
  /** Absent: `transactional`. */
  readonly stream?: 'transactional' | 'bulk';
  /** Envelope for MAIL and RCPT. It is never read from the headers. */
  readonly envelope: {
    readonly from: string;
    readonly to: readonly EnvelopeRecipient[];
    /**
     * Envelope id by which reports name the message (RFC 3461 §4.4). Recipients never see it. Absent: the Message-ID.
     */
    readonly id?: string;
  };
  /** Message-ID (RFC 5322) with its angle brackets, the same on every attempt. */
  readonly messageId: string;
  readonly body: MessageBody;
  /** The message as it leaves, such as a forwarded one. Absent: it is made of the body. */
  readonly source?: Uint8Array;
  /** Links of this copy's `List-Unsubscribe`. Absent: no such header. */
  readonly unsubscribe?: UnsubscribeWays;
  /** Absent: the HTML is sent unchanged. The text is never tracked. */
  readonly tracking?: TrackedHtml;
  /** Replaces `{{ view_url }}` in HTML and text. Absent: they do not contain it. */
  readonly viewUrl?: string;
  /** Value of `Feedback-ID` unless the sender wrote one. Absent: no such header. */
  readonly feedbackId?: string;
  /** One signature for each key, in this order. Absent or empty: not signed. */
  readonly signing?: readonly SigningKey[];
  /** Value of the `Date` header: the time of acceptance. */
  readonly date: Date;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
}

/**
 * Stage of the session at which the reply came: `connect` without any session, `session` before any mail (greeting,
 * EHLO, STARTTLS, AUTH, or the end of the session), or a command of a transaction.
 */
export const REPLY_STAGES = ['connect', 'session', 'mail', 'recipient', 'content'] as const;
export type ReplyStage = (typeof REPLY_STAGES)[number];

/**
 * Policy for TLS: used if offered, required by this service, or required by the receiver's RFC 8461 or RFC 7672 policy.
 */
export const TLS_POLICIES = ['opportunistic', 'required', 'mta-sts', 'dane'] as const satisfies readonly TlsPolicy[];

/**
 * Enhanced status of a deferral without a reply: each address that may send the mail is warming up and has used its quota of
 * the day (RFC 3463 §3.5, congestion).
 */
export const SOURCES_WARMING_UP = '4.4.5';

/** Daily quotas of the source addresses that are warming up. */
export interface SourceQuotas {
  /**
   * Reserves quota for the recipients of one copy.
   * @returns false: the address may send no more to this mailbox provider today. True if it is not warming up.
   */
  reserve(request: {
    readonly source: string;
    /** Recipient domain. */
    readonly domain: string;
    readonly recipients: number;
    /** Counted, but sent even if the quota is used up. */
    readonly exemptFromCap: boolean;
  }): Promise<boolean>;
  /** Seconds until some time tomorrow (UTC), when there is quota again. */
  retryAfterSeconds(): number;
}

/** Reply about one recipient, and its source. */
export interface Reply {
  readonly recipientId: string;
  /** Reply code (RFC 5321 §4.2); 0 if none was received. */
  readonly code: number;
  /** Enhanced status code (RFC 3463), such as `5.1.1`. */
  readonly enhanced: string | null;
  /** Host that replied. */
  readonly mx: string | null;
  /** TLS version, such as `TLSv1.3`; null without TLS or without a connection. */
  readonly tls: string | null;
  /** OpenSSL's name of the cipher suite, such as `TLS_AES_256_GCM_SHA384`. */
  readonly cipher?: string | null;
  readonly policy?: TlsPolicy | null;
  /** IP address of the host that replied. */
  readonly address?: string | null;
  /** IP address of this machine that the session came from. Absent: the machine chose. */
  readonly source?: string;
  readonly stage?: ReplyStage;
  /**
   * Destination to which the reply is feedback (`destination/suspension.ts`): the mailbox provider of the server that
   * was tried, or only the recipient domain if its own DNS or policy prevents delivery. Null: none, such as after a
   * deadline of this service. Absent: one server accepts all mail.
   */
  readonly destination?: string | null;
  /** Text of the reply, or a sentence by this service if there was none. May quote the address. */
  readonly text: string;
}

export type RecipientOutcome =
  /** Accepted by the receiving server. `complained`: a sandbox address that simulates a complaint. */
  | (Reply & { readonly outcome: 'delivered'; readonly complained?: true })
  /** A retry may succeed. `retryAfterSeconds`: a sandbox address that specifies its own wait, or a quota of the day. */
  | (Reply & { readonly outcome: 'deferred'; readonly retryAfterSeconds?: number })
  /** Permanently rejected: this recipient or this content. */
  | (Reply & { readonly outcome: 'bounced' })
  /** A sandbox address that simulates a suppressed recipient. Real servers never cause this. */
  | (Reply & { readonly outcome: 'suppressed' })
  /** No reply after the final dot may have been sent: a copy may or may not have arrived. */
  | (Reply & { readonly outcome: 'unknown' });

export interface SendOptions {
  /** Time by `System.monotonicMs()` after which the final dot is not sent, and no reply is awaited. */
  readonly deadlineMs: number;
  /** An abort has the same effect as reaching the deadline. */
  readonly signal?: AbortSignal;
  /**
   * Called right before the final dot, if time permits: whether this attempt may still complete the message. Returns a
   * promise if that needs a lookup. Never rejects. Absent: it may.
   */
  readonly mayComplete?: () => boolean | Promise<boolean>;
}

export interface MailTransport {
  /**
   * Returns one outcome for each recipient of the envelope, in order.
   * Throws only for faults of this service (a message that cannot be built, a closed transport).
   */
  send(mail: OutgoingMail, options: SendOptions): Promise<readonly RecipientOutcome[]>;
  /** Waits for sends in progress, then closes every session. */
  close(): Promise<void>;
}

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
 * Maximum stored mail; the oldest mail of the organization with most is dropped first. Higher: fills the disk unless it is cleaned up. Lower: drops mail
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
