import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { InboundReport } from '../../domain/bounce/report.ts';
import { clientNetworkOf } from '../../domain/kernel/addresses.ts';
import { type ReturnToken, readReturnPath } from '../../domain/message/tokens.ts';
import { type Logger, withTurns } from '../../lib/async/async.ts';
import { type SmtpTask, smtpAnswer } from '../../lib/smtp/smtp.ts';
import type { InboundReportReader } from './inbound-report-reader.ts';
import type { Postmaster } from './postmaster.ts';

/** Bytes kept of a mail. A report precedes the message that it returns. Less could lose a report, more costs memory. */
export const KEPT_BYTES_MAX = 1_000_000;

/** The beginning of a mail. */
export interface Kept {
  readonly raw: Buffer;
  /** True if nothing was cut off. */
  readonly isWhole: boolean;
}

/** Reads the whole mail, as the protocol requires, but keeps only the part within the limit. */
export const keptOf = async (stream: AsyncIterable<Buffer>): Promise<Kept> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of withTurns(stream)) {
    if (length < KEPT_BYTES_MAX) chunks.push(chunk.subarray(0, KEPT_BYTES_MAX - length));
    length += chunk.length;
  }
  return { raw: Buffer.concat(chunks), isWhole: length <= KEPT_BYTES_MAX };
};

/** Returned mail, as described by its envelope and its parts. */
export interface Received {
  /** Tokens of the recipient addresses; null: the address for feedback loops. */
  readonly tokens: readonly (ReturnToken | null)[];
  readonly mail: InboundReport;
}

export interface InboundReportOptions {
  /** `BOUNCE_DOMAIN`, lower case. */
  readonly domain: string;
  /** Resolves once its consequences, if any, are in the log. If it rejects, the sender must retry. */
  take(received: Received): Promise<void>;
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
type Destination = ReturnToken | null | 'postmaster';

/** An envelope id is not an address. */
const tokenOf = (localPart: string): ReturnToken | undefined => {
  const token = readReturnPath(localPart);
  return token === null || token.purpose === 'envelope' ? undefined : token;
};

/** undefined: not a valid destination. */
const destinationOf = ({ address }: Pick<SMTPServerAddress, 'address'>, domain: string): Destination | undefined => {
  const [, localPart = '', host = domain] = /^(.*?)(?:@([^@]*))?$/.exec(address.toLowerCase()) ?? [];
  if (host !== domain && !host.startsWith(ALIAS_PREFIX)) return undefined;
  if (localPart === POSTMASTER_LOCAL_PART) return 'postmaster';
  if (localPart === FEEDBACK_LOCAL_PART) return host === domain ? null : undefined;
  return tokenOf(localPart);
};

/** Why the address is rejected; undefined if it is accepted. */
const refusalOf = (destination: Destination | undefined, { domain, postmaster }: InboundReportOptions) => {
  if (destination === undefined) return smtpAnswer(550, '5.1.1 nothing is received there');
  if (destination !== 'postmaster' || postmaster !== undefined) return undefined;
  return smtpAnswer(550, `5.2.1 ${domain} sends mail and receives reports; nobody reads its postmaster's mail here`);
};

/**
 * Receives returned mail: delivery reports, complaints, unsubscribe requests. It never sends mail in response, so that
 * no two machines write to each other. A mail is accepted once its consequences are in the log.
 */
export const createInboundReportTask = (options: InboundReportOptions): SmtpTask => {
  const { domain, reader, take, postmaster, logger } = options;

  const takeFor = async (destinations: readonly Destination[], { raw }: Kept, network: string): Promise<void> => {
    const tokens = destinations.filter((each) => each !== 'postmaster');
    if (tokens.length > 0) await take({ tokens, mail: await reader.read(raw, network) });
  };

  const receive = async (stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> => {
    const { envelope, remoteAddress } = session;
    const kept = await keptOf(stream);
    if (stream.sizeExceeded) throw smtpAnswer(552, '5.3.4 the message is too large');
    const destinations = envelope.rcptTo.map((address) => destinationOf(address, domain));
    const known = destinations.filter((destination) => destination !== undefined);
    await takeFor(known, kept, clientNetworkOf(remoteAddress));
    if (!known.includes('postmaster')) return;
    if (!kept.isWhole) throw smtpAnswer(552, `5.3.4 the postmaster gets at most ${KEPT_BYTES_MAX} bytes`);
    await postmaster?.pass(kept.raw, envelope.mailFrom === false ? '' : envelope.mailFrom.address);
  };

  const failure = (error: unknown): Error => {
    if (error instanceof Error && 'responseCode' in error) return error;
    logger.error({ err: error }, 'a returned message could not be recorded: the sending server is asked to try again');
    return smtpAnswer(451, '4.3.0 it could not be recorded: bring it again');
  };

  return {
    bounds: { max: CONNECTIONS_MAX, perNetwork: CONNECTIONS_PER_NETWORK_MAX, durationMs: SESSION_MS_MAX },
    serve: () => ({
      name: domain,
      banner: 'receives what comes back, and answers nothing',
      disabledCommands: ['AUTH'],
      size: MAIL_BYTES_MAX,
      socketTimeout: IDLE_MS,
      closeTimeout: CLOSE_MS,
      onRcptTo: (address, { envelope }, callback) => {
        const isFull = envelope.rcptTo.length >= RECIPIENTS_MAX;
        const refused = refusalOf(destinationOf(address, domain), options);
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
