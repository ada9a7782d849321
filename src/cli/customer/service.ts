import type { z } from 'zod';
import {
  ApiError,
  type Attempt,
  ConnectionError,
  createCall,
  OutboxError,
  responseOf,
  type StreamedEvent,
  streamEvents,
} from '../../../sdk/src/index.ts';
import { CommandFailed, EXIT } from '../terminal.ts';
import type { Target } from './profile.ts';

/**
 * A service as commands use it: the client of the SDK, with the credentials of a profile, and with errors that have an
 * exit code. Retries and time-outs are those of the SDK.
 */

const TRANSIENT: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

const exitCodeOf = (status: number): number | undefined => {
  if (status === 401 || status === 403) return EXIT.unauthorized;
  if (status === 409 || status === 412) return EXIT.conflict;
  return TRANSIENT.has(status) ? EXIT.unavailable : undefined;
};

/** Options of the SDK have other names here. */
const inOurWords = (message: string): string =>
  message.replaceAll('baseUrl', 'the URL').replaceAll('apiKey', 'the API key');

/** The service rejected the request. */
export class ServiceRefused extends CommandFailed {
  override readonly name = 'ServiceRefused';
  readonly status: number;
  /** Sentences for people from the error's `details`. */
  readonly details: readonly string[];
  /** The message, split into sentences. */
  readonly sentences: readonly string[];
  /** The error in the response, for programs. */
  readonly body: object;

  constructor(error: ApiError) {
    const { status, code, requestId, details: byField } = error;
    const said = inOurWords(error.message);
    const request = requestId === null ? '' : ` [request ${requestId}]`;
    const details = Object.values(byField).flat();
    const sentences = [`${said} (${code})${request}`, ...details.filter((sentence) => sentence !== said)];
    super(sentences.join('\n  '), exitCodeOf(status));
    this.status = status;
    this.details = details;
    this.sentences = sentences;
    this.body = { message: said, code, status, request_id: requestId, details: byField };
  }
}

/** The service is unreachable or temporarily unusable. A proxy may have answered in its place. */
class Unreachable extends CommandFailed {
  override readonly name = 'Unreachable';
  constructor(message: string) {
    super(message, EXIT.unavailable);
  }
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Validates the body of a response. @throws {CommandFailed} if it is not a response of Outbox. */
export const checked = <Value>(schema: z.ZodType<Value>, { body }: Pick<Answer<unknown>, 'body'>): Value => {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw new CommandFailed('the response is not from Outbox: check the URL');
};

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
  /**
   * Sends a request and retries it where that can help.
   * @throws {ServiceRefused} @throws {CommandFailed}
   */
  ask<Body>(method: string, path: string, options?: RequestOptions): Promise<Answer<Body>>;
  /** Events as they happen, from a cursor or from now on, until the signal aborts. @throws {ServiceRefused} */
  events(query: Query, after: string | undefined): AsyncGenerator<StreamedEvent>;
}

/** Longer pauses are announced. */
const ANNOUNCED_MS = 2_000;

/**
 * With a session cookie, the service accepts changes only from its own pages. This is the member's own program, so it
 * sends the same headers.
 */
const sessionHeaders = (url: string, session: string): Readonly<Record<string, string>> => {
  const page = { origin: new URL(url).origin, 'sec-fetch-site': 'same-origin' };
  return session === '' ? page : { ...page, cookie: session };
};

/** The environment of a key is part of the key; a member chooses one. */
const urlFor = ({ session, environment }: Target, url: string): URL => {
  const to = new URL(url);
  if (session !== undefined && environment !== undefined) to.searchParams.set('environment', environment);
  return to;
};

const headersFor = ({ url, session }: Target, given: RequestInit['headers']): Headers => {
  const headers = new Headers(given);
  const more = { 'user-agent': 'outbox-cli', ...(session === undefined ? {} : sessionHeaders(url, session)) };
  for (const [name, value] of Object.entries(more)) headers.set(name, value);
  return headers;
};

/** `fetch` with the credentials of a member, which rejects the pages of other servers. */
const fetchFor =
  (target: Target): typeof globalThis.fetch =>
  async (input, init) => {
    const url = urlFor(target, String(input));
    const response = await fetch(url, { ...init, headers: headersFor(target, init?.headers) });
    const isPage = response.ok && response.headers.get('content-type')?.startsWith('text/html') === true;
    if (!isPage) return response;
    await response.body?.cancel();
    throw new OutboxError(`the response from ${url.origin} is not from Outbox: check the URL`);
  };

/** The error that a command reports for one of the SDK. */
const failureOf = (error: unknown): unknown => {
  if (error instanceof ApiError) return new ServiceRefused(error);
  if (error instanceof ConnectionError) return new Unreachable(error.message);
  if (error instanceof OutboxError || error instanceof TypeError) return new CommandFailed(inOurWords(error.message));
  return error;
};

const firstLine = (error: unknown): string => inOurWords((error as Error).message.split('\n')[0] ?? '');

const reported = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw failureOf(error);
  }
};

/** @throws {CommandFailed} if the key or the URL is malformed. */
export const createService = ({ target, signal, note = () => undefined }: ServiceOptions): Service => {
  const makeCall = (described: (attempt: Attempt) => string | undefined) => {
    const onAttempt = (attempt: Attempt): void => {
      const next = attempt.error === null ? undefined : described(attempt);
      if (next !== undefined && !signal.aborted) note(`${firstLine(attempt.error)}: ${next}`);
    };
    try {
      const apiKey = target.session === undefined ? (target.key ?? null) : null;
      return createCall({ apiKey, baseUrl: target.url, fetch: fetchFor(target), onAttempt });
    } catch (error) {
      throw failureOf(error);
    }
  };
  const call = makeCall(({ retryInMs }) =>
    retryInMs !== null && retryInMs > ANNOUNCED_MS ? `retrying in ${Math.round(retryInMs / 1000)} s` : undefined,
  );
  // A stream is continued instead of retried.
  const streaming = makeCall(({ error, retryInMs }) => {
    const ends = error instanceof ApiError && !TRANSIENT.has(error.status);
    return retryInMs === null && !ends ? 'reconnecting' : undefined;
  });

  return {
    target,
    signal,
    note,
    ask: <Body>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<Body>> => {
      const { query = {}, body, ifMatch, idempotencyKey } = options;
      const isSend = idempotencyKey !== undefined;
      const operation = { method, path, query, body, ...(isSend ? { takesIdempotencyKey: true as const } : {}) };
      return reported(async () => {
        const answer = await call.json<Body>(operation, { signal, ifMatch, idempotencyKey });
        const response = typeof answer === 'object' && answer !== null ? responseOf(answer) : undefined;
        return { body: answer, headers: response?.headers ?? new Headers() };
      });
    },
    events: async function* (query, after) {
      try {
        yield* streamEvents(streaming, { ...query, after }, { signal });
      } catch (error) {
        if (!signal.aborted) throw failureOf(error);
      }
    },
  };
};
