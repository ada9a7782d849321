import { DomainError } from '../../domain/domain-error.ts';
import type { ErrorCode } from '../../domain/error-catalogue.ts';
import { ERROR_STATUSES } from './error-statuses.ts';
import { isUnavailable } from './is-unavailable.ts';

interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly code: ErrorCode;
    readonly details?: Readonly<Record<string, readonly string[]>>;
    readonly retry_after?: number;
  };
}

export interface ErrorAnswer {
  readonly status: number;
  readonly body: ErrorBody;
  /** Nobody's fault but ours: to be logged. */
  readonly fault: boolean;
}

/** Most failures of what we depend on are over by then. */
const RETRY_AFTER_SECONDS = 1;

/** What Fastify refuses by itself, in our words. */
const FASTIFY_CODES: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'the body must be application/json'],
  FST_ERR_CTP_BODY_TOO_LARGE: ['body_too_large', 'the body is too large'],
  FST_ERR_BAD_URL: ['invalid_request', 'the path is not well-formed'],
  FST_ERR_MAX_PARAM_LENGTH: ['not_found', 'not found'],
};

const refusalOf = (error: unknown): DomainError | null => {
  if (error instanceof DomainError) return error;
  if (isUnavailable(error)) return new DomainError('unavailable', 'the service is unavailable just now');
  if (!(error instanceof Error)) return null;
  const { code, statusCode } = error as Error & { readonly code?: unknown; readonly statusCode?: unknown };
  const known = FASTIFY_CODES[String(code)];
  if (known !== undefined) return new DomainError(...known);
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500
    ? new DomainError('invalid_request', 'the request is malformed')
    : null;
};

export const refusalAnswer = ({ code, message, details, retryAfterSeconds }: DomainError): ErrorAnswer => {
  const status = ERROR_STATUSES[code];
  const seconds = retryAfterSeconds ?? (code === 'unavailable' ? RETRY_AFTER_SECONDS : undefined);
  return {
    status,
    body: {
      error: {
        message,
        code,
        ...(details === undefined ? {} : { details }),
        ...(seconds === undefined ? {} : { retry_after: seconds }),
      },
    },
    fault: false,
  };
};

/** How a request that failed is answered: refusals by the catalogue, what is away by 503, all else by 500. */
export const errorAnswer = (error: unknown): ErrorAnswer => {
  const refusal = refusalOf(error);
  if (refusal === null) {
    return { ...refusalAnswer(new DomainError('internal_error', 'the service failed')), fault: true };
  }
  return { ...refusalAnswer(refusal), fault: isUnavailable(error) };
};
