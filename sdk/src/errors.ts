import type { ErrorAnswer } from './api/schemas.ts';

/** Code of an error; later versions of the service may have more. */
export type ErrorCode = ErrorAnswer['error']['code'] | (string & {});

interface ErrorContext {
  readonly cause?: unknown;
  readonly requestId?: string | null;
}

/** Base class of all request failures. Use `instanceof` to tell them apart. */
export class OutboxError extends Error {
  override name = 'OutboxError';
  /** `X-Request-Id`: finds the request in the dashboard and in the service's logs. null: no response. */
  readonly requestId: string | null;

  constructor(message: string, { cause, requestId = null }: ErrorContext = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.requestId = requestId;
  }
}

/** No response, or only a part of one. `cause` is the underlying error. The request may have been carried out. */
export class ConnectionError extends OutboxError {
  override name = 'ConnectionError';
}

/** An attempt timed out. The request may have been carried out. */
export class TimedOutError extends ConnectionError {
  override name = 'TimedOutError';
}

/** An error response from the service, or from a proxy in front of it. */
export interface Refusal {
  readonly status: number;
  /** `unknown` if a proxy answered instead of the service. */
  readonly code: ErrorCode;
  /** Messages by field: `to`, `messages[3].to`. */
  readonly details: Readonly<Record<string, readonly string[]>>;
  /** Seconds to wait before you retry; null: unknown. */
  readonly retryAfter: number | null;
  readonly requestId: string | null;
}

/** The service rejected the request. */
export class ApiError extends OutboxError implements Refusal {
  override name = 'ApiError';
  readonly status: number;
  readonly code: ErrorCode;
  readonly details: Refusal['details'];
  readonly retryAfter: number | null;

  constructor(message: string, { status, code, details, retryAfter, requestId }: Refusal) {
    super(message, { requestId });
    this.status = status;
    this.code = code;
    this.details = details;
    this.retryAfter = retryAfter;
  }
}

/** 400: `details` names the fields. */
export class InvalidRequestError extends ApiError {
  override name = 'InvalidRequestError';
}
/** 401 */
export class UnauthorizedError extends ApiError {
  override name = 'UnauthorizedError';
}
/** 403 */
export class ForbiddenError extends ApiError {
  override name = 'ForbiddenError';
}
/** 404 */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError';
}
/** 409 and 412: the state of the resource forbids it. */
export class ConflictError extends ApiError {
  override name = 'ConflictError';
}
/** 422 */
export class UnprocessableError extends ApiError {
  override name = 'UnprocessableError';
}
/** 429 */
export class RateLimitError extends ApiError {
  override name = 'RateLimitError';
}
/** 5xx */
export class ServerError extends ApiError {
  override name = 'ServerError';
}

const BY_STATUS: Readonly<Record<number, typeof ApiError>> = {
  400: InvalidRequestError,
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  412: ConflictError,
  422: UnprocessableError,
  429: RateLimitError,
};

/** Seconds of `Retry-After` (RFC 9110 §10.2.3). A date is compared with the response's `Date`, so the local clock does not matter. */
const retryAfterIn = (headers: Headers): number | null => {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const until = Date.parse(value);
  if (!value.endsWith('GMT') || Number.isNaN(until)) return null;
  const sent = Date.parse(headers.get('date') ?? '');
  return Math.max(0, Math.ceil((until - (Number.isNaN(sent) ? Date.now() : sent)) / 1000));
};

const secondsOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;

type ErrorFields = Partial<ErrorAnswer['error']>;

/** The error in a body; empty if the service did not send it. */
const saidIn = (text: string): ErrorFields => {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return typeof error === 'object' && error !== null ? error : {};
  } catch {
    return {};
  }
};

export const requestIdOf = ({ headers }: Response): string | null => headers.get('x-request-id');

export const REDIRECTED = 'the response is a redirect, which is not followed: check baseUrl';

/** Message for a response that is not from the service, such as one of a proxy. */
const wordsFor = ({ status, headers, type }: Response): string => {
  // Browsers hide the target of a redirect.
  if (type === 'opaqueredirect') return REDIRECTED;
  const location = headers.get('location');
  return location === null
    ? `the response has status ${status} and is not an error of Outbox: check baseUrl`
    : `the response has status ${status} and redirects to ${location}, which is not followed: check baseUrl`;
};

/** The error for an unsuccessful response. @param text its body. */
export const errorOf = (response: Response, text: string): ApiError => {
  const { status, headers } = response;
  const { message, code, details, retry_after } = saidIn(text);
  const Kind = BY_STATUS[status] ?? (status >= 500 ? ServerError : ApiError);
  return new Kind(typeof message === 'string' ? message : wordsFor(response), {
    status,
    code: typeof code === 'string' ? code : 'unknown',
    details: typeof details === 'object' && details !== null ? details : {},
    retryAfter: secondsOf(retry_after) ?? retryAfterIn(headers),
    requestId: requestIdOf(response),
  });
};
