import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { MailClient, ReceivedRecipient } from '../../domain/ports/inbound.ts';
import { turnFor, withTurns } from '../../lib/async/async.ts';
import type { BodyBudget } from '../../lib/http/http.ts';
import { parseMailbox } from '../../lib/mime/mime.ts';
import { smtpAnswer } from '../../lib/smtp/smtp.ts';

/** Receives mail for domains with inbound mail, over SMTP. A mail is accepted once it is in the vault and in the log. */

/** A recipient that receives mail here. */
interface InboundRecipient extends ReceivedRecipient {
  readonly organizationId: string;
}

/** A mail for recipients of one organization. */
interface IncomingMail {
  readonly organizationId: string;
  readonly raw: Buffer;
  readonly from: string;
  readonly recipients: readonly ReceivedRecipient[];
  readonly client: MailClient;
}

/** A mail that is about to be read, for limits. */
interface CountedMail {
  readonly organizationId: string;
  /** Return path. */
  readonly from: string;
  /** Address of the client. */
  readonly client: string;
  /** Recipients: each gets a copy. */
  readonly copies: number;
}

export interface InboundMailOptions {
  /** `refused`: a route refuses the recipient. Null: nothing is received for it. @param address a parsed address. */
  find(address: string): InboundRecipient | 'refused' | null;
  /** True once all domains and routes are known. */
  isReady(): boolean;
  /** Counts the mail. @returns what it exceeds, as a phrase; null: nothing. */
  overLimit(mail: CountedMail): Promise<string | null>;
  /** Called when a mail was not read. */
  onDeferred(why: 'limited' | 'full'): void;
  /** Resolves once the mail is stored, or must be refused. If it rejects, the client must try again. */
  receive(mail: IncomingMail): Promise<'received' | 'repeated' | 'loop' | 'dmarc_failed'>;
  /** Memory for mail in flight, shared by all organizations. */
  readonly bodies: BodyBudget;
}

export interface InboundMail {
  /** Why the recipient is refused; null if it is accepted. @param accepted recipients of the transaction so far. */
  refusalOf(address: SMTPServerAddress, accepted: readonly SMTPServerAddress[]): Error | null;
  receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void>;
}

/** Largest mail (RFC 1870). Most providers send up to this. More costs memory for each mail in flight. */
const INBOUND_BYTES_MAX = 25_000_000;
/** Some clients declare fewer bytes than they send: they count line ends as one byte, or leave out header fields. */
const DECLARED_SLACK = 1.1;
const SLACK_BYTES = 64_000;

const REFUSALS: Readonly<Record<'loop' | 'dmarc_failed', Error>> = {
  loop: smtpAnswer(554, '5.4.6 the message has passed too many servers'),
  dmarc_failed: smtpAnswer(550, '5.7.1 the message fails DMARC, and its domain asks to refuse such mail'),
};
/** For a recipient whose mail another party takes than that of the recipients accepted so far. */
export const SEPARATELY = smtpAnswer(452, '4.5.3 send the message to this recipient in a transaction of its own');
const UNKNOWN = '5.1.1 no such recipient';
const REFUSED = '5.7.1 this recipient accepts no mail';
const TOO_LARGE = `5.3.4 the message is larger than declared, or than ${INBOUND_BYTES_MAX} bytes`;

type Sender = SMTPServerSession['envelope']['mailFrom'];

const declaredBytes = (sender: Sender): number => {
  if (sender === false || typeof sender.args !== 'object' || !('SIZE' in sender.args)) return 0;
  return Number(sender.args.SIZE);
};

const senderOf = (sender: Sender): string => (sender === false ? '' : sender.address);

/** Bytes to reserve before the first is read. */
const wantedBytes = (sender: Sender): number => {
  const declared = declaredBytes(sender);
  if (!(declared > 0)) return INBOUND_BYTES_MAX;
  return Math.min(INBOUND_BYTES_MAX, Math.ceil(declared * DECLARED_SLACK) + SLACK_BYTES);
};

/** Reads to the end, as the protocol requires. @returns null: it is larger than the limit. */
const readUpTo = async (stream: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer | null> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of withTurns(stream)) {
    length += chunk.length;
    if (length <= bytesMax) chunks.push(chunk);
    else chunks.length = 0;
  }
  return length > bytesMax ? null : Buffer.concat(chunks);
};

export const createInboundMail = (options: InboundMailOptions): InboundMail => {
  const { bodies, isReady, receive, find, overLimit, onDeferred } = options;
  const found = ({ address }: SMTPServerAddress): InboundRecipient | 'refused' | null => {
    // Octets that are no UTF-8: different addresses would become one.
    if (address.includes('\ufffd')) return null;
    const mailbox = parseMailbox(address);
    return typeof mailbox === 'string' ? null : find(mailbox.address);
  };

  const recipientOf = (address: SMTPServerAddress): InboundRecipient | null => {
    const recipient = found(address);
    return recipient === 'refused' ? null : recipient;
  };

  /** Whether the recipients accepted so far are of the same organization. */
  const isWith = ([first]: readonly SMTPServerAddress[], { organizationId }: InboundRecipient): boolean =>
    first === undefined || recipientOf(first)?.organizationId === organizationId;

  /** @throws {Error} a recipient receives nothing any more: the next try learns at RCPT which one. */
  const recipientsOf = (addresses: readonly SMTPServerAddress[]): readonly InboundRecipient[] => {
    const recipients = addresses.flatMap((address) => recipientOf(address) ?? []);
    if (recipients.length < addresses.length) throw smtpAnswer(451, '4.3.0 a recipient has changed: try again');
    return recipients;
  };

  /** @throws {Error} with the reply of a mail that is not accepted. */
  const accept = async (raw: Buffer, session: SMTPServerSession): Promise<void> => {
    const { envelope, remoteAddress, hostNameAppearsAs } = session;
    const recipients = recipientsOf(envelope.rcptTo);
    const from = senderOf(envelope.mailFrom);
    const client = { address: remoteAddress, helo: hostNameAppearsAs };
    const organizationId = recipients[0]?.organizationId ?? '';
    const outcome = await receive({ organizationId, raw, from, recipients, client });
    if (outcome === 'loop' || outcome === 'dmarc_failed') throw REFUSALS[outcome];
  };

  /** A reply that makes the client try again. */
  const deferred = (why: 'limited' | 'full', text: string): Error => {
    onDeferred(why);
    return smtpAnswer(452, text);
  };

  /** @throws {Error} too many mails came within a minute. */
  const requireWithinLimits = async (
    stream: SMTPServerDataStream,
    { envelope, remoteAddress }: SMTPServerSession,
    organizationId: string,
  ): Promise<void> => {
    const { rcptTo, mailFrom } = envelope;
    const mail = { organizationId, from: senderOf(mailFrom), client: remoteAddress, copies: rcptTo.length };
    const exceeded = await overLimit(mail);
    if (exceeded === null) return;
    await readUpTo(stream, 0);
    throw deferred('limited', `4.7.1 ${exceeded}: try again in a minute`);
  };

  return {
    refusalOf: (address, accepted) => {
      if (!isReady()) return smtpAnswer(451, '4.3.0 the service is starting: try again in a minute');
      const recipient = found(address);
      if (recipient === 'refused') return smtpAnswer(550, REFUSED);
      if (recipient === null) return smtpAnswer(550, UNKNOWN);
      return isWith(accepted, recipient) ? null : SEPARATELY;
    },

    receive: async (stream, session) => {
      const { rcptTo, mailFrom } = session.envelope;
      const owner = rcptTo.map(recipientOf).find((recipient) => recipient !== null)?.organizationId ?? '';
      await requireWithinLimits(stream, session, owner);
      const place = await bodies.reserve(owner, wantedBytes(mailFrom), { waits: true });
      try {
        const raw = await readUpTo(stream, place?.bytes() ?? 0);
        if (place === null) throw deferred('full', '4.3.1 too much mail is arriving: try again later');
        if (raw === null) throw smtpAnswer(552, TOO_LARGE);
        place.shrink(raw.length);
        await turnFor(raw.length);
        await accept(raw, session);
      } finally {
        place?.release();
      }
    },
  };
};
