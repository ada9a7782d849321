import { connect, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, TLSSocket } from 'node:tls';
import type { SMTPError } from 'nodemailer/lib/smtp-connection';
import { noReply, openConnection, parseReply, type SmtpConnection, type SmtpReply } from './connection.ts';
import {
  type Peer,
  peerOf,
  policyOf,
  type SessionTarget,
  type SmtpSession,
  sessionOf,
  type TlsPolicy,
} from './session.ts';

/** Time-outs for a greeting. */
export interface GreetingTimeouts {
  readonly firstMs: number;
  /** On the try after one that ended without a greeting. */
  readonly againMs: number;
}

/**
 * RFC 5321 §4.5.3.2.1 asks for five minutes, since servers under load greet late and some delay strangers on purpose.
 * The first try has one minute: a server that says nothing at all must leave time for the next one of its domain. The
 * second try gets as much as an attempt of four minutes can spare.
 */
export const GREETING_TIMEOUTS: GreetingTimeouts = { firstMs: 60_000, againMs: 200_000 };

/** About 1 MB. An evicted server gets the first time-out again. */
const SERVERS_MAX = 10_000;

/** Tracks, by name, which servers did not greet within the first time-out. */
export const createGreetingTimeouts = ({ firstMs, againMs }: GreetingTimeouts) => {
  const slow = new Set<string>();

  const add = (server: string): void => {
    slow.delete(server);
    slow.add(server);
    for (const oldest of slow) {
      if (slow.size <= SERVERS_MAX) return;
      slow.delete(oldest);
    }
  };

  return {
    msOf: (server: string): number => (slow.has(server) ? againMs : firstMs),
    /**
     * A server that exceeds the longer time-out too gets the shorter one next. One that greets late keeps the longer
     * one.
     */
    failed: (server: string, { isUngreeted }: { readonly isUngreeted: boolean }): void => {
      if (!isUngreeted) return;
      if (slow.has(server)) slow.delete(server);
      else add(server);
    },
  };
};

/** The server does not start TLS (RFC 3207), or its TLS failed or did not prove its identity. */
type TlsFault = 'absent' | 'failed';

/** Codes of errors made here. */
const TLS_ERRORS: Readonly<Record<TlsFault, string>> = { absent: 'ETLS', failed: 'ECERTIFICATE' };
const TIMED_OUT = 'ETIMEDOUT';
const timedOut = (sentence: string): Error => Object.assign(new Error(sentence), { code: TIMED_OUT });

const tlsFaultOf = (isTlsBroken: boolean, cause?: Error & { readonly code?: string | undefined }): TlsFault | null => {
  if (cause?.code === TLS_ERRORS.absent) return 'absent';
  const hasFailed = cause?.code === TLS_ERRORS.failed || (isTlsBroken && cause?.code !== TIMED_OUT);
  return hasFailed ? 'failed' : null;
};

/** The session could not be set up. `reply.code` is 0 if the server did not reply. */
export class SmtpConnectFailed extends Error {
  override readonly name = 'SmtpConnectFailed';
  readonly reply: SmtpReply;
  /** Null: no server was contacted. */
  readonly peer: Peer | null;
  /** The server was reached, but TLS could not be established. A session in clear might work (RFC 7435). */
  readonly isTlsBroken: boolean;
  /** Required TLS could not be established, or did not prove the required identity. */
  readonly isAboutTls: boolean;
  /** Null: the failure is not one of TLS. */
  readonly tlsFault: TlsFault | null;
  /** The server accepted the connection but did not finish its greeting in time. */
  readonly isUngreeted: boolean;
  /** @param cause the underlying error; undefined: our own time limit ended. */
  constructor(reply: SmtpReply, peer: Peer | null = null, isTlsBroken = false, cause?: Error) {
    super(reply.text, { cause });
    this.reply = reply;
    this.peer = peer;
    this.isTlsBroken = isTlsBroken;
    this.isUngreeted = reply.code === 0 && /^Greeting never received/.test(reply.text);
    this.tlsFault = tlsFaultOf(isTlsBroken, cause);
    this.isAboutTls = isTlsBroken || this.tlsFault !== null || (reply.code === 0 && typeof peer?.tls === 'string');
  }
}

interface SmtpSessionOptions {
  readonly target: SessionTarget;
  readonly ehloName: string;
  /** Certificates to trust, for instance. */
  readonly tls?: ConnectionOptions;
  /** Time-out for name resolution and connection. Default 30 s. */
  readonly connectMs?: number;
  /** Time-out for the greeting, and again for the rest of the setup. Default: `connectMs`, or else 60 s. */
  readonly greetingMs?: number;
  readonly onEnd: () => void;
}

/** A dead server must leave time for the next one of its domain. Even slow networks connect within seconds. */
const CONNECT_MS = 30_000;
const timesOf = ({ connectMs, greetingMs }: SmtpSessionOptions) => ({
  connectMs: connectMs ?? CONNECT_MS,
  greetingMs: greetingMs ?? connectMs ?? GREETING_TIMEOUTS.firstMs,
});

/** @returns the problem with the certificate, if checking it is up to us. */
const certificateFault = ({ tls: { check, required } }: SessionTarget, socket: Socket): Error | undefined => {
  if (!(socket instanceof TLSSocket)) return required ? new Error('the session is in clear') : undefined;
  const fault = typeof check === 'function' ? check(socket) : undefined;
  return fault && Object.assign(fault, { code: TLS_ERRORS.failed });
};

/** Progress of the session setup, for reports of a failure. */
interface Progress {
  socket: Socket | null;
  isTurningToTls: boolean;
}

const tlsOptionsOf = ({
  target: {
    host,
    tls: { check },
  },
  tls,
}: SmtpSessionOptions): ConnectionOptions => ({
  host,
  ...(isIP(host) === 0 && { servername: host }),
  rejectUnauthorized: check === 'ca',
  ...tls,
});

/** Resolves when the socket has connected, or is secured. */
const ready = (socket: Socket, event: 'connect' | 'secureConnect'): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(error instanceof AggregateError ? error.errors.at(-1) : error);
    const end = (): void => reject(new Error('Connection closed unexpectedly'));
    socket.once('error', fail).once('close', end);
    socket.once(event, () => {
      socket.removeListener('error', fail).removeListener('close', end);
      resolve(socket);
    });
  });

const connectSocket = (options: SmtpSessionOptions, progress: Progress): Promise<Socket> => {
  const { host, address, port, implicitTls, localAddress } = options.target;
  const to = { host: address ?? host, port, ...(localAddress !== undefined && { localAddress }) };
  const socket = implicitTls ? connectTls({ ...tlsOptionsOf(options), ...to }) : connect(to);
  progress.socket = socket;
  return ready(socket, implicitTls ? 'secureConnect' : 'connect');
};

const isStartTls = (line: string): boolean => /^STARTTLS\b/i.test(line);

const REPLY = /^(?:\d{3}-.*\r?\n){0,100}\d{3}(?: .*)?\r?\n/;
const REPLY_BYTES_MAX = 64 * 1024;

/**
 * Says STARTTLS and reads the reply itself: whatever else came in clear is dropped (RFC 3207 §6).
 * @returns '' if the connection ended first.
 */
const startTls = async ({ socket }: SmtpConnection): Promise<string> => {
  const listeners = socket.listeners('data') as ((chunk: Buffer) => void)[];
  socket.removeAllListeners('data');
  let text = '';
  const reply = await new Promise<string>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const found = REPLY.exec(text)?.[0];
      if (found !== undefined) resolve(found.trim());
      else if (text.length > REPLY_BYTES_MAX) socket.destroy();
    });
    socket.once('close', () => resolve(''));
    socket.write('STARTTLS\r\n');
  });
  socket.removeAllListeners('data');
  for (const listener of listeners) socket.on('data', listener);
  return reply;
};

/** Abandons the first `SMTPConnection` and everything it learned. */
const turnToTls = async (socket: Socket, options: SmtpSessionOptions, progress: Progress): Promise<Socket> => {
  socket.removeAllListeners().setTimeout(0);
  const secured = connectTls({ ...tlsOptionsOf(options), socket });
  progress.socket = secured;
  progress.isTurningToTls = true;
  await ready(secured, 'secureConnect');
  progress.isTurningToTls = false;
  return secured;
};

const REQUIRED_BY: Readonly<Record<TlsPolicy, string>> = {
  dane: 'the DNS of its domain requires it (DANE)',
  'mta-sts': 'the MTA-STS policy of its domain requires it',
  required: 'the settings of this service require it',
  opportunistic: 'it is used where it is offered',
};

/** @param reply to STARTTLS; '': the connection ended. */
const noTls = ({ offered }: SmtpConnection, target: SessionTarget, reply: string): Error => {
  const isOffered = offered.some(isStartTls);
  // A server that is closing replies 421 to any command.
  if (isOffered && reply.startsWith('421')) return Object.assign(new Error(reply), { response: reply });
  const said = reply === '' ? 'It ended the connection.' : `It replied: ${reply}`;
  const what = isOffered ? 'the server did not start TLS' : 'the server offers no TLS';
  const why = REQUIRED_BY[policyOf(target)];
  const sentence = `${what}, and ${why}${isOffered ? `. ${said}` : ''}`;
  return Object.assign(new Error(sentence), { code: TLS_ERRORS.absent });
};

/** The connection over TLS if it is offered or required; null if it is neither available nor required. */
const secure = async (
  plain: SmtpConnection,
  options: SmtpSessionOptions,
  progress: Progress,
): Promise<Socket | null> => {
  const { target } = options;
  const { required, avoided = false } = target.tls;
  if (!required && (avoided || !plain.offered.some(isStartTls))) return null;
  if (plain.ehloRefusal !== null) throw noTls(plain, target, plain.ehloRefusal); // STARTTLS needs EHLO
  const reply = await startTls(plain);
  if (reply.startsWith('2')) return turnToTls(plain.socket, options, progress);
  if (!required) return null;
  throw noTls(plain, target, reply);
};

/** Our own message about a server that cannot use the credentials. */
export const NO_AUTHENTICATION = 'the server offers no authentication';
export const NO_PASSWORD_AUTHENTICATION = 'the server offers no authentication by user and password';

/** Mechanisms for user and password in order of preference: the fewest round trips first. */
const MECHANISMS = ['PLAIN', 'LOGIN', 'CRAM-MD5'] as const;
/** RFC 4954 §3; some write `AUTH=`, as drafts of it did. */
const AUTH = /^AUTH[ =]+(.*)$/i;

/** Logs in by a mechanism that the server offers. Without credentials, does nothing. */
const login = (
  { smtp, lastWord }: SmtpConnection,
  offered: readonly string[],
  { credentials }: SessionTarget,
): Promise<void> =>
  new Promise((resolve, reject) => {
    if (credentials === null) return resolve();
    // nodemailer reports only a reply, but some servers end the connection instead.
    const end = (): void => {
      const { code, text } = lastWord();
      reject(Object.assign(new Error(text), code > 0 ? { response: text } : {}));
    };
    const mechanisms = offered.flatMap((line) => AUTH.exec(line)?.[1]?.toUpperCase().split(/ +/) ?? []);
    if (mechanisms.length === 0) return reject(new Error(NO_AUTHENTICATION));
    const method = MECHANISMS.find((each) => mechanisms.includes(each));
    if (method === undefined) return reject(new Error(NO_PASSWORD_AUTHENTICATION));
    smtp.once('end', end);
    smtp.login({ ...credentials, method }, (error) => {
      smtp.removeListener('end', end);
      if (error === null) resolve();
      else reject(error);
    });
  });

/** Connects, greets, starts TLS if it is offered or required, and authenticates. */
const setUp = async (options: SmtpSessionOptions, progress: Progress): Promise<SmtpConnection> => {
  const { target, ehloName } = options;
  const times = { host: target.host, ehloName, greetingMs: timesOf(options).greetingMs };
  const first = await openConnection(await connectSocket(options, progress), times);
  const secured = target.implicitTls ? null : await secure(first, options, progress);
  // The server greets only once, so nodemailer reads the same greeting again to start over.
  secured?.unshift(Buffer.from(`${first.greeting}\r\n`));
  const connection = secured === null ? first : await openConnection(secured, times);
  const fault = certificateFault(target, connection.socket);
  if (fault !== undefined) throw fault;
  // Credentials are never sent in clear to a server that offered TLS and then dropped it.
  const isDropped = !(connection.socket instanceof TLSSocket) && connection.offered.some(isStartTls);
  await login(connection, isDropped ? [] : connection.offered, target);
  if (!connection.isOpen()) throw new Error('the server ended the session');
  return connection;
};

/** IANA, SMTP enhanced status codes: encryption needed, and cryptographic failure. Either may be fixed later. */
const TLS_STATUS: Readonly<Record<TlsFault, string>> = { absent: '4.7.10', failed: '4.7.5' };

/** TLS that is required is our own finding, whatever the server replied to STARTTLS. */
const replyOf = ({ response, message }: SMTPError, requiredTlsFault: TlsFault | null): SmtpReply => {
  const reply = typeof response === 'string' ? parseReply(response) : noReply(message);
  return requiredTlsFault === null ? reply : { ...reply, enhanced: TLS_STATUS[requiredTlsFault] };
};

/** @throws {SmtpConnectFailed} */
export const openSmtpSession = async (options: SmtpSessionOptions, signal: AbortSignal): Promise<SmtpSession> => {
  const { target, onEnd } = options;
  const { connectMs, greetingMs } = timesOf(options);
  const progress: Progress = { socket: null, isTurningToTls: false };
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(timedOut('the deadline passed before the server was ready'));
  const timers = [
    setTimeout(() => {
      if (progress.socket?.connecting) reject(timedOut('the server did not take the connection in time'));
    }, connectMs),
    setTimeout(() => reject(timedOut('the server was not ready in time')), connectMs + 2 * greetingMs),
  ];
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    const connection = await Promise.race([tooLate, setUp(options, progress)]);
    connection.smtp.once('end', onEnd);
    return sessionOf(connection, target);
  } catch (error) {
    const { socket, isTurningToTls } = progress;
    const cause = error as SMTPError;
    const reply = replyOf(cause, target.tls.required ? tlsFaultOf(isTurningToTls, cause) : null);
    const failed = new SmtpConnectFailed(reply, peerOf(target, socket), isTurningToTls, cause);
    socket?.on('error', () => undefined).destroy();
    throw failed;
  } finally {
    for (const timer of timers) clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
};
