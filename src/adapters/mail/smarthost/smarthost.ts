import type { ConnectionOptions } from 'node:tls';
import type { MailTransport, RecipientOutcome } from '../../../domain/ports/mail.ts';
import type { System } from '../../../lib/async/async.ts';
import {
  createGreetingTimeouts,
  createSessionPool,
  GREETING_TIMEOUTS,
  type GreetingTimeouts,
  openSmtpSession,
  type SessionTarget,
  SmtpConnectFailed,
  type SmtpSession,
} from '../../../lib/smtp/smtp.ts';
import { createOutgoingMessages } from '../compose/signed-message.ts';
import { deferredAll, inOrder } from '../outcomes.ts';
import { createDeadline, type ReadyMail, sendOnSession } from '../send.ts';
import { problemOfRefusal, type SmarthostWatch } from './problems.ts';

/** A transport that keeps its sessions between messages. */
export interface PooledTransport extends MailTransport {
  /** Sessions with mail servers, open or being opened. */
  sessions(): number;
}

/** Server for mail submission, from `smtp://user:pass@host:port` or `smtps://…`. */
export interface Smarthost {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (`smtps:`); otherwise STARTTLS if it is offered. */
  readonly secure: boolean;
  /** Null: no AUTH. */
  readonly credentials: { readonly user: string; readonly pass: string } | null;
}

/**
 * RFC 6409 §3.1 and RFC 8314 §3.3 with credentials. A relay on the local network listens on the port of mail servers.
 */
const defaultPort = (secure: boolean, hasCredentials: boolean): number => {
  if (secure) return 465;
  return hasCredentials ? 587 : 25;
};

/** @throws {Error} with the problem, without the password. */
export const parseSmarthost = (url: string): Smarthost => {
  const parsed = URL.parse(url);
  if (parsed === null || !/^smtps?:$/.test(parsed.protocol)) throw new Error('a mail URL is smtp://… or smtps://…');
  if (parsed.hostname === '') throw new Error('the mail URL names no host');
  const secure = parsed.protocol === 'smtps:';
  const hasCredentials = parsed.username !== '' && parsed.password !== '';
  return {
    host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: parsed.port === '' ? defaultPort(secure, hasCredentials) : Number(parsed.port),
    secure,
    credentials: hasCredentials
      ? { user: decodeURIComponent(parsed.username), pass: decodeURIComponent(parsed.password) }
      : null,
  };
};

/** Credentials are sent in clear only to this machine. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d+){3}|::1)$/.test(host);

/**
 * Opportunistic TLS (RFC 7435). A server must prove its identity if it receives credentials or was configured as
 * `smtps:`.
 */
export const targetOf = ({ host, port, secure, credentials }: Smarthost): SessionTarget => {
  const required = secure || (credentials !== null && !isLoopback(host));
  return { host, port, implicitTls: secure, credentials, tls: { required, check: required ? 'ca' : 'none' } };
};

export interface SmtpTransportOptions {
  /** `smtp://user:pass@host:port` or `smtps://…`. */
  readonly url: string;
  readonly ehloName: string;
  readonly system: System;
  /**
   * Concurrent sessions. With too many, the server rejects some; with too few, sends wait for its replies. Default 20.
   */
  readonly sessionsMax?: number;
  /** Certificates to trust, for instance. */
  readonly tls?: ConnectionOptions;
  /** Default: `GREETING_TIMEOUTS`. */
  readonly greeting?: GreetingTimeouts;
  /** Receives every outcome and failure of the server. */
  readonly watch?: SmarthostWatch;
}

const SESSIONS_MAX = 20;

/**
 * A rejection about this service does not bounce a message: the operator can correct the login, or get relaying
 * allowed.
 */
const notForGood = (said: RecipientOutcome): RecipientOutcome =>
  said.outcome === 'bounced' && problemOfRefusal(said) !== null ? { ...said, outcome: 'deferred' } : said;

/** Submits mail to one server over kept sessions (nodemailer sets them up; messages are built and sent here). */
export const createSmtpTransport = (options: SmtpTransportOptions): PooledTransport => {
  const target = targetOf(parseSmarthost(options.url));
  const { ehloName, system, tls, watch } = options;
  const messages = createOutgoingMessages(system);
  const greetingTimeouts = createGreetingTimeouts(options.greeting ?? GREETING_TIMEOUTS);
  const noted = (error: unknown): never => {
    if (error instanceof SmtpConnectFailed) {
      watch?.failed(error);
      greetingTimeouts.failed(target.host, error);
    }
    throw error;
  };
  const open = (signal: AbortSignal, onEnd: () => void): Promise<SmtpSession> => {
    const times = { greetingMs: greetingTimeouts.msOf(target.host) };
    return openSmtpSession({ target, ehloName, onEnd, ...times, ...(tls && { tls }) }, signal).catch(noted);
  };
  const pool = createSessionPool({ sessionsMax: options.sessionsMax ?? SESSIONS_MAX, open });

  const sendReady = async (ready: ReadyMail): Promise<readonly RecipientOutcome[]> => {
    try {
      const { settled, open } = await sendOnSession(target.host, pool.acquire, ready);
      const outcomes = inOrder(ready.mail, [...settled, ...open]).map(notForGood); // there is no other server
      watch?.answered(outcomes);
      return outcomes;
    } catch (error) {
      if (error instanceof SmtpConnectFailed) return deferredAll(ready.mail, target.host, error.reply, error.peer);
      throw error;
    }
  };

  return {
    send: async (mail, sendOptions) => {
      const messageFor = await messages.prepare(mail);
      const deadline = createDeadline(system, sendOptions);
      try {
        return await sendReady({ mail, messageFor, deadline });
      } finally {
        deadline.end();
      }
    },
    sessions: pool.size,
    close: async () => {
      await Promise.all([pool.close(), messages.close()]);
    },
  };
};
