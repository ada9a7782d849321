import { Readable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { TLSSocket } from 'node:tls';
import SMTPConnection, { type SMTPConnectionEnvelope, type SMTPError } from 'nodemailer/lib/smtp-connection';
import type { MimeMessage } from './mime-message.ts';
import { noReply, parseReply, type SmtpReply, type SmtpStage } from './smtp-reply.ts';
import { isLoopback, type Smarthost } from './smtp-url.ts';

/** How one transaction ended. `rejected`: recipients refused at RCPT, by address. */
export interface Transmission {
  readonly rejected: ReadonlyMap<string, SmtpReply>;
  readonly end:
    | { readonly kind: 'accepted'; readonly reply: SmtpReply }
    | { readonly kind: 'refused'; readonly stage: SmtpStage; readonly reply: SmtpReply }
    /** No reply. `begun`: the server had asked for the message; `finalDot`: it may have got all of it. */
    | { readonly kind: 'broken'; readonly reply: SmtpReply; readonly begun: boolean; readonly finalDot: boolean };
}

interface TransmitOptions {
  /** Asked right before the final dot. */
  readonly mayFinish: () => boolean;
  /** Aborting closes the session at once. */
  readonly signal: AbortSignal;
}

export interface SmtpSession {
  readonly mx: string;
  readonly tls: string | null;
  readonly acceptsUtf8: boolean;
  isOpen(): boolean;
  transmit(
    envelope: { readonly from: string; readonly to: readonly string[] },
    message: MimeMessage,
    options: TransmitOptions,
  ): Promise<Transmission>;
  /** Ends a transaction that was refused half-way (RSET). */
  reset(): Promise<void>;
  quit(): void;
  close(): void;
}

/** The session could not be set up; `reply.code` is 0 where the server said nothing. */
export class SmtpConnectFailed extends Error {
  override readonly name = 'SmtpConnectFailed';
  readonly reply: SmtpReply;
  constructor(reply: SmtpReply) {
    super(reply.text);
    this.reply = reply;
  }
}

export interface SmtpSessionOptions {
  readonly smarthost: Smarthost;
  readonly ehloName: string;
  readonly tls?: ConnectionOptions;
  readonly onEnd: () => void;
}

/** Name, connection, greeting and TLS together; a shorter one gives up on slow greylisters (RFC 5321 §4.5.3.2.1). */
const CONNECT_MS = 60_000;
/** RFC 5321 §4.5.3.2.6, the longest wait there is; what a message may take is the caller's deadline. */
const SOCKET_IDLE_MS = 600_000;
/** For the answer to QUIT; nothing depends on it. */
const QUIT_MS = 5_000;
/** Longest reply that is read. */
const REPLY_BYTES_MAX = 64 * 1024;

interface Progress {
  begun: boolean;
  finalDot: boolean;
}

/** Asks for permission when all but the final dot has been taken over by the socket. */
const messageStream = (message: MimeMessage, mayFinish: () => boolean, progress: Progress): Readable => {
  const chunks = message.chunks()[Symbol.iterator]();
  return new Readable({
    highWaterMark: 1, // nothing is read ahead: the last question comes when the chunk before it was taken
    read() {
      progress.begun = true;
      const next = chunks.next();
      if (next.done !== true) this.push(next.value);
      else if (mayFinish()) {
        progress.finalDot = true;
        this.push(null);
      } else this.destroy(new Error('the deadline has passed'));
    },
  });
};

const replyOf = (error: SMTPError): SmtpReply =>
  typeof error.response === 'string' ? parseReply(error.response) : noReply(error.message);

const STAGES: Readonly<Record<string, SmtpStage>> = { 'MAIL FROM': 'mail', 'RCPT TO': 'recipient', DATA: 'content' };

/** nodemailer compares the size with what EHLO promised and does not ask (RFC 1870 §6.1). */
const TOO_LARGE: SmtpReply = { code: 552, enhanced: '5.3.4', text: 'the message is larger than the server accepts' };

const isLocallyTooLarge = ({ code, command }: SMTPError): boolean => code === 'EMESSAGE' && command === 'MAIL FROM';

/** A reply to what was sent; after the final dot, only one to the transaction itself counts. */
const isAnswer = ({ code }: SMTPError, reply: SmtpReply, { finalDot }: Progress): boolean =>
  reply.code > 0 && (!finalDot || code === 'EENVELOPE' || code === 'EMESSAGE');

/** @throws {SMTPError} the envelope could not even be sent: a fault of ours. */
const endOf = (error: SMTPError, progress: Progress): Transmission['end'] => {
  const reply = replyOf(error);
  if (isAnswer(error, reply, progress))
    return { kind: 'refused', stage: STAGES[error.command ?? ''] ?? 'session', reply };
  if (isLocallyTooLarge(error)) return { kind: 'refused', stage: 'mail', reply: TOO_LARGE };
  if (error.command === 'API' && error.code === 'EENVELOPE') throw error;
  return { kind: 'broken', reply, ...progress };
};

const rejectedIn = (envelope: Partial<SMTPConnectionEnvelope>): ReadonlyMap<string, SmtpReply> =>
  new Map((envelope.rejectedErrors ?? []).map((error) => [error.recipient ?? '', replyOf(error)]));

const tlsVersion = (connection: SMTPConnection): string | null =>
  connection._socket instanceof TLSSocket ? connection._socket.getProtocol() : null;

const connectionOptions = ({ smarthost, ehloName, tls }: SmtpSessionOptions) => {
  const { host, port, secure, credentials } = smarthost;
  const mustProtect = credentials !== null && !isLoopback(host);
  return {
    host,
    port,
    secure,
    name: ehloName,
    requireTLS: mustProtect && !secure,
    opportunisticTLS: !mustProtect && !secure,
    // A certificate proves something where we were told whom to trust; RFC 7435 elsewhere.
    tls: { rejectUnauthorized: secure || mustProtect, ...tls },
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SOCKET_IDLE_MS,
    maxResponseSize: REPLY_BYTES_MAX,
  };
};

/** nodemailer's `send`, which keeps its books on the envelope it is given. */
const sendOver = (
  connection: SMTPConnection,
  envelope: Partial<SMTPConnectionEnvelope>,
  stream: Readable,
): Promise<SMTPError | string> =>
  new Promise((resolve) => {
    connection.send(envelope, stream, (error, info) => {
      if (error?.code === 'ESTREAM') connection.close(); // in the middle of a message: never a final dot
      resolve(error ?? info?.response ?? '');
    });
  });

const aborted = (
  connection: SMTPConnection,
  signal: AbortSignal,
): { promise: Promise<SMTPError>; forget: () => void } => {
  const { promise, resolve } = Promise.withResolvers<SMTPError>();
  const abort = (): void => {
    connection.close();
    resolve(new Error('the deadline passed before the server had answered'));
  };
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  return { promise, forget: () => signal.removeEventListener('abort', abort) };
};

const transmitOver =
  (connection: SMTPConnection): SmtpSession['transmit'] =>
  async ({ from, to }, message, { mayFinish, signal }) => {
    const progress: Progress = { begun: false, finalDot: false };
    const envelope: Partial<SMTPConnectionEnvelope> = { from, to: [...to], size: message.sizeBytes };
    const abort = aborted(connection, signal);
    const sent = sendOver(connection, envelope, messageStream(message, mayFinish, progress));
    const result = await Promise.race([sent, abort.promise]);
    abort.forget();
    const end: Transmission['end'] =
      typeof result === 'string' ? { kind: 'accepted', reply: parseReply(result) } : endOf(result, progress);
    return { rejected: rejectedIn(envelope), end };
  };

const sessionOf = (connection: SMTPConnection, options: SmtpSessionOptions, ehlo: string): SmtpSession => ({
  mx: options.smarthost.host,
  tls: tlsVersion(connection),
  acceptsUtf8: /^250[ -]SMTPUTF8\b/im.test(ehlo),
  isOpen: () => !connection.destroyed,
  transmit: transmitOver(connection),
  reset: () =>
    new Promise((resolve, reject) => connection.reset((error) => (error === null ? resolve() : reject(error)))),
  quit: () => {
    if (connection.destroyed) return;
    connection.quit();
    setTimeout(() => connection.close(), QUIT_MS).unref();
  },
  close: () => connection.close(),
});

const login = (connection: SMTPConnection, { credentials }: Smarthost): Promise<void> =>
  new Promise((resolve, reject) => {
    if (credentials === null) return resolve();
    if (!connection.allowsAuth) return reject(new Error('the server offers no authentication'));
    connection.login({ ...credentials }, (error) => (error === null ? resolve() : reject(error)));
  });

/**
 * Connects, greets, turns to TLS where it is offered or demanded, and authenticates.
 * @throws {SmtpConnectFailed}
 */
export const openSmtpSession = (options: SmtpSessionOptions, signal: AbortSignal): Promise<SmtpSession> =>
  new Promise((resolve, reject) => {
    const connection = new SMTPConnection(connectionOptions(options));
    const fail = (reply: SmtpReply): void => {
      signal.removeEventListener('abort', abort);
      connection.close();
      reject(new SmtpConnectFailed(reply));
    };
    const abort = (): void => fail(noReply('the deadline passed before the server was ready'));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    connection.on('error', (error) => fail(replyOf(error)));
    connection.on('end', options.onEnd);
    connection.connect((error) => {
      if (error !== undefined) return fail(replyOf(error));
      const ehlo = connection.lastServerResponse || '';
      const ready = (): void => {
        signal.removeEventListener('abort', abort);
        resolve(sessionOf(connection, options, ehlo));
      };
      login(connection, options.smarthost).then(ready, (failure) => fail(replyOf(failure)));
    });
  });
