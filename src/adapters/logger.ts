import { pino } from 'pino';
import pretty from 'pino-pretty';
import type { Logger } from '../domain/logger.ts';

export interface LoggerOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** For people: lines in colour in place of JSON. Default: when `destination` is a terminal. */
  readonly pretty?: boolean;
  /** Default: standard error, since standard output has the ready block and what the CLI prints. */
  readonly destination?: NodeJS.WritableStream;
}

const CENSORED = '[redacted]';

/** Fields that never belong in a log, on the first two levels of what is logged. */
const FIELDS = [
  ...['authorization', 'cookie', 'key', 'password', 'secret', 'secretKey', 'token', 'plaintext'],
  ...['address', 'from', 'to', 'cc', 'bcc', 'replyTo', 'recipients', 'envelope'],
  ...['subject', 'html', 'text', 'body', 'attachments', 'headers', 'values', 'parameters', 'detail'],
];
const PATHS = FIELDS.flatMap((field) => [field, `*.${field}`]);

/**
 * What texts of errors quote: API keys, webhook secrets, credentials in URLs, mail addresses. Looked for only where the
 * first text stands, and with bounded repetitions, so that a long line costs its length and no more.
 */
const IN_TEXT: readonly (readonly [string, RegExp, string])[] = [
  ['ob_', /\bob_(live|test)_[0-9A-Za-z]{20,}/g, `ob_$1_${CENSORED}`],
  ['whsec_', /\bwhsec_[\w+/=-]{8,}/g, `whsec_${CENSORED}`],
  ['@', /\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@"]{1,200}@/gi, `$1${CENSORED}@`],
  ['@', /[^\s"<>@:,;()[\]\\]{1,64}@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu, CENSORED],
];

const scrub = (line: string): string =>
  IN_TEXT.reduce(
    (scrubbed, [start, pattern, instead]) => (scrubbed.includes(start) ? scrubbed.replace(pattern, instead) : scrubbed),
    line,
  );

const isTerminal = (stream: NodeJS.WritableStream): boolean => 'isTTY' in stream && stream.isTTY === true;

/**
 * JSON lines, or lines for people on a terminal. Named fields are censored and every line is searched for what looks
 * like a key, a credential or an address.
 */
export const createLogger = (options: LoggerOptions): Logger => {
  const destination = options.destination ?? process.stderr;
  const forPeople = options.pretty ?? isTerminal(destination);
  const output = forPeople ? pretty({ destination, sync: true, ignore: 'pid,hostname' }) : destination;
  return pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: PATHS, censor: CENSORED },
      serializers: { err: describeError, error: describeError },
    },
    { write: (line: string) => output.write(scrub(line)) },
  );
};

interface DescribedError {
  readonly type: string;
  readonly message: string;
  readonly code?: unknown;
  readonly stack?: string | undefined;
  readonly cause?: DescribedError;
}

/** Causes of causes: deeper is a loop. */
const DEPTH_MAX = 4;

/** No more than this: errors of clients carry rows, parameters and whole requests. */
const describeError = (error: unknown, depth = 0): DescribedError => {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { code } = error as { readonly code?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    stack: error.stack,
    ...(error.cause === undefined || depth >= DEPTH_MAX ? {} : { cause: describeError(error.cause, depth + 1) }),
  };
};
