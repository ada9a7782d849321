import type { SigningKey } from '../../lib/smtp/smtp.ts';
import type { INBOUND_ACTIONS, Verdicts } from '../inbound/events.ts';
import type { InboundBody } from './contents.ts';

/**
 * PORT: reads and authenticates inbound mail. Adapter: `adapters/inbound`.
 */

/** Contents of a mail. It is read as far as possible: `problems` says what could not be read. */
export interface ReadMail extends Omit<InboundBody, 'kind' | 'inboundId' | 'envelope'> {
  /** Message-IDs in `In-Reply-To` and `References`, the nearest first. */
  readonly references: readonly string[];
  /** Servers that passed the mail on, by their `Received` fields. */
  readonly hops: number;
  /** A machine wrote it: `Auto-Submitted` (RFC 3834 §5), or a list or bulk mail by `Precedence`. */
  readonly isAutomatic: boolean;
}

/** A recipient of a mail, with what its route says. */
export interface ReceivedRecipient {
  readonly domainId: string;
  readonly address: string;
  /** Null: no route matches, so the mail goes to all webhooks that subscribe. */
  readonly route: {
    readonly routeId: string;
    readonly action: (typeof INBOUND_ACTIONS)[number];
    readonly webhookId: string | null;
  } | null;
}

/** The client that brought the mail, for SPF. */
export interface MailClient {
  readonly address: string;
  /** Name in EHLO or HELO. */
  readonly helo: string;
}

export interface Authentication {
  readonly verdicts: Verdicts;
  /** The policy that the domain in `From` publishes (RFC 7489 §6.3); `none` also without a policy. */
  readonly dmarcPolicy: 'none' | 'quarantine' | 'reject';
}

export interface InboundReader {
  /**
   * @param owner organization, or network of the client: those with waiting mail take turns.
   * @throws {Error} too many mails are waiting.
   */
  read(raw: Buffer, owner: string): Promise<ReadMail>;
  close(): Promise<void>;
}

/** Never rejects: without DNS the verdicts are `temperror`. @param client null: the mail did not come by SMTP. */
export type AuthenticateMail = (
  raw: Buffer,
  envelope: { readonly from: string; readonly client: MailClient | null },
) => Promise<Authentication>;

/** A mail to forward. */
export interface ForwardedMail {
  readonly inboundId: string;
  readonly raw: Buffer;
  /** Return path as it was received; empty for a report. */
  readonly from: string;
  readonly verdicts: Verdicts;
  /** Domain that received it. */
  readonly domain: string;
  /** Host of this service, as it names itself in `Received`. */
  readonly host: string;
}

export interface ForwardedMails {
  /** Facts that only the bytes of the mail show. */
  inspect(mail: ForwardedMail): Promise<{ readonly wasForwarded: boolean; readonly isMalformed: boolean }>;
  /**
   * The mail with a `Received` field and an ARC set (RFC 8617) above its own bytes, which are unchanged. Without a key, or
   * if its chain of earlier sets is broken, it gets no set.
   */
  compose(mail: ForwardedMail, keys: readonly SigningKey[], now: Date): Promise<Buffer>;
}
