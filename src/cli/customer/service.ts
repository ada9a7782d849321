import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { CommandFailed, EXIT } from '../terminal.ts';
import type { Target } from './profile.ts';

/** Responses of the service: a body or an error. */

/** Exceeds the largest page. A longer response is not from this service. */
const ANSWER_BYTES_MAX = 64_000_000;

const TRANSIENT: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

const exitCodeOf = (status: number): number | undefined => {
  if (status === 401 || status === 403) return EXIT.unauthorized;
  if (status === 409 || status === 412) return EXIT.conflict;
  return TRANSIENT.has(status) ? EXIT.unavailable : undefined;
};

interface ErrorFields {
  readonly message: string;
  readonly code: string;
  /** Sentences for people, by field name. */
  readonly details: readonly string[];
  readonly retryAfterSeconds: number | undefined;
}

/** The service rejected the request. */
export class ServiceRefused extends CommandFailed {
  override readonly name = 'ServiceRefused';
  readonly status: number;
  readonly code: string;
  /** Sentences for people from the error's `details`. */
  readonly details: readonly string[];
  /** The message, split into sentences. */
  readonly sentences: readonly string[];
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, said: ErrorFields, requestId: string | null) {
    const request = requestId === null ? '' : ` [request ${requestId}]`;
    const details = said.details.filter((sentence) => sentence !== said.message);
    const sentences = [`${said.message} (${said.code})${request}`, ...details];
    super(sentences.join('\n  '), exitCodeOf(status));
    this.sentences = sentences;
    this.status = status;
    this.code = said.code;
    this.details = said.details;
    this.retryAfterSeconds = said.retryAfterSeconds;
  }
}

/** The service is unreachable or temporarily unusable. A proxy may have answered in its place. */
export class Unreachable extends CommandFailed {
  override readonly name = 'Unreachable';
  constructor(message: string) {
    super(message, EXIT.unavailable);
  }
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const errorFieldsIn = (status: number, body: unknown): ErrorFields => {
  const error = isRecord(body) && isRecord(body.error) ? body.error : {};
  const { message, code, details, retry_after: retryAfter } = error;
  const sentences = isRecord(details) ? Object.values(details).flat() : [];
  return {
    message: typeof message === 'string' ? message : `the service returned status ${status}`,
    code: typeof code === 'string' ? code : `HTTP ${status}`,
    details: sentences.filter((each): each is string => typeof each === 'string'),
    retryAfterSeconds: typeof retryAfter === 'number' ? retryAfter : undefined,
  };
};

/** undefined if the text is not JSON. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const textOf = async (response: Response): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > ANSWER_BYTES_MAX) throw new Unreachable(`the response is larger than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

/** @param text the response body. */
const refusedIn = ({ status, headers }: Response, text: string): ServiceRefused =>
  new ServiceRefused(status, errorFieldsIn(status, parsed(text)), headers.get('x-request-id'));

/** Validates the body of a response. @throws {CommandFailed} if it is not a response of Outbox. */
export const checked = <Value>(schema: z.ZodType<Value>, { body }: Pick<Answer<unknown>, 'body'>): Value => {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw new CommandFailed('the response is not from Outbox: check the URL');
};

/**
 * HTTP client of a service, following the client rules of specification §7. Transient failures are retried a limited
 * number of times with exponential backoff and jitter, a 429 waits as long as the response asks, and a request that may
 * have been carried out is repeated only if it is idempotent.
 */

/** Time-out of one attempt. Lower: slow networks fail. Higher: a hung service is noticed late. */
const TIMEOUT_MS = 35_000;
const RETRIES_MAX = 4;
/** Time-out of all attempts and pauses; fits two rate-limit pauses. Longer: a person stares at the prompt. */
const IN_ALL_MS = 150_000;
/** Statuses after which the request was certainly not carried out. A 503 may come with an unknown outcome. */
const REFUSED: ReadonlySet<number> = new Set([429]);
const RATE_LIMIT_SECONDS = 60;
const FIRST_WAIT_MS = 500;
const WAIT_MS_MAX = 20_000;
/** Minimum pause before a retry. */
const WAIT_MS_MIN = 100;
/** Longer pauses are announced. */
const SAID_MS = 2_000;

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestOptions {
  /** Undefined values are omitted. */
  readonly query?: Query | undefined;
  readonly body?: object;
  /** ETag of the resource to change. If it has changed since, the service responds with 412. */
  readonly ifMatch?: string;
  /** Identifies a logical request: a repetition gets the first response again. */
  readonly idempotencyKey?: string;
}

export interface Answer<Body> {
  readonly body: Body;
  readonly headers: Headers;
}

interface ServiceOptions {
  readonly target: Target;
  /** Aborts pending requests and pauses with its reason. */
  readonly signal: AbortSignal;
  /** Explains a pause to the user. */
  readonly note?: (text: string) => void;
}

export interface Service extends Required<ServiceOptions> {
  /** Host and port. */
  readonly place: string;
  /**
   * Sends a request and retries it where that can help.
   * @throws {ServiceRefused} @throws {Unreachable}
   */
  ask<Body>(method: string, path: string, options?: RequestOptions): Promise<Answer<Body>>;
  /** Sends one request whose response may be endless. @throws {ServiceRefused} @throws {Unreachable} */
  open(path: string, query: Query, accept: string, until: AbortSignal): Promise<Response>;
}

/** Milliseconds: exponential backoff with full jitter. */
export const backOff = (tried: number): number =>
  WAIT_MS_MIN + Math.random() * Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * 2 ** (tried - 1));

const waitAfterAnswer = ({ status, retryAfterSeconds }: ServiceRefused, tried: number): number => {
  const asked = retryAfterSeconds ?? (status === 429 ? RATE_LIMIT_SECONDS : 0);
  return asked * 1000 + backOff(tried);
};

/** Milliseconds until the next attempt; null: no further attempt. @param tried number of attempts so far, from 1. */
export const waitAfter = (error: unknown, tried: number, isRepeatable: boolean): number | null => {
  if (error instanceof Unreachable) return isRepeatable ? backOff(tried) : null;
  const isTransient = error instanceof ServiceRefused && (isRepeatable ? TRANSIENT : REFUSED).has(error.status);
  return isTransient ? waitAfterAnswer(error, tried) : null;
};

export const firstLine = (error: unknown): string => (error as Error).message.split('\n')[0] ?? '';

const urlOf = ({ url, session, environment }: Target, path: string, query: Query = {}): string => {
  const all = { ...query, environment: session === undefined ? undefined : environment };
  const given = Object.entries(all).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return `${url}${path}${search === '' ? '' : `?${search}`}`;
};

/**
 * With a session cookie, the service accepts changes only from its own pages. This is the member's own program, so it
 * sends the same headers.
 */
const sessionHeaders = (url: string, session: string): Record<string, string> => {
  const page = { origin: new URL(url).origin, 'sec-fetch-site': 'same-origin' };
  return session === '' ? page : { ...page, cookie: session };
};

const credentialsOf = ({ url, key, session }: Target): Record<string, string> => {
  if (session !== undefined) return sessionHeaders(url, session);
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
};

const requestOf = (target: Target, method: string, options: RequestOptions): RequestInit => {
  const { body, ifMatch, idempotencyKey } = options;
  const headers = new Headers({ accept: 'application/json', 'user-agent': 'outbox-cli', ...credentialsOf(target) });
  if (body !== undefined) headers.set('content-type', 'application/json');
  if (ifMatch !== undefined) headers.set('if-match', ifMatch);
  if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey);
  return { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
};

const reasonOf = (error: unknown): string => {
  if ((error as Error).name === 'TimeoutError') return 'the request timed out';
  const { cause = error } = error as Error;
  const { code, message } = cause as NodeJS.ErrnoException;
  return message || code || 'unknown';
};

interface RetryState {
  readonly tried: number;
  readonly isRepeatable: boolean;
  /** Deadline on the `performance.now()` clock. */
  readonly untilMs: number;
}

export const createService = ({ target, signal, note = () => undefined }: ServiceOptions): Service => {
  const place = new URL(target.url).origin;

  /** Maps transport errors to `Unreachable`: they are not responses of the service. */
  const onTheWay = (error: unknown): never => {
    signal.throwIfAborted();
    throw error instanceof CommandFailed ? error : new Unreachable(`cannot reach ${place}: ${reasonOf(error)}`);
  };

  const attempt = async <Body>(url: string, request: RequestInit, timeoutMs: number): Promise<Answer<Body>> => {
    const until = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const response = await fetch(url, { ...request, redirect: 'manual', signal: until }).catch(onTheWay);
    const text = await textOf(response).catch(onTheWay);
    if (!response.ok) throw refusedIn(response, text);
    const body = parsed(text);
    if (text !== '' && body === undefined)
      throw new CommandFailed(`the response from ${place} is not from Outbox: check the URL`);
    return { body: body as Body, headers: response.headers };
  };

  /** @throws the error if no further attempt helps. */
  const waitOrThrow = async (error: unknown, { tried, isRepeatable, untilMs }: RetryState): Promise<void> => {
    signal.throwIfAborted();
    const wait = tried > RETRIES_MAX ? null : waitAfter(error, tried, isRepeatable);
    if (wait === null || performance.now() + wait > untilMs) throw error;
    if (wait > SAID_MS) note(`${firstLine(error)}: retrying in ${Math.round(wait / 1000)} s`);
    await sleep(wait, undefined, { signal }).catch(() => signal.throwIfAborted());
  };

  const persistently = async <T>(work: (timeoutMs: number) => Promise<T>, isRepeatable: boolean): Promise<T> => {
    const untilMs = performance.now() + IN_ALL_MS;
    for (let tried = 1; ; tried += 1) {
      try {
        return await work(Math.max(1, Math.min(TIMEOUT_MS, untilMs - performance.now())));
      } catch (error) {
        await waitOrThrow(error, { tried, isRepeatable, untilMs });
      }
    }
  };

  return {
    target,
    signal,
    note,
    place,
    ask: <Body>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<Body>> => {
      const request = requestOf(target, method, options);
      const url = urlOf(target, path, options.query);
      const isRepeatable = method !== 'POST' || options.idempotencyKey !== undefined;
      return persistently((timeoutMs) => attempt<Body>(url, request, timeoutMs), isRepeatable);
    },
    open: async (path, query, accept, until) => {
      const headers = { ...credentialsOf(target), accept };
      const response = await fetch(urlOf(target, path, query), {
        headers,
        redirect: 'manual',
        signal: AbortSignal.any([signal, until]),
      }).catch(onTheWay);
      if (!response.ok) throw refusedIn(response, await textOf(response).catch(onTheWay));
      return response;
    },
  };
};
