import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import SMTPConnection, { type SMTPError } from 'nodemailer/lib/smtp-connection';

/** A server's reply (RFC 5321 §4.2). The code is 0 if there was no reply. */
export interface SmtpReply {
  readonly code: number;
  /** RFC 3463. */
  readonly enhanced: string | null;
  readonly text: string;
}

/** Replies are kept for people to read; a server may send a megabyte. */
const TEXT_CHARACTERS_MAX = 1000;

const CODE = /^([2-5]\d\d)(?:[ -]|$)/;
/** IronPort writes `#` before it. */
const ENHANCED = /^#?([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)/;

const clean = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, TEXT_CHARACTERS_MAX);

/** @param response as received: one or more lines, each with the code. */
export const parseReply = (response: string): SmtpReply => {
  const lines = response.slice(0, TEXT_CHARACTERS_MAX * 4).split(/\r?\n/);
  const code = Number(CODE.exec(lines[0] ?? '')?.[1] ?? 0);
  const texts = lines.map((line) => line.replace(/^\d{3}[ -]?/, ''));
  const enhanced = ENHANCED.exec(texts[0] ?? '')?.[1] ?? null;
  return { code, enhanced, text: clean(texts.map((text) => text.replace(ENHANCED, '')).join(' ')) };
};

/** @param sentence why there was no reply. */
export const noReply = (sentence: string): SmtpReply => ({ code: 0, enhanced: null, text: clean(sentence) });

export type SmtpStage = 'session' | 'mail' | 'recipient' | 'content';

/**
 * RFC 5321 §4.5.3.1.10: "too many recipients" is 452, may come as 552, and must be treated as 452. A bare 452 may also
 * mean a full disk; if other recipients were accepted, a second attempt shows which.
 */
export const isTooManyRecipients = ({ code, enhanced, text }: SmtpReply): boolean =>
  (code === 452 || code === 552) &&
  (enhanced?.endsWith('.5.3') === true ||
    /too many (?:recipients|rcpt)/i.test(text) ||
    (code === 452 && enhanced === null));

/**
 * One connection with a mail server. nodemailer's `SMTPConnection` speaks SMTP over it, through its public methods
 * only: `connect`, `login`, `send`, `reset`, `quit` and `close`. This module adds what else delivery needs:
 *
 * - The socket is ours and is passed to nodemailer (option `connection`), because nodemailer does not report the TLS
 *   version, the cipher and the certificate (DANE, MTA-STS). So TLS is ours too (RFC 3207): STARTTLS is sent over a
 *   first `SMTPConnection`, and the TLS socket goes to a second one, which knows nothing of the cleartext session.
 * - Its transaction log has each reply of the server, in order: which recipient was rejected at which stage, and all
 *   later replies.
 * - A custom authentication method is its public way to send a command that it has no method for.
 */
export interface SmtpConnection {
  readonly smtp: SMTPConnection;
  readonly socket: Socket;
  readonly greeting: string;
  /** The reply to EHLO that made us send HELO; null: EHLO was accepted. */
  readonly ehloRefusal: string | null;
  /** Lines of the reply to EHLO after the first, without their codes; none after HELO. */
  readonly offered: readonly string[];
  isOpen(): boolean;
  /**
   * From now on replies are checked as those to a transaction. A reply that asks for the message is valid only from
   * index `asksAt` on: a server that asks earlier would read the next commands as the message.
   * @returns the replies, as they arrive.
   */
  beginTransaction(asksAt: number): readonly string[];
  /** @returns the reply; undefined if the connection ended first. */
  command(line: string): Promise<string | undefined>;
  /** The reply that ended the connection, or a sentence of ours with the code 0. */
  lastWord(): SmtpReply;
  /** Closes the connection. The first reason is kept. */
  close(reason: SmtpReply): void;
}

/** RFC 5321 §4.5.3.2.6, the longest time-out. The caller's deadline bounds the whole message. */
const SOCKET_IDLE_MS = 600_000;
/** Longest reply that is read. Real ones have a few hundred bytes. */
const REPLY_BYTES_MAX = 64 * 1024;
/** The custom authentication method that sends a single command. */
const COMMAND = 'COMMAND';

const REPLY_START = /^[2-5]\d\d(?![^ \n-])/;
const REFUSAL = /^[45]\d\d[ -]/;
const EMPTY_LINE = /\n\r?\n/;
/** RFC 5321 §3.8: the server ends the session, at any time. */
const CLOSING = '421';

const ENDED = noReply('the server ended the session without an answer');

/** RFC 5321 §4.2.1: each line of a reply has the same code. */
const isReply = (response: string): boolean =>
  REPLY_START.test(response) &&
  response.length <= REPLY_BYTES_MAX &&
  response.split('\n').every((line) => line.startsWith(response.slice(0, 3)));

/** @returns why a reply to a transaction ends the connection; null: it continues. */
const endingWith = (response: string, mayAsk: boolean): SmtpReply | null => {
  if (!isReply(response)) return noReply(`the server answered with what is no reply: ${response}`);
  return response[0] === '3' && !mayAsk ? parseReply(response) : null;
};

const wordOf = ({ response, message }: SMTPError): SmtpReply =>
  typeof response === 'string' && REFUSAL.test(`${response} `) ? parseReply(response) : noReply(message);

interface ConnectionTarget {
  readonly host: string;
  readonly ehloName: string;
  /** Time-out for the greeting. */
  readonly greetingMs: number;
}

/** Opens a session over a connected socket: reads the greeting and says EHLO, or else HELO. @throws {SMTPError} */
export const openConnection = async (
  socket: Socket,
  { host, ehloName, greetingMs }: ConnectionTarget,
): Promise<SmtpConnection> => {
  let last: SmtpReply | null = null;
  let replies: string[] = [];
  let asksAt: number | null = null;
  let hasEnded = false;
  socket.once('close', () => {
    hasEnded = true;
  });

  const close = (reason: SmtpReply): void => {
    last ??= reason;
    smtp.close();
  };

  const onReply = (response: string): void => {
    if (hasEnded) return; // the rest of a reply that was cut off
    const ending = asksAt === null ? null : endingWith(response, replies.length >= asksAt);
    if (ending === null) replies.push(response);
    else close(ending);
    if (response.startsWith(CLOSING)) last ??= parseReply(response);
  };

  const silent = (): void => undefined;
  const smtp = new SMTPConnection({
    host,
    name: ehloName,
    connection: socket,
    ...(socket instanceof TLSSocket ? { secure: true, secured: true } : { ignoreTLS: true }),
    connectionTimeout: greetingMs,
    greetingTimeout: greetingMs,
    socketTimeout: SOCKET_IDLE_MS,
    // Closes at once: a final dot that waits for the server to read on would be sent after the deadline.
    socketCloseTimeout: 0,
    maxResponseSize: REPLY_BYTES_MAX,
    transactionLog: true,
    logger: {
      debug: ({ tnx }: { readonly tnx?: string }, text: string) => (tnx === 'server' ? onReply(text) : undefined),
      trace: silent,
      info: silent,
      warn: silent,
      error: silent,
      fatal: silent,
      level: silent,
    },
    customAuth: {
      [COMMAND]: async ({ auth: { options }, sendCommand }) =>
        options?.onReply((await sendCommand(options.line)).response),
    },
  });

  await new Promise<void>((resolve, reject) => {
    smtp.on('error', (error) => {
      last ??= wordOf(error);
      reject(error);
    });
    smtp.on('end', () => reject(new Error('the server ended the session')));
    smtp.connect((error) => (error === undefined ? resolve() : reject(error)));
  });

  // nodemailer skips an empty line and reads the text after it later, when it might be mistaken for another reply.
  let isLineStart = true;
  socket.on('data', (chunk: Buffer) => {
    const text = chunk.toString('latin1');
    const isEmptyLine = EMPTY_LINE.test(isLineStart ? `\n${text}` : text);
    isLineStart = text.endsWith('\n');
    if (isEmptyLine && asksAt !== null) close(noReply('the server answered with an empty line'));
  });

  const [greeting = '', ehlo = '', helo] = replies;
  return {
    smtp,
    socket,
    greeting,
    ehloRefusal: helo === undefined ? null : ehlo,
    offered: (helo === undefined ? ehlo : '')
      .split('\n')
      .slice(1)
      .map((line) => line.replace(/^\d{3}[ -]?/, '').trim()),
    isOpen: () => !smtp.destroyed && socket.writable,
    beginTransaction: (at) => {
      asksAt = at;
      replies = [];
      return replies;
    },
    command: (line) =>
      new Promise((resolve) => {
        const end = (): void => resolve(undefined);
        if (smtp.destroyed) return end();
        smtp.once('end', end);
        const onReply = (response: string): void => {
          smtp.removeListener('end', end);
          resolve(response);
        };
        smtp.login({ method: COMMAND, options: { line, onReply } }, (error) => error && end());
      }),
    lastWord: () => last ?? ENDED,
    close,
  };
};
