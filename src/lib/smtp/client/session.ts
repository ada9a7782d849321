import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { isTooManyRecipients, noReply, parseReply, type SmtpConnection, type SmtpReply } from './connection.ts';
import {
  assertSafe,
  type End,
  needsUtf8,
  type OutgoingMessage,
  readExtensions,
  type SmtpEnvelope,
  type SmtpExtensions,
  type Transaction,
  transact,
} from './transaction.ts';

/** Why TLS is used: because the server offers it, because we require it, or because the domain does (RFC 8461, RFC 7672). */
export type TlsPolicy = 'opportunistic' | 'required' | 'mta-sts' | 'dane';

type Extension = 'dsn' | 'eightBit' | 'size' | 'utf8';

/** RFC 5321 §4.1.1.11 defines 555 for an unknown parameter; other servers reply as to a malformed command (§4.2.2). */
const NOT_UNDERSTOOD = new Set([500, 501, 502, 504, 555]);

/**
 * Words by which a rejection names an extension. If it names none, extensions are dropped in this order: the cheapest
 * first.
 */
const NAMED: readonly (readonly [Extension, RegExp])[] = [
  ['dsn', /\b(?:DSN|RET|ENVID|NOTIFY|ORCPT)\b/i],
  ['eightBit', /\b(?:BODY|8BITMIME)\b/i],
  ['size', /\bSIZE\b/i],
  ['utf8', /\bSMTPUTF8\b/i],
];

/** RFC 3463 §3.2 X.1: the address was not understood. */
const isAboutAddress = ({ enhanced }: SmtpReply): boolean => enhanced?.startsWith('5.1.') === true;

/** True if the server may have rejected a parameter rather than the address. */
const isAboutParameters = (reply: SmtpReply): boolean => NOT_UNDERSTOOD.has(reply.code) && !isAboutAddress(reply);

/** @returns the extension that was offered but seems to be unsupported; null: the rejection is about something else. */
const refusedExtension = (reply: SmtpReply, envelope: SmtpEnvelope, extensions: SmtpExtensions): Extension | null => {
  if (!isAboutParameters(reply)) return null;
  const isWide = extensions.utf8 && needsUtf8(envelope);
  const isSaid = { ...extensions, utf8: isWide, eightBit: isWide && extensions.eightBit };
  const said = NAMED.filter(([extension]) => isSaid[extension]);
  return (said.find(([, words]) => words.test(reply.text)) ?? said[0])?.[0] ?? null;
};

/** Outcome of one message, over all transactions it took. `end` is how the last of them ended. */
export interface Transmission extends Transaction {
  /** Outcome for recipients that were only in an earlier transaction, by address. */
  readonly earlier: ReadonlyMap<string, End>;
  /**
   * Nothing was sent: an extension that the envelope needs was offered but does not work. Other recipients may not need
   * it.
   */
  readonly needsUtf8?: true;
}

/** A connection and the extensions that the server is still assumed to support. */
interface SmtpCarrier {
  readonly connection: SmtpConnection;
  extensions: SmtpExtensions;
}

/** One more transaction, after dropping an extension or for recipients who have not got the message yet. */
interface Round {
  readonly to: readonly string[];
  readonly without?: Exclude<keyof SmtpExtensions, 'sizeBytesMax'>;
  /** The previous transaction was left half-way. */
  readonly reset: boolean;
}

const NOT_RESET = noReply('the session could not be reset');

const afterMail = (reply: SmtpReply, envelope: SmtpEnvelope, extensions: SmtpExtensions): Round | null => {
  const without = refusedExtension(reply, envelope, extensions);
  return without === null ? null : { to: envelope.to, without, reset: false };
};

/** RFC 5321 §4.5.3.1.10: accepted recipients have the message, the others get it in a separate transaction. */
const afterRecipients = ({ rejected, end }: Transaction, { dsn }: SmtpExtensions): Round | null => {
  const isAccepted = end.kind === 'accepted';
  const isParameterRefused = (reply: SmtpReply): boolean => dsn && isAboutParameters(reply);
  const again = [...rejected].filter(
    ([, reply]) => isParameterRefused(reply) || (isAccepted && isTooManyRecipients(reply)),
  );
  if (again.length === 0) return null;
  const without = again.some(([, reply]) => isParameterRefused(reply)) ? ({ without: 'dsn' } as const) : {};
  return { to: again.map(([address]) => address), ...without, reset: !isAccepted };
};

const roundAfter = (transaction: Transaction, envelope: SmtpEnvelope, extensions: SmtpExtensions): Round | null => {
  const { end } = transaction;
  if (end.kind === 'accepted') return afterRecipients(transaction, extensions);
  if (end.kind === 'broken' || end.begun) return null;
  if (end.stage === 'mail') return afterMail(end.reply, envelope, extensions);
  if (end.stage === 'recipient') return afterRecipients(transaction, extensions);
  return null;
};

/** @returns true if another transaction can begin. */
const isReadyFor = async (
  { reset }: Round,
  connection: SmtpConnection,
  mayFinish: OutgoingMessage['mayFinish'],
): Promise<boolean> => {
  if (!(connection.isOpen() && (await mayFinish()))) return false;
  if (!reset) return connection.isOpen();
  const response = await connection.command('RSET');
  if (response?.[0] !== '2') connection.close(NOT_RESET);
  return connection.isOpen();
};

/** Some recipients have the message, so this must not look like a session that died before sending anything. */
const afterOthers = (end: End): End => {
  if (end.kind === 'broken') return { ...end, begun: true };
  return end.kind === 'refused' && end.stage === 'mail' ? { ...end, stage: 'session' } : end;
};

const giveUp = (carrier: SmtpCarrier, { without }: Round): void => {
  if (without !== undefined) carrier.extensions = { ...carrier.extensions, [without]: false };
};

/** Outcomes of recipients that need no further round. */
interface EndedRecipients {
  readonly rejected: Map<string, SmtpReply>;
  readonly earlier: Map<string, End>;
}

const transactRound = async (
  { connection, extensions }: SmtpCarrier,
  envelope: SmtpEnvelope,
  outgoing: OutgoingMessage,
  { rejected, earlier }: EndedRecipients,
): Promise<Transaction> => {
  const transaction = await transact(connection, extensions, envelope, outgoing);
  for (const [address, reply] of transaction.rejected) rejected.set(address, reply);
  return earlier.size > 0 ? { ...transaction, end: afterOthers(transaction.end) } : transaction;
};

/** Recipients of the next round have no outcome yet. */
const leaveOut = (
  { rejected, earlier }: EndedRecipients,
  to: readonly string[],
  end: End,
  again: ReadonlySet<string>,
): void => {
  for (const address of to) {
    if (again.has(address)) rejected.delete(address);
    else if (!rejected.has(address)) earlier.set(address, end);
  }
};

/**
 * Delivers one message to all recipients that the server accepts, once each. Extensions that the server does not
 * understand are dropped, and recipients above its limit get further transactions. @throws {Error} if an address cannot
 * be sent; the session stays as it was.
 */
const transmit = async (
  carrier: SmtpCarrier,
  envelope: SmtpEnvelope,
  outgoing: OutgoingMessage,
): Promise<Transmission> => {
  const ended: EndedRecipients = { rejected: new Map(), earlier: new Map() };
  let part = envelope;
  for (;;) {
    const transaction = await transactRound(carrier, part, outgoing, ended);
    const { end } = transaction;
    const round = roundAfter(transaction, part, carrier.extensions);
    if (round === null) return { ...ended, end };
    giveUp(carrier, round);
    if (round.without === 'utf8') return { ...ended, end, needsUtf8: true };
    if (!(await isReadyFor(round, carrier.connection, outgoing.mayFinish))) return { ...ended, end };
    leaveOut(ended, part.to, end, new Set(round.to));
    part = { ...envelope, to: round.to };
  }
};

/** How the other side's certificate is judged, before it receives credentials or mail. */
type CertificateCheck =
  /** Any certificate is accepted (RFC 7435). */
  | 'none'
  /** Signed by a trusted authority, for `host`. */
  | 'ca'
  /** @returns the problem with the certificate. */
  | ((socket: TLSSocket) => Error | undefined);

/** One server to open a session with, and the requirements for that session. */
export interface SessionTarget {
  /** Name in the certificate. Also the host to connect to, unless `address` is set. */
  readonly host: string;
  /** IP. */
  readonly address?: string;
  readonly port: number;
  /** TLS from the first byte (RFC 8314 §3), else by STARTTLS. */
  readonly implicitTls: boolean;
  /** Null: no AUTH. */
  readonly credentials: { readonly user: string; readonly pass: string } | null;
  readonly tls: {
    /** Never send mail in clear. Otherwise TLS is used if offered. */
    readonly required: boolean;
    readonly check: CertificateCheck;
    /** TLS policy in reports. Absent: derived from `required`. */
    readonly policy?: TlsPolicy;
    /** Stay in clear even if TLS is offered: for a server whose TLS has just failed. */
    readonly avoided?: boolean;
  };
  /** IP of ours to connect from. */
  readonly localAddress?: string;
}

/** The server that answered, and its connection. */
export interface Peer {
  readonly mx: string;
  /** IP; null: never connected. */
  readonly address: string | null;
  /** `TLSv1.3`; null: in clear, or never connected. */
  readonly tls: string | null;
  readonly cipher: string | null;
  readonly policy: TlsPolicy | null;
}

interface SessionRefusal {
  readonly stage: 'mail' | 'recipient';
  readonly reply: SmtpReply;
}

export interface SmtpSession {
  readonly peer: Peer;
  acceptsUtf8(): boolean;
  isOpen(): boolean;
  /** Aborting closes the session at once. @throws {Error} an address that cannot be sent; the session is as it was. */
  transmit(envelope: SmtpEnvelope, outgoing: OutgoingMessage, signal: AbortSignal): Promise<Transmission>;
  /** Ends a transaction that was refused half-way (RSET). */
  reset(): Promise<void>;
  /**
   * Asks whether a message may be sent, without sending one (MAIL, RCPT, RSET). @returns the rejection; null if there
   * was none.
   */
  ask(from: string, to: string): Promise<SessionRefusal | null>;
  quit(): void;
  close(): void;
}

/** Time-out for the reply to RSET and QUIT: mail waits for the session, and a shutdown for its end. */
const PARTING_MS = 5_000;

export const policyOf = ({ tls: { policy, required } }: SessionTarget): TlsPolicy =>
  policy ?? (required ? 'required' : 'opportunistic');

export const peerOf = (target: SessionTarget, socket: Socket | null): Peer => {
  const secured = socket instanceof TLSSocket ? socket : null;
  const tls = secured?.getProtocol() ?? null;
  return {
    mx: target.host,
    address: target.address ?? socket?.remoteAddress ?? null,
    tls,
    cipher: tls === null ? null : (secured?.getCipher()?.name ?? null),
    policy: policyOf(target),
  };
};

const transmitOver = (carrier: SmtpCarrier): SmtpSession['transmit'] => {
  const abort = (): void => carrier.connection.close(noReply('the deadline passed before the server had answered'));
  return async (envelope, outgoing, signal) => {
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await transmit(carrier, envelope, outgoing);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  };
};

const ENDED_BY_US = noReply('the session was ended');

/** The session over an established connection. */
export const sessionOf = (connection: SmtpConnection, target: SessionTarget): SmtpSession => {
  const { smtp, socket } = connection;
  const carrier: SmtpCarrier = { connection, extensions: readExtensions(connection.offered) };
  const close = (): void => connection.close(ENDED_BY_US);
  /**
   * Sends a command between messages, when no deadline runs. @returns the reply; undefined: none in time, and the
   * session is over.
   */
  const ask = async (command: string): Promise<string | undefined> => {
    const timer = setTimeout(close, PARTING_MS).unref();
    const response = await connection.command(command);
    clearTimeout(timer);
    return response;
  };
  return {
    peer: peerOf(target, socket),
    acceptsUtf8: () => carrier.extensions.utf8,
    isOpen: connection.isOpen,
    transmit: transmitOver(carrier),
    reset: async () => {
      const response = await ask('RSET');
      if (response?.[0] !== '2') throw new Error('the session could not be reset');
    },
    ask: async (from, to) => {
      assertSafe({ from, to: [to] });
      const commands = [['mail', `MAIL FROM:<${from}>`] as const, ['recipient', `RCPT TO:<${to}>`] as const];
      for (const [stage, command] of commands) {
        const response = await ask(command);
        if (response?.[0] !== '2') return { stage, reply: parseReply(response ?? '') };
      }
      await ask('RSET');
      return null;
    },
    quit: () => {
      const timer = setTimeout(close, PARTING_MS).unref();
      smtp.once('end', () => clearTimeout(timer));
      smtp.quit();
    },
    close,
  };
};
