import type { ConnectionOptions } from 'node:tls';
import type { BounceCategory } from '../../domain/bounce/categories.ts';
import { classifyReply } from '../../domain/bounce/classify.ts';
import type { MailTransport, RecipientOutcome } from '../../domain/ports/mail.ts';
import type { Logger, System } from '../../lib/async/async.ts';
import {
  createGreetingTimeouts,
  createSessionPool,
  GREETING_TIMEOUTS,
  type GreetingTimeouts,
  NO_AUTHENTICATION,
  NO_PASSWORD_AUTHENTICATION,
  openSmtpSession,
  type SessionTarget,
  SmtpConnectFailed,
  type SmtpSession,
} from '../../lib/smtp/smtp.ts';
import { createOutgoingMessages } from './compose.ts';
import { deferredAll, inOrder } from './outcomes.ts';
import { createDeadline, type ReadyMail, sendOnSession } from './send.ts';

/** Why no session with the smarthost could be opened, or nothing could be sent over it. */
type SmarthostProblem =
  | 'unknown_name'
  | 'unreachable'
  | 'silent'
  | 'tls'
  | 'certificate'
  | 'certificate_name'
  | 'login'
  | 'no_login'
  | 'no_password_login'
  | 'login_wanted'
  | 'tls_wanted'
  | 'relay_denied'
  | 'ehlo_name'
  | 'sender_not_allowed'
  | 'blocked'
  | 'refused';

/** Problem and remedy, for the operator. Contains no secret and no text of the server. */
export const SMARTHOST_REMEDIES: Readonly<Record<SmarthostProblem, string>> = {
  unknown_name: 'its name is not known: correct the host in MAIL_URL, or the resolver of this machine',
  unreachable: 'nothing answers there: correct host and port in MAIL_URL, or open the way to it',
  silent:
    'it says nothing that is SMTP: correct port and scheme in MAIL_URL (TLS from the first byte on, as on 465, is `smtps:`)',
  tls: 'TLS with it fails: `smtps:` in MAIL_URL is for TLS from the first byte on, as on 465, and `smtp:` for STARTTLS, as on 587, which a login needs',
  certificate: 'its certificate is not trusted: have it renewed, or give its authority by NODE_EXTRA_CA_CERTS',
  certificate_name:
    'its certificate is for another name: set the host in MAIL_URL to a name that the certificate has, or have it issued for this one',
  login: 'it refuses the login: correct user and password in MAIL_URL (percent-encoded: `@` is `%40`)',
  no_login: 'it offers no login there: set its port for submission (587, or 465 with `smtps:`), or no user in MAIL_URL',
  no_password_login:
    'it offers no login with user and password (PLAIN, LOGIN or CRAM-MD5): have one of these allowed there, or set no user in MAIL_URL and have the address of this machine allowed',
  login_wanted: 'it takes mail after a login only: set user and password in MAIL_URL',
  tls_wanted: 'it takes mail over TLS only and offers none there: use `smtps:` in MAIL_URL, or its port for submission',
  relay_denied:
    'it relays no mail for this service (relay access denied): set user and password in MAIL_URL, or have the address of this machine allowed there',
  sender_not_allowed:
    'it takes no mail from this sender with this login: have the sending domain allowed or verified there',
  ehlo_name:
    'it does not accept the name that this service calls itself by: set EHLO_NAME to a name that leads to this machine',
  blocked:
    'it blocks the address of this machine: ask its operator, give the address a reverse name, or send from another',
  refused: 'it refuses the session: ask its operator whether it takes mail from this machine',
};

/** Properties of nodemailer's errors besides the message, and OpenSSL's `reason`. */
interface SetupError {
  readonly code?: string;
  readonly command?: string;
  readonly syscall?: string;
  readonly reason?: string;
  readonly message?: string;
}

const CERTIFICATE = /certificate|self.signed/i;
/** Node's message for a certificate with other names. `reason` is then not OpenSSL's. */
const CERTIFICATE_NAME = /altnames|does not match certificate/i;

type Sign = (error: SetupError, failed: SmtpConnectFailed) => boolean;

/** The first match counts. */
const SIGNS: readonly (readonly [SmarthostProblem, Sign])[] = [
  ['unknown_name', ({ syscall }) => syscall === 'getaddrinfo'],
  ['unreachable', ({ syscall }) => syscall === 'connect'],
  ['login', ({ command = '' }, { reply }) => command.startsWith('AUTH') || reply.code === 535],
  ['no_login', ({ message = '' }) => message === NO_AUTHENTICATION],
  ['no_password_login', ({ message = '' }) => message === NO_PASSWORD_AUTHENTICATION],
  ['tls', (_, { tlsFault }) => tlsFault === 'absent'], // its reply to STARTTLS may speak of its certificate
  ['certificate_name', ({ message = '' }) => CERTIFICATE_NAME.test(message)],
  ['certificate', ({ message = '', reason }) => reason === undefined && CERTIFICATE.test(message)],
  ['tls', ({ reason }, { isTlsBroken }) => reason !== undefined || isTlsBroken],
  ['refused', (_, { reply }) => reply.code > 0],
];

export const smarthostProblem = (failed: SmtpConnectFailed): SmarthostProblem => {
  const error = (failed.cause ?? {}) as SetupError;
  return SIGNS.find(([, holds]) => holds(error, failed))?.[0] ?? 'silent';
};

/** RFC 4954 §6: credentials are required, too weak, wrong, or require TLS. */
const AUTHENTICATION_CODES = new Set([530, 534, 535, 538]);

interface RefusalWords {
  readonly problem: SmarthostProblem;
  readonly words: RegExp;
  /** Only before the message: afterwards, the server's words may be about its content. */
  readonly early?: true;
}

/** The first match counts. Other words are left to the classifier. */
const REFUSAL_WORDS: readonly RefusalWords[] = [
  {
    problem: 'relay_denied',
    words: /\brelay(?:ing)?\b.{0,300}(?:denied|not (?:permitted|allowed)|prohibited)|unable to relay|for relay\b/i,
  },
  // Postfix, Exchange Online, Amazon SES, SendGrid, Mailgun: a sender that this login may not use.
  {
    problem: 'sender_not_allowed',
    words:
      /not owned by|send as this sender|\bsendas|not (?:a )?verified|verified sender|not allowed to send|not authori[sz]ed to (?:send|perform)/i,
  },
  // Must not match replies about SPF, DKIM and DMARC.
  {
    problem: 'login_wanted',
    words: /authentication (?:is )?required|not authenticated|not logged in|smtp auth|must authenticate/i,
  },
  { problem: 'login_wanted', words: /log ?in first|credentials/i, early: true },
  { problem: 'ehlo_name', words: /\b(?:helo|ehlo)\b.{0,60}(?:reject|invalid|refused|denied|need|must)/i, early: true },
  {
    problem: 'blocked',
    words: /client host (?:rejected|\S{1,64} blocked)|reverse (?:dns|hostname)|\bptr\b/i,
    early: true,
  },
];

/** Exchange: this recipient accepts mail only from its own organization. */
const OF_ONE_RECIPIENT = /resolver\.rst/i;

const byCategory = (category: BounceCategory, isEarly: boolean): SmarthostProblem | null => {
  if (category === 'relay_denied') return 'relay_denied';
  return category === 'reputation' && isEarly ? 'blocked' : null;
};

/**
 * Finds a problem in a smarthost's rejection that is about this service and not about the message or its recipient: its
 * login, its right to relay, its address. Every other message would be rejected too, and none of them should bounce.
 * @returns null for any other rejection.
 */
export const problemOfRefusal = (outcome: RecipientOutcome): SmarthostProblem | null => {
  const { code, text, stage } = outcome;
  if (code < 400 || OF_ONE_RECIPIENT.test(text)) return null;
  if (AUTHENTICATION_CODES.has(code))
    return /starttls|\b(?:tls|encryption|ssl)\b/i.test(text) ? 'tls_wanted' : 'login_wanted';
  const isEarly = stage !== 'content';
  const category = classifyReply(outcome);
  const said = REFUSAL_WORDS.find(({ words, early }) => words.test(text) && (isEarly || early !== true));
  return said?.problem ?? byCategory(category, isEarly);
};

/** Logs when the smarthost accepts no mail, what to do about it, and when mail is sent again. */
export interface SmarthostWatch {
  /** No session could be opened. */
  failed(error: SmtpConnectFailed): void;
  /** Outcomes of a message at the smarthost. */
  answered(outcomes: readonly RecipientOutcome[]): void;
}

interface SmarthostWatchOptions {
  readonly host: string;
  readonly port: number;
  readonly system: Pick<System, 'monotonicMs'>;
  readonly logger: Logger;
}

/** Shorter repeats known problems in the log, longer lets them be overlooked. */
const AGAIN_MS = 600_000;
/**
 * Time since the last accepted message in which failures are not reported. Some servers reject individual sessions
 * while they accept mail over others, which is not a fault. Longer delays the report about a changed password.
 */
const WORKING_MS = 30_000;
interface ReplyCodes {
  readonly code: number;
  readonly enhanced: string | null;
}

/** True if the session works: the server replied to a recipient or a message. */
const isAnswer = ({ stage, code }: RecipientOutcome): boolean =>
  code > 0 && (stage === 'recipient' || stage === 'content');

export const createSmarthostWatch = ({ host, port, system, logger }: SmarthostWatchOptions): SmarthostWatch => {
  let workedMs = Number.NEGATIVE_INFINITY;
  /** Time of the last report; null: no problem. */
  let toldMs: number | null = null;
  let refusedMs = Number.NEGATIVE_INFINITY;

  const isWorking = (): boolean => system.monotonicMs() - workedMs < WORKING_MS;

  const tell = (problem: SmarthostProblem, { code, enhanced }: ReplyCodes): void => {
    const nowMs = system.monotonicMs();
    if (isWorking() || (toldMs !== null && nowMs - toldMs < AGAIN_MS)) return;
    toldMs = nowMs;
    logger.error({ host, port, code, enhanced }, `the smarthost accepts no mail: ${SMARTHOST_REMEDIES[problem]}`);
  };

  /** Other mail is accepted, but this rejection is about us too. */
  const tellOfSome = (problem: SmarthostProblem, { code, enhanced }: ReplyCodes): void => {
    const nowMs = system.monotonicMs();
    if (nowMs - refusedMs < AGAIN_MS) return;
    refusedMs = nowMs;
    const sentence = `some mail waits because the smarthost rejects it: ${SMARTHOST_REMEDIES[problem]}`;
    logger.error({ host, port, code, enhanced }, sentence);
  };

  const tellOfRefusal = (problem: SmarthostProblem, said: ReplyCodes): void =>
    isWorking() ? tellOfSome(problem, said) : tell(problem, said);

  const works = (): void => {
    workedMs = system.monotonicMs();
    if (toldMs === null) return;
    toldMs = null;
    logger.info({ host, port }, 'the smarthost accepts mail again');
  };

  return {
    failed: (error) => tell(smarthostProblem(error), error.reply),
    answered: (outcomes) => {
      const told = outcomes.map((said) => ({ said, problem: problemOfRefusal(said) }));
      for (const { said, problem } of told) if (problem !== null) tellOfRefusal(problem, said);
      if (told.some(({ said, problem }) => problem === null && isAnswer(said))) works();
    },
  };
};

/** A transport that keeps its sessions between messages. */
export interface PooledTransport extends MailTransport {
  /** Sessions with mail servers, open or being opened. */
  sessions(): number;
}

/** Server for mail submission, from `smtp://user:pass@host:port` or `smtps://…`. */
interface Smarthost {
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
      const acquire = (signal: AbortSignal) => pool.acquire(signal, ready.mail.organizationId);
      const { settled, open } = await sendOnSession(target.host, acquire, ready);
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
