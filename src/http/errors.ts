import type { FastifyReply, FastifyRequest } from 'fastify';
import { ForeignEvent } from '../commands/foreign-events.ts';
import { AnalysisUnavailable } from '../domain/analysis/facts.ts';
import { DomainError, type ErrorCode } from '../domain/kernel/errors.ts';
import { AppendOutcomeUnknown } from '../domain/kernel/event-store.ts';
import { DkimKeysBusy } from '../domain/ports/secrets.ts';
import { type Logger, StoreUnavailable, ThreadUnavailable, TimedOut } from '../lib/async/async.ts';
import { HtmlCheckUnavailable } from '../lib/html/html.ts';
import { MailParserUnavailable } from '../lib/mime/mime.ts';
import { ResolverUnavailable } from '../lib/smtp/smtp.ts';
import { TemplateCompilerUnavailable } from '../lib/templates/templates.ts';

/** HTTP status of each error code (spec §7). Fails to compile if one is missing. */
export const ERROR_STATUSES = {
  invalid_request: 400,
  invalid_json: 400,
  invalid_cursor: 400,
  invalid_html: 400,
  header_not_allowed: 400,
  unauthorized: 401,
  sign_in_link_invalid: 401,
  passkey_invalid: 401,
  oidc_invalid: 401,
  oidc_address_unverified: 403,
  oidc_no_member: 403,
  permission_missing: 403,
  cross_site_request: 403,
  presence_required: 403,
  wider_than_own_key: 403,
  environment_not_allowed: 403,
  address_not_allowed: 403,
  from_domain_mismatch: 403,
  organization_suspended: 403,
  other_organization: 403,
  not_found: 404,
  method_not_allowed: 405,
  domain_already_exists: 409,
  key_not_active: 409,
  too_many_live_secrets: 409,
  webhook_disabled: 409,
  last_admin_key: 409,
  last_owner: 409,
  member_already_exists: 409,
  message_being_sent: 409,
  message_ended: 409,
  message_not_scheduled: 409,
  nothing_to_resend: 409,
  recipient_suppressed: 409,
  content_removed: 409,
  resource_conflict: 409,
  content_gone: 410,
  link_suspended: 410,
  not_signed_yet: 409,
  signing_stopped: 409,
  precondition_failed: 412,
  body_too_large: 413,
  unsupported_media_type: 415,
  domain_is_public_suffix: 422,
  domain_not_verified: 422,
  too_many_topics: 409,
  too_many_inbound_routes: 409,
  too_many_webhooks: 409,
  too_many_auditors: 409,
  too_many_members: 409,
  too_many_passkeys: 409,
  topic_not_usable: 422,
  schedule_not_possible: 422,
  quota_exceeded: 422,
  plan_not_offered: 422,
  batch_exceeds_limit: 422,
  template_invalid: 422,
  template_not_published: 422,
  template_variables_invalid: 422,
  analysis_failed: 422,
  idempotency_key_reused: 422,
  rate_limit_exceeded: 429,
  internal_error: 500,
  unavailable: 503,
} as const satisfies Readonly<Record<ErrorCode, number>>;

const OURS = [
  AppendOutcomeUnknown,
  StoreUnavailable,
  ResolverUnavailable,
  HtmlCheckUnavailable,
  TemplateCompilerUnavailable,
  AnalysisUnavailable,
  MailParserUnavailable,
  ThreadUnavailable,
  DkimKeysBusy,
  TimedOut,
];

/** System errors of connections. */
const SYSTEM_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);
/** PostgreSQL, Appendix A: connection exceptions, operator intervention, insufficient resources; a cancelled query. */
const POSTGRES_CLASSES = /^(?:08|53|57)[0-9A-Z]{3}$/;
/** Errors of `pg` without a code: a broken connection, or none free in time. */
const POSTGRES_SENTENCES =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered)/;

const isConnectionFault = (error: Error & { readonly code?: unknown }): boolean => {
  const code = typeof error.code === 'string' ? error.code : '';
  return SYSTEM_CODES.has(code) || POSTGRES_CLASSES.test(code) || POSTGRES_SENTENCES.test(error.message);
};

/** Whether a dependency is unavailable: the request is valid and worth a retry. */
export const isUnavailable = (error: unknown): boolean => {
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  if (!(error instanceof Error)) return false;
  return OURS.some((type) => error instanceof type) || isConnectionFault(error);
};

export interface ErrorBody {
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
  /** A fault of the service, to be logged. */
  readonly fault: boolean;
}

/** Most outages of dependencies are over by then. */
const RETRY_AFTER_SECONDS = 1;

/** Errors of Fastify in terms of the catalogue. */
const FASTIFY_CODES: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'the body must be application/json'],
  FST_ERR_CTP_BODY_TOO_LARGE: ['body_too_large', 'the body is too large'],
  FST_ERR_BAD_URL: ['invalid_request', 'the path is malformed'],
  FST_ERR_MAX_PARAM_LENGTH: ['not_found', 'not found'],
};

const refusalOf = (error: unknown): DomainError | null => {
  if (error instanceof DomainError) return error;
  if (error instanceof ForeignEvent) return new DomainError('unavailable', error.message);
  if (isUnavailable(error))
    return new DomainError('unavailable', 'the service is unavailable at the moment: try again');
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

/** The response to a failed request: domain errors by the catalogue, unavailable dependencies 503, all else 500. */
export const errorAnswer = (error: unknown): ErrorAnswer => {
  const refusal = refusalOf(error);
  if (refusal === null) {
    return { ...refusalAnswer(new DomainError('internal_error', 'the service failed')), fault: true };
  }
  return { ...refusalAnswer(refusal), fault: isUnavailable(error) || error instanceof ForeignEvent };
};

/** Sets status and headers and logs a fault. @returns the response body. */
export const beginErrorAnswer = (
  logger: Logger,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): ErrorBody => {
  const { status, body, fault } = errorAnswer(error);
  if (fault)
    logger.error(
      {
        error,
        ...(error instanceof ForeignEvent ? { alarm: 'audit' } : {}),
        requestId: request.id,
        method: request.method,
        url: request.routeOptions.url,
      },
      'a request failed',
    );
  if (body.error.retry_after !== undefined) reply.header('retry-after', body.error.retry_after);
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  reply.code(status);
  request.refusal = body.error;
  return body;
};
