import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { SmtpConnection } from './connection.ts';
import { assertSafe, readExtensions, type SmtpEnvelope } from './envelope.ts';
import { noReply, parseReply, type SmtpReply } from './reply.ts';
import type { TlsPolicy } from './tls-policy.ts';
import type { OutgoingMessage } from './transaction.ts';
import { type SmtpCarrier, type Transmission, transmit } from './transmission.ts';

/** How the other side's certificate is judged, before it receives credentials or mail. */
export type CertificateCheck =
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

export interface SessionRefusal {
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
