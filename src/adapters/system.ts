import { randomFillSync, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import pretty from 'pino-pretty';
import type { Logger, System } from '../lib/async/async.ts';

/** Asking the kernel costs 3 us for any length, and every send asks twice. Larger only costs memory. */
const POOL_BYTES = 8192;

/** Random bytes from a pool. No byte is used twice. */
const createRandomBytes = (): System['randomBytes'] => {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  return (length) => {
    if (length > POOL_BYTES) return randomFillSync(Buffer.alloc(length));
    if (used + length > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const bytes = Buffer.from(pool.subarray(used, used + length));
    pool.fill(0, used, used + length);
    used += length;
    return bytes;
  };
};

/** Offset after the version digit of a version 4. From here on, a version 7 is random too. */
const RANDOM_FROM = 15;

/** UUIDs of the same millisecond share their start. */
const createUuidStart = (): ((ms: number) => string) => {
  let lastMs = -1;
  let last = '';
  return (ms) => {
    if (ms === lastMs) return last;
    const digits = ms.toString(16).padStart(12, '0');
    lastMs = ms;
    last = `${digits.slice(0, 8)}-${digits.slice(8)}-7`;
    return last;
  };
};
const uuidStart = createUuidStart();

/** UUID version 7 (RFC 9562 §5.7): ids made together are adjacent in an index, however large it is. */
const uuid = (): string => uuidStart(Date.now()) + randomUUID().slice(RANDOM_FROM);

/** The machine's own clock and randomness: nothing else in the program reads them. */
export const createSystem = (): System => ({
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  randomBytes: createRandomBytes(),
  uuid,
  sleep: async (ms, signal) => {
    await sleep(ms, undefined, signal === undefined ? {} : { signal });
  },
});

interface LoggerOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** For people: coloured lines in place of JSON. Default: true if `destination` is a terminal. */
  readonly pretty?: boolean;
  /** Default: standard error, since standard output is for the ready block and the output of the CLI. */
  readonly destination?: NodeJS.WritableStream;
}

const CENSORED = '[redacted]';

/** Fields that never belong in a log, on the first two levels of an entry. */
const FIELDS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'key',
  'password',
  'secret',
  'secretKey',
  'token',
  'plaintext',
  'address',
  'from',
  'to',
  'cc',
  'bcc',
  'replyTo',
  'recipients',
  'envelope',
  'subject',
  'html',
  'text',
  'body',
  'attachments',
  'headers',
  'values',
  'parameters',
  'detail',
]);

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/**
 * Every line of an attempt passes through here. pino's own `redact` takes 20 µs for these fields, this takes less than
 * one.
 */
const censorFields = (fields: Readonly<Record<string, unknown>>, levels = 2): Record<string, unknown> => {
  const censored: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (FIELDS.has(name)) censored[name] = CENSORED;
    else censored[name] = levels > 1 && isPlain(value) ? censorFields(value, levels - 1) : value;
  }
  return censored;
};

/**
 * Secrets that error texts quote: API keys, webhook secrets, credentials in URLs, mail addresses. Each pattern runs
 * only on lines that contain its first text, and has bounded repetitions, so that the cost stays linear in the line
 * length.
 */
const IN_TEXT: readonly (readonly [string, RegExp, string])[] = [
  ['ob_', /\bob_(live|test)_[0-9A-Za-z]{20,}/g, `ob_$1_${CENSORED}`],
  ['whsec_', /\bwhsec_[\w+/=-]{8,}/g, `whsec_${CENSORED}`],
  ['@', /\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@"]{1,200}@/gi, `$1${CENSORED}@`],
  // A quoted local part, with its quotes escaped as in a line of JSON (RFC 5321 §4.1.2).
  ['@', /\\"[^"\\]{1,64}\\"@(?:\[[^\]\s"]{1,64}\]|[\p{L}\p{N}.-]+)/gu, CENSORED],
  ['@', /[^\s"<>@:,;()[\]\\]{1,64}@(?:\[[^\]\s"]{1,64}\]|[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+)/gu, CENSORED],
  // Hosts without a dot, but not the scopes of packages in a stack.
  ['@', /(?<![\w/.-])[\w.+-]{1,64}@[\p{L}\p{N}-]+/gu, CENSORED],
];

const scrub = (line: string): string =>
  IN_TEXT.reduce(
    (scrubbed, [start, pattern, instead]) => (scrubbed.includes(start) ? scrubbed.replace(pattern, instead) : scrubbed),
    line,
  );

const isTerminal = (stream: NodeJS.WritableStream): boolean => 'isTTY' in stream && stream.isTTY === true;

/**
 * Similar warnings and errors that are logged individually. Fewer hide their differences, more bury all other lines.
 */
const ALIKE_MAX = 3;
/** How long further ones are counted. Longer reports their number later. */
const COUNTED_MS = 30_000;
/** Kinds of lines tracked at once. A sentence is a constant of the code, so there are some hundred. */
const KINDS_MAX = 500;

type Tell = (fields: object, sentence: string) => void;

/** Lines are similar if they have the same sentence and the same error. Numbers and ids in its text are ignored. */
const kindOf = (fields: object, sentence: string): string => {
  const { err, error = err } = fields as { readonly err?: unknown; readonly error?: unknown };
  if (!(error instanceof Error)) return sentence;
  const { code } = error as { readonly code?: unknown };
  return `${sentence} ${error.name} ${code ?? error.message.slice(0, 200).replaceAll(/\S*\d\S*/g, '#')}`;
};

/**
 * Bounds the log volume of an outage. The first of several similar lines are logged. The rest are counted, and logged
 * as one line with their number (`alike`) when the count ends.
 */
const boundAlike = (tell: Tell): Tell => {
  const seen = new Map<string, number>();
  const endCount = (kind: string, fields: object, sentence: string): void => {
    const alike = (seen.get(kind) ?? 0) - ALIKE_MAX;
    seen.delete(kind);
    if (alike > 0) tell({ ...fields, alike }, sentence);
  };
  return (fields, sentence) => {
    const kind = kindOf(fields, sentence);
    const count = (seen.get(kind) ?? 0) + 1;
    if (count === 1) {
      if (seen.size >= KINDS_MAX) return tell(fields, sentence);
      setTimeout(endCount, COUNTED_MS, kind, fields, sentence).unref();
    }
    seen.set(kind, count);
    if (count <= ALIKE_MAX) tell(fields, sentence);
  };
};

/**
 * Logs JSON lines, or readable lines on a terminal. Named fields are censored, and every line is searched for text that
 * looks like a key, a credential or an address. Similar warnings and errors are bounded.
 */
export const createLogger = (options: LoggerOptions): Logger => {
  const destination = options.destination ?? process.stderr;
  const forPeople = options.pretty ?? isTerminal(destination);
  const output = forPeople ? pretty({ destination, sync: true, ignore: 'pid,hostname' }) : destination;
  const logger = pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: (fields) => censorFields(fields) },
      serializers: { err: describeError, error: describeError },
    },
    { write: (line: string) => output.write(scrub(line)) },
  );
  return {
    debug: (fields, sentence) => logger.debug(fields, sentence),
    info: (fields, sentence) => logger.info(fields, sentence),
    warn: boundAlike((fields, sentence) => logger.warn(fields, sentence)),
    error: boundAlike((fields, sentence) => logger.error(fields, sentence)),
  };
};

interface DescribedError {
  readonly type: string;
  readonly message: string;
  readonly code?: unknown;
  readonly stack?: string | undefined;
  readonly cause?: DescribedError;
}

/** Depth of nested causes. Deeper is a loop. */
const DEPTH_MAX = 4;

/** Logs only these properties: client errors carry rows, parameters and whole requests. */
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
