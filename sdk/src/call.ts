import { ApiError, ConnectionError, errorOf, TimedOutError } from './errors.ts';
import { type List, listOf } from './list.ts';
import { encodeBody, idempotencyKey } from './message-body.ts';
import { DEFAULTS, type RetryOptions, withRetries } from './retry.ts';

/** Sends requests: tries, time-outs, answers. */

export interface RequestOptions extends RetryOptions {
  /** Ends the request with its reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface ChangeOptions extends RequestOptions {
  /** `ETag` of the version to change (`responseOf(it).headers`); 412 `ConflictError` if it has changed since. */
  readonly ifMatch?: string | undefined;
}

export interface SendOptions extends RequestOptions {
  /** Of this send, also over a restart of your program. Default: a random one, kept for all tries of one call. */
  readonly idempotencyKey?: string | undefined;
}

/** A query's fields; undefined ones are left out. */
type Query = object;

export interface Operation {
  readonly method: string;
  /** From `/v1`. */
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  readonly takesIdempotencyKey?: true;
  /** `Accept`. Default JSON. */
  readonly accept?: string;
}

type Options = RequestOptions & ChangeOptions & SendOptions;

/** What the functions of `api/resources.ts` call. */
export interface Call {
  /** @throws {OutboxError} or the reason of the signal. */
  json<Answer>(operation: Operation, options?: Options): Promise<Answer>;
  /** Of answers that are no JSON: read its `text()` or its stream `body`. @throws {OutboxError} */
  response(operation: Operation, options?: Options): Promise<Response>;
  /** Asks when it is awaited or iterated. */
  list<Item, Page extends object>(operation: Operation, options?: Options): List<Item, Page>;
}

export interface Configuration extends RetryOptions {
  /** `ob_live_…` or `ob_test_…` */
  readonly apiKey: string;
  /** Where the service answers, such as `https://mail.example.com`. */
  readonly baseUrl: string;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** Fills a path: each value becomes one segment. @throws {TypeError} a value that is no segment. */
export const path = (texts: TemplateStringsArray, ...values: readonly string[]): string =>
  texts.reduce((before, text, index) => {
    const value = values[index - 1];
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new TypeError(`an id is not '${value}'`);
    return before + encodeURIComponent(value) + text;
  });

const urlOf = (baseUrl: string, { path: at, query = {} }: Operation): string => {
  const fields = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const search = new URLSearchParams(fields.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return baseUrl.replace(/\/+$/, '') + at + (search === '' ? '' : `?${search}`);
};

const headersOf = (apiKey: string, operation: Operation, options: Options): Headers => {
  const headers = new Headers({
    authorization: `Bearer ${apiKey}`,
    accept: operation.accept ?? 'application/json',
  });
  if (operation.body !== undefined) headers.set('content-type', 'application/json');
  if (operation.takesIdempotencyKey) headers.set('idempotency-key', options.idempotencyKey ?? idempotencyKey());
  if (options.ifMatch !== undefined) headers.set('if-match', options.ifMatch);
  return headers;
};

const responses = new WeakMap<object, Response>();

/** The response that an answer came with: its `status` and `headers`, such as `etag`, `x-request-id`, `ratelimit`. */
export const responseOf = (answer: object): Response | undefined => responses.get(answer);

const jsonOf = (response: Response, text: string): unknown => {
  if (text === '') return undefined;
  const answer: unknown = JSON.parse(text);
  if (typeof answer === 'object' && answer !== null) responses.set(answer, response);
  return answer;
};

/** A signal that aborts with the caller's, or after a time. */
const createDeadline = (timeoutMs: number, signal: AbortSignal | undefined) => {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  return {
    signal: signal === undefined ? deadline.signal : AbortSignal.any([signal, deadline.signal]),
    hasPassed: (): boolean => deadline.signal.aborted,
    end: (): void => clearTimeout(timer),
  };
};

/** Without fields that are undefined, which would hide a default. */
const given = ({ maxRetries, timeoutMs, totalTimeoutMs }: RetryOptions): Partial<typeof DEFAULTS> =>
  Object.fromEntries(
    Object.entries({ maxRetries, timeoutMs, totalTimeoutMs }).filter(([, value]) => value !== undefined),
  );

/** Takes what is needed of a response while its time runs. */
type Read<Answer> = (response: Response) => Promise<Answer>;

interface Try<Answer> {
  readonly url: string;
  readonly fetch: typeof globalThis.fetch;
  readonly request: RequestInit;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly read: Read<Answer>;
}

/** One request and its answer. @throws {OutboxError} */
const attempt = async <Answer>(one: Try<Answer>): Promise<Answer> => {
  const deadline = createDeadline(one.timeoutMs, one.signal);
  try {
    const response = await one.fetch(one.url, { ...one.request, redirect: 'manual', signal: deadline.signal });
    if (!response.ok) throw errorOf(response, await response.text());
    return await one.read(response);
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    if (deadline.hasPassed()) throw new TimedOutError('no whole answer came in time', { cause });
    throw new ConnectionError('no whole answer came', { cause });
  } finally {
    deadline.end();
  }
};

export const createCall = (configuration: Configuration): Call => {
  const { apiKey, baseUrl } = configuration;

  const send = async <Answer>(operation: Operation, options: Options, read: Read<Answer>): Promise<Answer> => {
    const { method, takesIdempotencyKey = false } = operation;
    const { signal } = options;
    const url = urlOf(baseUrl, operation);
    const headers = headersOf(apiKey, operation, options);
    const bodyOf = await encodeBody(operation.body);
    const fetch = configuration.fetch ?? globalThis.fetch;
    return withRetries(
      (timeoutMs) => attempt({ url, fetch, request: { method, headers, ...bodyOf() }, signal, timeoutMs, read }),
      {
        ...DEFAULTS,
        ...given(configuration),
        ...given(options),
        signal,
        isRepeatable: method !== 'POST' || takesIdempotencyKey,
      },
    );
  };

  const json = <Answer>(operation: Operation, options: Options = {}): Promise<Answer> =>
    send(operation, options, async (response) => jsonOf(response, await response.text()) as Answer);

  return {
    json,
    response: (operation, options = {}) => send({ accept: '*/*', ...operation }, options, async (response) => response),
    list: (operation, options) =>
      listOf((query) => json({ ...operation, query: { ...operation.query, ...query } }, options)),
  };
};
