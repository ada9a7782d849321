import { createDeadline, type Deadline } from './deadline.ts';
import {
  ConnectionError,
  errorOf,
  NotFoundError,
  OutboxError,
  REDIRECTED,
  requestIdOf,
  ServerError,
  TimedOutError,
} from './errors.ts';
import { type List, listOf } from './list.ts';
import { type Body, encodeBody, type RenderReact } from './message-body.ts';
import { authorizationOf, baseOf, headersOf, isRepeatable, type Operation, type Options, urlOf } from './request.ts';
import { limitsOf, type RetryOptions, type TryResult, withRetries } from './retry.ts';

/** Sends requests, with retries and time-outs. */

/** Functions that `api/resources.ts` calls to send requests. */
export interface Call {
  /** @throws {OutboxError} or the reason of the signal. */
  json<Answer>(operation: Operation, options?: Options): Promise<Answer>;
  /** For responses that are not JSON: read `text()` or the stream `body`. @throws {OutboxError} */
  response(operation: Operation, options?: Options): Promise<Response>;
  /** Sends its requests when it is awaited or iterated. */
  list<Item, Page extends object>(operation: Operation, options?: Options): List<Item, Page>;
}

/** One attempt of a request, for logs and metrics. Contains no key, query or body. */
export interface Attempt {
  readonly method: string;
  readonly path: string;
  /** From 1. All attempts of a call share an `Idempotency-Key`. */
  readonly tried: number;
  readonly durationMs: number;
  /** null: no response. */
  readonly status: number | null;
  readonly requestId: string | null;
  /** null: it succeeded. */
  readonly error: unknown;
  /** Milliseconds until the next attempt; null: no further attempt. */
  readonly retryInMs: number | null;
}

export interface Configuration extends RetryOptions {
  /** `ob_live_…` or `ob_test_…`. null: `fetch` adds the credentials, such as a cookie. */
  readonly apiKey: string | null;
  /** URL of the service, such as `https://mail.example.com`. */
  readonly baseUrl: string;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Called after every attempt. Errors that it throws are ignored. */
  readonly onAttempt?: ((attempt: Attempt) => unknown) | undefined;
  /** Renders `react` of a message into HTML, such as `render` of `@react-email/render`. Default: `react-dom`. */
  readonly renderReact?: RenderReact | undefined;
}

const responses = new WeakMap<object, Response>();

/** The HTTP response behind a result: `status` and `headers`, such as `etag`, `x-request-id` and `ratelimit`. */
export const responseOf = (answer: object): Response | undefined => responses.get(answer);

const parsed = (text: string, response: Response): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ConnectionError('the response is not JSON', { cause, requestId: requestIdOf(response) });
  }
};

const jsonOf = async (response: Response): Promise<unknown> => {
  const text = await response.text();
  if (text === '') return undefined;
  const answer = parsed(text, response);
  if (typeof answer === 'object' && answer !== null) responses.set(answer, response);
  return answer;
};

/** The service's errors have a few kB. A proxy in its place may send an endless body. */
const ERROR_CHARACTERS_MAX = 1_000_000;

const errorTextOf = async (response: Response): Promise<string> => {
  // A fetch that was given, such as node-fetch, may have streams of another kind.
  if (typeof response.body?.getReader !== 'function') return response.text();
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let text = '';
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    text += decoder.decode(read.value, { stream: true });
    if (text.length > ERROR_CHARACTERS_MAX) {
      await reader.cancel();
      return '';
    }
  }
  return text;
};

interface TryResponse<Answer> {
  readonly answer: Answer;
  readonly response: Response;
}

interface Try<Answer> {
  readonly url: string;
  readonly fetch: typeof globalThis.fetch;
  readonly request: RequestInit;
  readonly body: Body;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** Reads the needed part of a response within its time-out. */
  readonly read: (response: Response) => Promise<Answer>;
  /** The response is read later: the signal ends that too. */
  readonly isReadLater: boolean;
}

/** Recognizes a redirect by the error's text: `fetch` offers no other way. */
const isRedirect = (cause: unknown): boolean =>
  cause instanceof TypeError && /redirect/i.test(`${cause.message} ${cause.cause}`);

/** The innermost cause, because `fetch failed` explains nothing. */
const reasonOf = (cause: unknown): string => {
  const { cause: inner, code, message } = Object(cause) as Partial<Error & { readonly code: unknown }>;
  if (inner instanceof Error) return reasonOf(inner);
  const reason = message || code; // an AggregateError of several addresses has the code alone
  return reason === undefined ? '' : `: ${reason}`;
};

/** The error of an attempt without a response. */
const failureOf = (
  cause: unknown,
  deadline: Deadline,
  fileFault: unknown,
  { url, requestId }: { readonly url: string; readonly requestId: string | null },
): OutboxError => {
  if (cause instanceof OutboxError) return cause;
  if (fileFault !== undefined) return new OutboxError('cannot read an attachment', { cause: fileFault });
  if (isRedirect(cause)) return new OutboxError(REDIRECTED, { cause });
  const from = `no complete response from ${new URL(url).origin}`;
  return deadline.hasPassed()
    ? new TimedOutError(`${from} in time`, { cause, requestId })
    : new ConnectionError(`${from}${reasonOf(cause)}`, { cause, requestId });
};

/** One request and its response. @throws {OutboxError} */
const attempt = async <Answer>(one: Try<Answer>): Promise<TryResponse<Answer>> => {
  // Call `fetch` without a receiver: in browsers it throws when called as a method of another object.
  const { fetch, request, signal } = one;
  const deadline = createDeadline(one.timeoutMs, signal);
  const { body, fault } = one.body.make();
  let requestId: string | null = null;
  let release = deadline.end;
  deadline.start();
  try {
    const response = await fetch(one.url, { redirect: 'manual', ...request, ...body, signal: deadline.signal });
    requestId = requestIdOf(response);
    if (!response.ok) throw errorOf(response, await errorTextOf(response));
    const answer = await one.read(response);
    if (one.isReadLater) release = deadline.stop;
    return { answer, response };
  } catch (cause) {
    throw failureOf(cause, deadline, fault(), { url: one.url, requestId });
  } finally {
    release();
  }
};

const statusOf = ({ outcome }: TryResult<TryResponse<unknown>>): Pick<Attempt, 'status' | 'requestId' | 'error'> => {
  if ('answer' in outcome) {
    const { response } = outcome.answer;
    return { status: response.status, requestId: requestIdOf(response), error: null };
  }
  const { status = null, requestId = null } = outcome.error as Partial<Attempt>;
  return { status, requestId, error: outcome.error };
};

/** Calls a hook. If it throws, the request does not fail. */
const tell = (
  { onAttempt }: Configuration,
  { method, path: at }: Operation,
  one: TryResult<TryResponse<unknown>>,
): void => {
  if (onAttempt === undefined) return;
  const { tried, durationMs, retryInMs } = one;
  const told = { method, path: at, tried, durationMs, ...statusOf(one), retryInMs };
  Promise.resolve(told)
    .then(onAttempt)
    .catch(() => undefined);
};

/**
 * Attempts of one request. A deletion may succeed behind a 503 or a lost response: if a later attempt of the same call
 * does not find the resource, it is deleted.
 */
const attemptsOf = <Answer>({ method }: Operation): ((one: Try<Answer>) => Promise<TryResponse<Answer>>) => {
  let isUncertain = false;
  return async (one) => {
    try {
      return await attempt(one);
    } catch (error) {
      const isGone = error instanceof NotFoundError && error.code === 'not_found';
      if (method === 'DELETE' && isUncertain && isGone)
        return { answer: undefined as Answer, response: new Response(null, { status: error.status }) };
      isUncertain ||= error instanceof ServerError || error instanceof ConnectionError;
      throw error;
    }
  };
};

export const createCall = (configuration: Configuration): Call => {
  const authorization = configuration.apiKey === null ? null : authorizationOf(configuration.apiKey);
  const base = baseOf(configuration.baseUrl);
  limitsOf(configuration);

  const send = async <Answer>(
    operation: Operation,
    options: Options,
    { read, isReadLater }: Pick<Try<Answer>, 'read' | 'isReadLater'>,
  ): Promise<Answer> => {
    const { method } = operation;
    const { signal } = options;
    const limits = limitsOf(options, configuration);
    const url = urlOf(base, operation);
    const headers = headersOf(authorization, operation, options);
    const body = await encodeBody(operation.body, configuration.renderReact);
    const fetch = configuration.fetch ?? globalThis.fetch;
    const tryOnce = attemptsOf<Answer>(operation);
    const { answer } = await withRetries(
      (timeoutMs) => tryOnce({ url, fetch, request: { method, headers }, body, signal, timeoutMs, read, isReadLater }),
      {
        ...limits,
        signal,
        isRepeatable: isRepeatable(operation, options),
        onTried: (one) => tell(configuration, operation, one),
      },
    );
    return answer;
  };

  const json = <Answer>(operation: Operation, options: Options = {}): Promise<Answer> =>
    send(operation, options, { read: (response) => jsonOf(response) as Promise<Answer>, isReadLater: false });

  return {
    json,
    response: (operation, options = {}) =>
      send({ accept: '*/*', ...operation }, options, { read: async (response) => response, isReadLater: true }),
    list: (operation, options) =>
      listOf((query) => json({ ...operation, query: { ...operation.query, ...query } }, options)),
  };
};
