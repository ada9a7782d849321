import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { InboundReport } from '../../domain/bounce/report.ts';
import { isForwardReturnAddress } from '../../domain/inbound/return-address.ts';
import { clientNetworkOf } from '../../domain/kernel/addresses.ts';
import { type ReturnToken, readReturnPath } from '../../domain/message/tokens.ts';
import type { MailTransport, OutgoingMail } from '../../domain/ports/mail.ts';
import { createWorkerThreads, type Logger, type System, withTurns } from '../../lib/async/async.ts';
import { type SmtpTask, smtpAnswer } from '../../lib/smtp/smtp.ts';
import { type InboundMail, SEPARATELY } from '../inbound/receive-inbound.ts';
import { readInboundReport } from './read-inbound-report.ts';

/** Bytes kept of a mail. A report precedes the message that it returns. Less could lose a report, more costs memory. */
const KEPT_BYTES_MAX = 1_000_000;

/** The beginning of a mail. */
interface MailHead {
  readonly raw: Buffer;
  /** True if nothing was cut off. */
  readonly isWhole: boolean;
}

/** Reads the whole mail, as the protocol requires, but keeps only the part within the limit. */
const keptOf = async (stream: AsyncIterable<Buffer>): Promise<MailHead> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of withTurns(stream)) {
    if (length < KEPT_BYTES_MAX) chunks.push(chunk.subarray(0, KEPT_BYTES_MAX - length));
    length += chunk.length;
  }
  return { raw: Buffer.concat(chunks), isWhole: length <= KEPT_BYTES_MAX };
};

/** A return address of mail that this service has forwarded. */
interface ForwardedReturn {
  readonly inboundId: string;
}

/** Returned mail, as described by its envelope and its parts. */
interface ReturnedMail {
  /** Tokens of the recipient addresses; null: the address for feedback loops. */
  readonly tokens: readonly (ReturnToken | ForwardedReturn | null)[];
  readonly mail: InboundReport;
}

interface InboundReportOptions {
  /** `BOUNCE_DOMAIN`, lower case. */
  readonly domain: string;
  /** Resolves once its consequences, if any, are in the log. If it rejects, the sender must retry. */
  take(received: ReturnedMail): Promise<void>;
  /** Inbound message that a return address of forwarded mail names; null: the address is not ours. Absent: nothing is forwarded. */
  readonly forwardedBy?: ((localPart: string) => string | null) | undefined;
  /** Mail for domains that receive it; absent: only reports are received. */
  readonly inbound?: InboundMail | undefined;
  /** Absent: mail to the postmaster is rejected. */
  readonly postmaster?: Postmaster | undefined;
  readonly reader: InboundReportReader;
  readonly logger: Logger;
}

/** Local part for feedback loops that report to one address for all. */
const FEEDBACK_LOCAL_PART = 'fbl';
/** Prefix of a customer's own return path, a CNAME to ours: `bounces.example.com`. */
const ALIAS_PREFIX = 'bounces.';
/** Fits the largest message we send, encoded and returned with a report. Larger mail is not ours. */
const MAIL_BYTES_MAX = 50_000_000;
/** RFC 5321 §4.5.1: also without a domain. */
const POSTMASTER_LOCAL_PART = 'postmaster';
/**
 * Each connection may hold `KEPT_BYTES_MAX` of a mail in memory: 100 MB in all. Fewer makes others wait for slow ones.
 */
const CONNECTIONS_MAX = 100;
/** Reports have one recipient, rarely several. RFC 5321 §4.5.3.1.8 would require 100. */
const RECIPIENTS_MAX = 20;
/** More: fewer networks can connect. Fewer: a large provider with many hosts in one network waits. */
const CONNECTIONS_PER_NETWORK_MAX = 20;
const IDLE_MS = 60_000;
/**
 * Limit for a session, however busy. It ends clients that send a byte a minute. The largest mail takes 1 min at 1 MB/s.
 */
const SESSION_MS_MAX = 600_000;
const CLOSE_MS = 2_000;

/** null: the address for feedback loops. */
type Destination = ReturnToken | ForwardedReturn | null | 'postmaster' | 'forged';

/** An envelope id is not an address. */
const tokenOf = (localPart: string): ReturnToken | undefined => {
  const token = readReturnPath(localPart);
  return token === null || token.purpose === 'envelope' ? undefined : token;
};

/** Addresses that only the service's own host has. */
const ownDestination = (localPart: string, { forwardedBy }: DestinationOptions): Destination | undefined => {
  if (localPart === FEEDBACK_LOCAL_PART) return null;
  if (!isForwardReturnAddress(localPart)) return undefined;
  const inboundId = forwardedBy?.(localPart) ?? null;
  return inboundId === null ? 'forged' : { inboundId };
};

type DestinationOptions = Pick<InboundReportOptions, 'domain' | 'forwardedBy'>;

/** undefined: not a valid destination. */
const destinationOf = (
  { address }: Pick<SMTPServerAddress, 'address'>,
  options: DestinationOptions,
): Destination | undefined => {
  const { domain } = options;
  const [, localPart = '', host = domain] = /^(.*?)(?:@([^@]*))?$/.exec(address.toLowerCase()) ?? [];
  if (host !== domain && !host.startsWith(ALIAS_PREFIX)) return undefined;
  if (localPart === POSTMASTER_LOCAL_PART) return 'postmaster';
  return tokenOf(localPart) ?? (host === domain ? ownDestination(localPart, options) : undefined);
};

const FORGED = smtpAnswer(550, '5.1.1 this return address is not valid, or has expired');

/** Why the address is rejected; null if it is accepted. */
const refusalOf = (destination: Destination, { domain, postmaster }: InboundReportOptions): Error | null => {
  if (destination === 'forged') return FORGED;
  if (destination !== 'postmaster' || postmaster !== undefined) return null;
  return smtpAnswer(
    550,
    `5.2.1 ${domain} sends mail and receives reports only: mail to its postmaster is not read here`,
  );
};

const refusalOfInbound = (
  inbound: InboundMail | undefined,
  address: SMTPServerAddress,
  accepted: readonly SMTPServerAddress[],
): Error | null =>
  inbound === undefined ? smtpAnswer(550, '5.1.1 nothing is received there') : inbound.refusalOf(address, accepted);

/**
 * Receives returned mail: delivery reports, complaints, unsubscribe requests. It never sends mail in response, so that
 * no two machines write to each other. A mail is accepted once its consequences are in the log.
 */
export const createInboundReportTask = (options: InboundReportOptions): SmtpTask => {
  const { domain, reader, take, postmaster, inbound, logger } = options;

  const isToken = (each: Destination): each is ReturnToken | ForwardedReturn | null =>
    each !== 'postmaster' && each !== 'forged';

  /** A transaction is either for recipients of reports or for those of inbound mail. */
  const isInbound = (address: SMTPServerAddress): boolean => destinationOf(address, options) === undefined;

  const refusalOfRecipient = (address: SMTPServerAddress, accepted: readonly SMTPServerAddress[]): Error | null => {
    const destination = destinationOf(address, options);
    const refused =
      destination === undefined ? refusalOfInbound(inbound, address, accepted) : refusalOf(destination, options);
    const [first = address] = accepted;
    return refused ?? (isInbound(first) === isInbound(address) ? null : SEPARATELY);
  };

  const takeFor = async (destinations: readonly Destination[], { raw }: MailHead, network: string): Promise<void> => {
    const tokens = destinations.filter(isToken);
    if (tokens.length > 0) await take({ tokens, mail: await reader.read(raw, network) });
  };

  const receiveReport = async (stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> => {
    const { envelope, remoteAddress } = session;
    const kept = await keptOf(stream);
    if (stream.sizeExceeded) throw smtpAnswer(552, '5.3.4 the message is too large');
    const destinations = envelope.rcptTo.map((address) => destinationOf(address, options));
    const known = destinations.filter((destination) => destination !== undefined);
    await takeFor(known, kept, clientNetworkOf(remoteAddress));
    if (!known.includes('postmaster')) return;
    if (!kept.isWhole) throw smtpAnswer(552, `5.3.4 the postmaster gets at most ${KEPT_BYTES_MAX} bytes`);
    await postmaster?.pass(kept.raw, envelope.mailFrom === false ? '' : envelope.mailFrom.address);
  };

  const receive = (stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> =>
    inbound !== undefined && session.envelope.rcptTo.some(isInbound)
      ? inbound.receive(stream, session)
      : receiveReport(stream, session);

  const failure = (error: unknown): Error => {
    if (error instanceof Error && 'responseCode' in error) return error;
    logger.error({ err: error }, 'could not record a received message: the sending server will retry');
    return smtpAnswer(451, '4.3.0 it could not be recorded: bring it again');
  };

  return {
    bounds: { max: CONNECTIONS_MAX, perNetwork: CONNECTIONS_PER_NETWORK_MAX, durationMs: SESSION_MS_MAX },
    serve: () => ({
      name: domain,
      disabledCommands: ['AUTH'],
      size: MAIL_BYTES_MAX,
      socketTimeout: IDLE_MS,
      closeTimeout: CLOSE_MS,
      onRcptTo: (address, { envelope }, callback) => {
        const isFull = envelope.rcptTo.length >= RECIPIENTS_MAX;
        const refused = refusalOfRecipient(address, envelope.rcptTo);
        callback(refused ?? (isFull ? smtpAnswer(452, '4.5.3 too many recipients') : null));
      },
      onData: (stream, session, callback) => {
        receive(stream, session).then(
          () => callback(null, '2.0.0 Ok'),
          (error: unknown) => callback(failure(error)),
        );
      },
    }),
  };
};

interface InboundReportReader {
  /**
   * @param network origin of the report. Its organization is not known yet, so networks take turns.
   * @throws {ThreadUnavailable} if too many are waiting, or it took too long.
   */
  read(raw: Uint8Array, network: string): Promise<InboundReport>;
  close(): Promise<void>;
}

/** Maximum size for inline reading, which fits most reports: about a millisecond. Larger ones go to a thread. */
const INLINE_BYTES_MAX = 16_000;
/** The largest reports, crafted to be slow, take a fifth of this. Longer only keeps a connection open. */
const RUN_MS_MAX = 5_000;
const WAIT_MS_MAX = 10_000;
/** One for each possible connection. */
const WAITING_MAX = 100;

/** Reads returned mail without blocking the event loop. */
export const createInboundReportReader = (): InboundReportReader => {
  const threads = createWorkerThreads<Uint8Array, InboundReport>({
    entry: new URL('./inbound-report-thread.ts', import.meta.url),
    threads: 1,
    runMsMax: RUN_MS_MAX,
    waitMsMax: WAIT_MS_MAX,
    tasksMax: WAITING_MAX,
  });
  return {
    read: async (raw, network) => (raw.length > INLINE_BYTES_MAX ? threads.run(raw, network) : readInboundReport(raw)),
    close: threads.close,
  };
};

interface PostmasterOptions {
  /** `BOUNCE_DOMAIN`. */
  readonly domain: string;
  /** Address of the operator who reads it. */
  readonly address: string;
  /** Transport for live mail. */
  readonly transport: MailTransport;
  readonly system: System;
  readonly logger: Logger;
}

export interface Postmaster {
  /**
   * Resolves once the mail has been handed over to POSTMASTER.
   * @param from sender of the envelope.
   * @throws {Error} with a `responseCode` if the mail was not handed over. The code says whether to retry.
   */
  pass(raw: Buffer, from: string): Promise<void>;
}

/** A postmaster gets a few mails a day. More is a flood that would fill a mailbox, or a loop. */
const PASSED_PER_HOUR_MAX = 30;
const HOUR_MS = 3_600_000;
/** RFC 5321 §4.5.3.2.6 lets the client wait ten minutes for its reply. A server that takes longer than this is down. */
const PASS_MS_MAX = 60_000;
/** Limit for the header of a mail. Anything later was not added in transit. */
const HEAD_BYTES_MAX = 64_000;

const markOf = (domain: string): string => `postmaster@${domain}`;

const hasPassed = (raw: Buffer, domain: string): boolean => {
  const head =
    raw
      .subarray(0, HEAD_BYTES_MAX)
      .toString('latin1')
      .split(/\r?\n\r?\n/, 1)[0] ?? '';
  return head.split(/\r?\n/).some((line) => line.toLowerCase() === `x-loop: ${markOf(domain)}`);
};

/**
 * The mail is attached unchanged to another one. If it were forwarded as it is, a server that checks its sender would
 * consider it forged.
 */
const wrapped = ({ domain, address, system }: PostmasterOptions, raw: Buffer, from: string): OutgoingMail => {
  const recipientId = 'postmaster';
  const sender = from === '' ? 'a machine (without a return address)' : from;
  return {
    // No bounces: two machines could otherwise write to each other.
    envelope: { from: '', to: [{ recipientId, address }] },
    messageId: `<${system.uuid()}@${domain}>`,
    body: {
      kind: 'message',
      messageId: recipientId,
      from: { name: 'Postmaster', address: markOf(domain) },
      recipients: [{ id: recipientId, address, kind: 'to' }],
      replyTo: [],
      tags: [],
      metadata: {},
      subject: `Mail to ${markOf(domain)}`,
      text: `A message arrived for the postmaster of ${domain}: it is attached.\r\nReturn address: ${sender}`,
      headers: { 'Auto-Submitted': 'auto-forwarded', 'X-Loop': markOf(domain) },
      attachments: [{ filename: 'mail.eml', contentType: 'application/octet-stream', content: raw.toString('base64') }],
    },
    date: system.now(),
    attempt: 1,
  };
};

/**
 * Forwards mail to the postmaster (RFC 5321 §4.5.1) to an address that is read, before replying: no copy is kept here.
 */
export const createPostmaster = (options: PostmasterOptions): Postmaster => {
  const { domain, transport, system, logger } = options;
  let passed: readonly number[] = [];

  const takePlace = (): boolean => {
    const now = system.monotonicMs();
    passed = passed.filter((at) => at > now - HOUR_MS);
    if (passed.length >= PASSED_PER_HOUR_MAX) return false;
    passed = [...passed, now];
    return true;
  };

  return {
    pass: async (raw, from) => {
      if (hasPassed(raw, domain)) throw smtpAnswer(554, '5.4.6 mail loop detected');
      if (!takePlace()) throw smtpAnswer(451, '4.7.0 too much mail for the postmaster: try again in an hour');
      const mail = wrapped(options, raw, from);
      const [said] = await transport.send(mail, { deadlineMs: system.monotonicMs() + PASS_MS_MAX });
      if (said?.outcome === 'delivered') {
        logger.info({ kind: 'postmaster', outcome: 'postmaster' }, 'forwarded a mail for the postmaster');
        return;
      }
      const { outcome = 'unknown', code = 0, enhanced = null, mx = null } = said ?? {};
      logger.error({ outcome, code, enhanced, mx }, 'could not forward a mail for the postmaster: check POSTMASTER');
      throw smtpAnswer(451, '4.3.0 the message could not be forwarded: try again later');
    },
  };
};
