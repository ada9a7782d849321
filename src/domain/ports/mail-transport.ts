import type { UnsubscribeWays } from '../../lib/mime/mime.ts';
import type { SigningKey, TlsPolicy } from '../../lib/smtp/smtp.ts';
import type { MessageBody } from './contents.ts';

/**
 * PORT: one attempt to hand a message over. Adapters: `adapters/mail/{smtp,simulated}`. It answers what happened to
 * each recipient; whether and when to try again is the domain's (`message/retry-schedule.ts`).
 */

export interface EnvelopeRecipient {
  readonly recipientId: string;
  readonly address: string;
}

/** How the html of one copy is tracked. */
export interface TrackedHtml {
  /** The address that a link is tracked to; null: it stays as it is. */
  targetOf(href: string): string | null;
  /** What a tracked link leads to instead. @param link its place among the `links` tracked links of the message. */
  hrefOf(target: string, link: number, links: number): string;
  /** Image that tells of an opening; null: none. */
  readonly pixelUrl: string | null;
}

/** Makes the html of one copy. */
export interface HtmlTracker {
  /** As it is where it is not tracked, or could not be read in time: that must not stop mail. */
  htmlOf(mail: Pick<OutgoingMail, 'body' | 'tracking'>): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Writes a message as its source. */
export interface MessageSources {
  /**
   * RFC 5322 with MIME, unsigned and untracked, some 64 kB at a time.
   * @throws {Error} it cannot be built.
   */
  of(mail: OutgoingMail): Promise<Iterable<Uint8Array>>;
}

export interface OutgoingMail {
  /** What MAIL and RCPT say; never read from the headers. */
  readonly envelope: {
    readonly from: string;
    readonly to: readonly EnvelopeRecipient[];
    /** What reports name it by (RFC 3461 §4.4), which no recipient is told; absent: the Message-ID. */
    readonly id?: string;
  };
  /** RFC 5322 Message-ID with its angle brackets, the same on every attempt. */
  readonly messageId: string;
  readonly body: MessageBody;
  /** What this copy's `List-Unsubscribe` says; absent: there is none. */
  readonly unsubscribe?: UnsubscribeWays;
  /** Absent: the html is sent as it is. The text is never tracked. */
  readonly tracking?: TrackedHtml;
  /** What stands where html and text say `{{ view_url }}`; absent: they do not. */
  readonly viewUrl?: string;
  /** What `Feedback-ID` says, unless the sender has written one; absent: there is none. */
  readonly feedbackId?: string;
  /** A signature each, in this order; absent or empty: not signed. */
  readonly signing?: readonly SigningKey[];
  /** The `Date` header: when the message was accepted. */
  readonly date: Date;
  /** 1 for the first. */
  readonly attempt: number;
}

/**
 * Where in the session something was said: nowhere (`connect`: there was none), before any mail (`session`: greeting,
 * EHLO, STARTTLS, AUTH, or its end), or to a command of a transaction.
 */
export const REPLY_STAGES = ['connect', 'session', 'mail', 'recipient', 'content'] as const;
export type ReplyStage = (typeof REPLY_STAGES)[number];

/** What the use of TLS was held to: taken where offered, demanded by us, or by the other side's RFC 8461 or RFC 7672. */
export const TLS_POLICIES = ['opportunistic', 'required', 'mta-sts', 'dane'] as const satisfies readonly TlsPolicy[];

/** What was said about one recipient, and by whom. */
export interface Reply {
  readonly recipientId: string;
  /** Reply code (RFC 5321 §4.2), 0 where none was received. */
  readonly code: number;
  /** Enhanced status code (RFC 3463), `5.1.1`. */
  readonly enhanced: string | null;
  /** Host that answered. */
  readonly mx: string | null;
  /** TLS version, `TLSv1.3`; null: in clear, or never connected. */
  readonly tls: string | null;
  /** OpenSSL's name of it, `TLS_AES_256_GCM_SHA384`. */
  readonly cipher?: string | null;
  readonly policy?: TlsPolicy | null;
  /** IP of the host that answered. */
  readonly address?: string | null;
  readonly stage?: ReplyStage;
  /**
   * What this tells something of (`destination/destination.ts`): the mailbox provider of the server that was really tried,
   * or the recipient domain alone, whose own DNS or policy is in the way. Null: nothing, as a deadline of ours. Absent:
   * one server takes everything.
   */
  readonly destination?: string | null;
  /** The reply's text or, where there was none, one sentence of ours. May quote the address. */
  readonly text: string;
}

export type RecipientOutcome =
  /** Accepted by the other side. `complained`: a sandbox address that wants a complaint to follow. */
  | (Reply & { readonly outcome: 'delivered'; readonly complained?: true })
  /** May work later. `retryAfterSeconds`: a sandbox address that names its own wait. */
  | (Reply & { readonly outcome: 'deferred'; readonly retryAfterSeconds?: number })
  /** Refused for good: this recipient or this content. */
  | (Reply & { readonly outcome: 'bounced' })
  /** A sandbox address that acts as if it were on the suppression list; real servers never say this. */
  | (Reply & { readonly outcome: 'suppressed' })
  /** No reply after the final dot may have left: a copy may or may not have arrived. */
  | (Reply & { readonly outcome: 'unknown' });

export interface SendOptions {
  /** `System.monotonicMs()` after which the final dot is not sent any more, and no reply is waited for. */
  readonly deadlineMs: number;
  /** Aborting is like reaching the deadline now. */
  readonly signal?: AbortSignal;
  /**
   * Asked right before the final dot, while there is time for it: whether this attempt may still complete the message. A
   * promise where that has to be looked up. Never rejects. Absent: it may.
   */
  readonly mayComplete?: () => boolean | Promise<boolean>;
}

export interface MailTransport {
  /**
   * One outcome for each recipient of the envelope, in its order.
   * Throws only for faults of ours (a message that cannot be built, a transport that is closed).
   */
  send(mail: OutgoingMail, options: SendOptions): Promise<readonly RecipientOutcome[]>;
  /** Lets what is being sent end, then closes every session. */
  close(): Promise<void>;
}
