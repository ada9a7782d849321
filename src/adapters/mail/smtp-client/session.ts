import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, TLSSocket } from 'node:tls';
import SMTPConnection, { type SMTPError } from 'nodemailer/lib/smtp-connection';
import type { TlsPolicy } from '../../../domain/ports/mail-transport.ts';
import { assertSafe, readExtensions, type SmtpEnvelope } from './envelope.ts';
import { takeOverSession } from './exchange.ts';
import { GREETING_TIMES } from './greeting-patience.ts';
import { ehloLines, login } from './login.ts';
import { noReply, parseReply, type SmtpReply } from './reply.ts';
import type { SessionTarget } from './session-target.ts';
import type { OutgoingMessage } from './transaction.ts';
import { type SmtpCarrier, type Transmission, transmit } from './transmission.ts';

/** Who answered, and over what. */
export interface Side {
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
  readonly side: Side;
  acceptsUtf8(): boolean;
  isOpen(): boolean;
  /** Aborting closes the session at once. @throws {Error} an address that cannot be sent; the session is as it was. */
  transmit(envelope: SmtpEnvelope, outgoing: OutgoingMessage, signal: AbortSignal): Promise<Transmission>;
  /** Ends a transaction that was refused half-way (RSET). */
  reset(): Promise<void>;
  /** Asks whether a message may be sent, and sends none (MAIL, RCPT, RSET). @returns what refused it; null: nothing did. */
  ask(from: string, to: string): Promise<SessionRefusal | null>;
  quit(): void;
  close(): void;
}

/** nodemailer's: STARTTLS that is demanded was refused. */
const isTlsError = (cause: (Error & { readonly code?: string }) | undefined): boolean => cause?.code === 'ETLS';

/** The session could not be set up; `reply.code` is 0 where the server said nothing. */
export class SmtpConnectFailed extends Error {
  override readonly name = 'SmtpConnectFailed';
  readonly reply: SmtpReply;
  /** Null: nobody was asked. */
  readonly side: Side | null;
  /** The server was reached, and TLS with it did not come about: in clear it might work (RFC 7435). */
  readonly isTlsBroken: boolean;
  /** TLS that was demanded did not come about, or did not show who the server has to be. */
  readonly isAboutTls: boolean;
  /** It took the connection and did not get to the end of its greeting in the time that it had. */
  readonly isUngreeted: boolean;
  /** @param cause the error that it came from; undefined: our own patience ended. */
  constructor(reply: SmtpReply, side: Side | null = null, isTlsBroken = false, cause?: Error) {
    super(reply.text, { cause });
    this.reply = reply;
    this.side = side;
    this.isTlsBroken = isTlsBroken;
    this.isUngreeted = reply.code === 0 && /^Greeting never received/.test(reply.text);
    this.isAboutTls = isTlsBroken || isTlsError(cause) || (reply.code === 0 && typeof side?.tls === 'string');
  }
}

export interface SmtpSessionOptions {
  readonly target: SessionTarget;
  readonly ehloName: string;
  /** Certificates to trust, for instance. */
  readonly tls?: ConnectionOptions;
  /** For name and connection. Default 30 s. */
  readonly connectMs?: number;
  /** For the greeting, and as long again for the rest of the setup. Default: `connectMs`, or else 60 s. */
  readonly greetingMs?: number;
  readonly onEnd: () => void;
}

/** A server that is gone must leave time for the next of its domain; slow networks connect within seconds. */
const CONNECT_MS = 30_000;
/** RFC 5321 §4.5.3.2.6, the longest wait there is; what a message may take is the caller's deadline. */
const SOCKET_IDLE_MS = 600_000;
/** For the answer to RSET and QUIT: mail waits for the session, and a stop for its end. */
const PARTING_MS = 5_000;
/** Longest reply that is read while the session is set up. */
const REPLY_BYTES_MAX = 64 * 1024;

const replyOf = (error: SMTPError): SmtpReply =>
  typeof error.response === 'string' ? parseReply(error.response) : noReply(error.message);

const timesOf = ({ connectMs, greetingMs }: SmtpSessionOptions) => ({
  connectMs: connectMs ?? CONNECT_MS,
  greetingMs: greetingMs ?? connectMs ?? GREETING_TIMES.firstMs,
});

const connectionOptions = (options: SmtpSessionOptions) => {
  const { target, ehloName, tls } = options;
  const { connectMs, greetingMs } = timesOf(options);
  const { host, address, port, implicitTls, localAddress } = target;
  const { required, check, avoided = false } = target.tls;
  return {
    host: address ?? host,
    ...(isIP(host) === 0 && { servername: host }),
    port,
    ...(localAddress !== undefined && { localAddress }),
    secure: implicitTls,
    name: ehloName,
    requireTLS: required && !implicitTls,
    opportunisticTLS: !required && !implicitTls,
    ignoreTLS: avoided && !required,
    tls: { rejectUnauthorized: check === 'ca', ...tls },
    connectionTimeout: connectMs + greetingMs, // of both together; that of the connection alone is ours
    greetingTimeout: greetingMs,
    socketTimeout: SOCKET_IDLE_MS,
    // Ended at once: a final dot that waits for the server to read on would leave after the deadline.
    socketCloseTimeout: 0,
    maxResponseSize: REPLY_BYTES_MAX,
  };
};

const policyOf = ({ tls: { policy, required } }: SessionTarget): TlsPolicy =>
  policy ?? (required ? 'required' : 'opportunistic');

const sideOf = (target: SessionTarget, socket: Socket | false | null): Side => {
  const secured = socket instanceof TLSSocket ? socket : null;
  const tls = secured?.getProtocol() ?? null;
  return {
    mx: target.host,
    address: target.address ?? (socket || null)?.remoteAddress ?? null,
    tls,
    cipher: tls === null ? null : (secured?.getCipher()?.name ?? null),
    policy: policyOf(target),
  };
};

/** @returns what is wrong with the certificate, where that is ours to say. */
const certificateFault = ({ tls: { check, required } }: SessionTarget, socket: Socket): Error | undefined => {
  if (socket instanceof TLSSocket) return typeof check === 'function' ? check(socket) : undefined;
  return required ? new Error('the session is in clear') : undefined;
};

const transmitOver = (carrier: SmtpCarrier): SmtpSession['transmit'] => {
  const abort = (): void => carrier.exchange.close(noReply('the deadline passed before the server had answered'));
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

const sessionOf = (connection: SMTPConnection, socket: Socket, { target }: SmtpSessionOptions): SmtpSession => {
  const exchange = takeOverSession(connection, socket);
  const carrier: SmtpCarrier = { exchange, extensions: readExtensions(ehloLines(connection)) };
  const close = (): void => exchange.close(ENDED_BY_US);
  /** Between messages, where no deadline runs. @returns the reply; undefined: none came in time, and the session is over. */
  const ask = async (command: string): Promise<string | undefined> => {
    const timer = setTimeout(close, PARTING_MS).unref();
    const [response] = await exchange.ask(command, 1);
    clearTimeout(timer);
    return response;
  };
  return {
    side: sideOf(target, socket),
    acceptsUtf8: () => carrier.extensions.utf8,
    isOpen: exchange.isOpen,
    transmit: transmitOver(carrier),
    reset: async () => {
      const response = await ask('RSET\r\n');
      if (response?.[0] !== '2') throw new Error('the session could not be reset');
    },
    ask: async (from, to) => {
      assertSafe({ from, to: [to] });
      const commands = [['mail', `MAIL FROM:<${from}>\r\n`] as const, ['recipient', `RCPT TO:<${to}>\r\n`] as const];
      for (const [stage, command] of commands) {
        const response = await ask(command);
        if (response?.[0] !== '2') return { stage, reply: parseReply(response ?? '') };
      }
      await ask('RSET\r\n');
      return null;
    },
    quit: () => void ask('QUIT\r\n').then(close),
    close,
  };
};

const isSettingUpTls = ({ upgrading }: SMTPConnection): boolean => upgrading === true;

/** The server is who it has to be, and knows who we are. */
const establish = async (connection: SMTPConnection, target: SessionTarget): Promise<Socket> => {
  const fault = connection._socket ? certificateFault(target, connection._socket) : undefined;
  if (fault !== undefined) throw fault;
  await login(connection, target);
  if (!connection._socket || connection.destroyed) throw new Error('the server ended the session');
  return connection._socket;
};

/**
 * Connects, greets, turns to TLS where it is offered or demanded, and authenticates.
 * @throws {SmtpConnectFailed}
 */
export const openSmtpSession = (options: SmtpSessionOptions, signal: AbortSignal): Promise<SmtpSession> =>
  new Promise((resolve, reject) => {
    const { target, onEnd } = options;
    const connection = new SMTPConnection(connectionOptions(options));
    const fail = (reply: SmtpReply, cause?: Error): void => {
      settle();
      const side = sideOf(target, connection._socket);
      const failed = new SmtpConnectFailed(reply, side, isSettingUpTls(connection), cause);
      connection.close();
      reject(failed);
    };
    const abort = (): void => fail(noReply('the deadline passed before the server was ready'));
    const giveUp = (): void => fail(noReply('the server was not ready in time'));
    const giveUpConnecting = (): void => {
      if (!connection._socket || connection._socket.connecting)
        fail(noReply('the server did not take the connection in time'));
    };
    const { connectMs, greetingMs } = timesOf(options);
    const timers = [setTimeout(giveUpConnecting, connectMs), setTimeout(giveUp, connectMs + 2 * greetingMs)];
    const settle = (): void => {
      for (const timer of timers) clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    };
    const failWith = (error: SMTPError): void => fail(replyOf(error), error);
    const ready = (socket: Socket): void => {
      settle();
      const session = sessionOf(connection, socket, options);
      connection.removeListener('error', failWith);
      resolve(session);
    };
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    connection.on('error', failWith);
    connection.on('end', onEnd);
    connection.connect((error) => {
      if (error !== undefined) return failWith(error);
      establish(connection, target).then(ready, failWith);
    });
  });
