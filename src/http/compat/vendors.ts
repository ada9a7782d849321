import { ERROR_STATUSES, type ErrorBody } from '../errors.ts';

/** The services whose published clients work with this one, and the shape of errors that each client expects. */

export const VENDORS = ['resend', 'postmark', 'sendgrid', 'mailgun'] as const;
export type Vendor = (typeof VENDORS)[number];

const PREFIX = /^\/compat\/([a-z]+)(?:[/?]|$)/;

/** Vendor whose client sends the request; null: none. @param url path, with or without a query. */
export const vendorOf = (url: string): Vendor | null => {
  const name = PREFIX.exec(url)?.[1];
  return VENDORS.find((vendor) => vendor === name) ?? null;
};

const BRACKETS = /([?&][^?&=[%]*)(?:\[\d*\]|%5B\d*%5D)(?==)/gi;

/**
 * Address of a request as our routes name it. Clients join their path to a base URL that may end in a slash
 * (`/compat/resend//emails`), and some paths end in one. Clients that send a list by axios write `name[]=a&name[]=b`.
 */
export const compatUrl = (url: string): string =>
  url.startsWith('/compat/')
    ? url.replace(/^[^?]+/, (path) => path.replaceAll(/\/+/g, '/').replace(/\/$/, '')).replaceAll(BRACKETS, '$1')
    : url;

/** Calls of their clients that this service does not imitate, by the beginning of the path, and what does the same. */
const EQUIVALENTS: Readonly<Record<Vendor, readonly (readonly [path: string, instead: string])[]>> = {
  resend: [
    ['domains', 'GET /v1/domains'],
    ['api-keys', 'PATCH /v1/api-keys/{id}'],
    ['audiences', 'GET /v1/suppressions'],
    ['suppressions', 'GET /v1/suppressions'],
    ['contacts', 'GET /v1/suppressions'],
    ['segments', 'GET /v1/topics'],
    ['topics', 'GET /v1/topics'],
    ['templates', 'GET /v1/templates'],
    ['broadcasts', 'POST /v1/messages/batch'],
    ['webhooks', 'GET /v1/webhooks'],
    ['emails', 'GET /v1/messages'],
  ],
  postmark: [
    ['bounces', 'GET /v1/messages?status=bounced'],
    ['deliverystats', 'GET /v1/stats'],
    ['stats', 'GET /v1/stats'],
    ['messages', 'GET /v1/messages'],
    ['message-streams', 'GET /v1/suppressions'],
    ['templates/validate', 'POST /v1/templates/{id}/render'],
    ['templates', 'GET /v1/templates'],
    ['domains', 'GET /v1/domains'],
    ['senders', 'GET /v1/domains'],
    ['server', 'GET /v1/organization'],
    ['webhooks', 'GET /v1/webhooks'],
    ['email', 'POST /v1/messages/send'],
  ],
  sendgrid: [
    ['v3/suppression', 'GET /v1/suppressions'],
    ['v3/asm', 'GET /v1/topics'],
    ['v3/stats', 'GET /v1/stats'],
    ['v3/categories', 'GET /v1/stats'],
    ['v3/templates', 'GET /v1/templates'],
    ['v3/api_keys', 'GET /v1/api-keys'],
    ['v3/whitelabel', 'GET /v1/domains'],
    ['v3/messages', 'GET /v1/messages'],
    ['v3/user/webhooks', 'GET /v1/webhooks'],
    ['v3/mail', 'POST /v1/messages/send'],
  ],
  // Most paths of Mailgun name the domain before the resource.
  mailgun: [
    ['*/messages.mime', 'SMTP, or POST /v1/messages/send'],
    ['*/messages', 'GET /v1/messages'],
    ['*/templates', 'GET /v1/templates'],
    ['*/webhooks', 'GET /v1/webhooks'],
    ['*/whitelists', 'GET /v1/suppressions'],
    ['*/unsubscribes', 'GET /v1/suppressions'],
    ['*/bounces', 'GET /v1/suppressions'],
    ['*/complaints', 'GET /v1/suppressions'],
    ['*/tags', 'GET /v1/stats'],
    ['*/tag', 'GET /v1/stats'],
    ['*/stats', 'GET /v1/stats'],
    ['v1/analytics/metrics', 'GET /v1/stats'],
    ['v1/analytics/logs', 'GET /v1/events'],
    ['v3/lists', 'GET /v1/topics'],
    ['v4/address/validate', 'GET /v1/suppressions/check'],
    ['v1/keys', 'GET /v1/api-keys'],
    ['v3/domains', 'GET /v1/domains'],
    ['v4/domains', 'GET /v1/domains'],
  ],
};

const DOMAIN_PATH = /^v\d\/(?:domains\/)?[^/]+/;

/** @param beginning with `*` for a version and a domain. */
const beginsWith = (call: string, beginning: string): boolean =>
  call.startsWith(beginning) || call.replace(DOMAIN_PATH, '*').startsWith(beginning);

/** Says what to call instead of a call that is not imitated. `/docs` is the reference that the service itself serves. */
export const unsupportedCall = (vendor: Vendor, method: string, path: string): string => {
  const call = path.slice(`/compat/${vendor}/`.length);
  const instead = EQUIVALENTS[vendor].find(([beginning]) => beginsWith(call.toLowerCase(), beginning))?.[1];
  const what = `${method} ${path} is not supported`;
  return instead === undefined
    ? `${what}. /docs lists all supported calls`
    : `${what}. Use ${instead}, which /docs describes`;
};

/** Challenges of 401 (RFC 9110 §11.6.1) for clients that do not send `Bearer`. */
export const CHALLENGES: Readonly<Partial<Record<Vendor, string>>> = { mailgun: 'Basic realm="Outbox"' };

type ErrorFields = ErrorBody['error'];

export interface VendorAnswer {
  readonly status: number;
  readonly body: object;
}

/** Sentences about fields in an error. More would fill a log line without helping. */
const SENTENCES_MAX = 20;

/** Details that are sentences about fields. Those of a quota are its numbers, for programs: its message has them too. */
const problemsIn = ({ code, details = {} }: ErrorFields): Readonly<Record<string, readonly string[]>> =>
  code === 'quota_exceeded' ? {} : details;

const sentencesOf = (told: ErrorFields): readonly string[] => {
  const { message } = told;
  const sentences = Object.values(problemsIn(told)).flat().slice(0, SENTENCES_MAX);
  return sentences.length === 0 ? [message] : sentences;
};

const isMissingKey = ({ details = {} }: ErrorFields): boolean =>
  Object.values(details)
    .flat()
    .some((sentence) => sentence.startsWith('Authorization is required'));

/** Values that its clients compare `error.name` with, and the statuses that differ from ours (its page of errors). */
const RESEND_NAMES: Readonly<Partial<Record<ErrorFields['code'], readonly [name: string, status?: number]>>> = {
  unauthorized: ['validation_error'],
  permission_missing: ['restricted_api_key'],
  address_not_allowed: ['restricted_api_key'],
  not_found: ['not_found'],
  other_organization: ['not_found', 404],
  method_not_allowed: ['method_not_allowed'],
  from_domain_mismatch: ['invalid_from_address'],
  idempotency_key_reused: ['invalid_idempotent_request', 409],
  quota_exceeded: ['monthly_quota_exceeded', 429],
  rate_limit_exceeded: ['rate_limit_exceeded'],
  internal_error: ['internal_server_error'],
  unavailable: ['application_error'],
};

const resendName = (told: ErrorFields): readonly [name: string, status?: number] => {
  const { code, details = {} } = told;
  if (code === 'unauthorized' && isMissingKey(told)) return ['missing_api_key'];
  if (code === 'invalid_request' && details['Idempotency-Key'] !== undefined) return ['invalid_idempotency_key'];
  return RESEND_NAMES[code] ?? ['validation_error'];
};

const resendError = (told: ErrorFields): VendorAnswer => {
  const [name, status = ERROR_STATUSES[told.code]] = resendName(told);
  return { status, body: { statusCode: status, name, message: sentencesOf(told).join('; ') } };
};

/** Its numbers, which its client makes classes of together with the status (its page of error codes). */
const POSTMARK_CODES = {
  badToken: 10,
  maintenance: 100,
  invalidEmail: 300,
  senderNotFound: 400,
  senderNotConfirmed: 401,
  invalidJson: 402,
  notAllowedToSend: 405,
  jsonRequired: 409,
  tooManyMessages: 410,
  rateLimit: 429,
  messageNotFound: 701,
  templateNotFound: 1101,
} as const;

/** Its client tells most refusals by 422: whatever else is wrong with a request is that. */
const POSTMARK_ERRORS: Readonly<Partial<Record<ErrorFields['code'], readonly [code: number, status?: number]>>> = {
  invalid_json: [POSTMARK_CODES.invalidJson],
  unsupported_media_type: [POSTMARK_CODES.jsonRequired],
  from_domain_mismatch: [POSTMARK_CODES.senderNotFound],
  domain_not_verified: [POSTMARK_CODES.senderNotConfirmed],
  quota_exceeded: [POSTMARK_CODES.notAllowedToSend],
  batch_exceeds_limit: [POSTMARK_CODES.tooManyMessages],
  template_not_published: [POSTMARK_CODES.templateNotFound],
  not_found: [POSTMARK_CODES.messageNotFound],
  other_organization: [POSTMARK_CODES.messageNotFound],
  unauthorized: [POSTMARK_CODES.badToken, 401],
  permission_missing: [POSTMARK_CODES.badToken, 403],
  organization_suspended: [POSTMARK_CODES.notAllowedToSend, 403],
  address_not_allowed: [POSTMARK_CODES.badToken, 403],
  environment_not_allowed: [POSTMARK_CODES.badToken, 403],
  body_too_large: [POSTMARK_CODES.invalidEmail, 413],
  method_not_allowed: [POSTMARK_CODES.invalidEmail, 405],
  rate_limit_exceeded: [POSTMARK_CODES.rateLimit, 429],
  internal_error: [POSTMARK_CODES.maintenance, 500],
  unavailable: [POSTMARK_CODES.maintenance, 503],
};

const UNPROCESSABLE = 422;

const isAboutTemplate = ({ code, message }: ErrorFields): boolean =>
  (code === 'not_found' || code === 'other_organization') && message.startsWith('template');

/** Its header, in which a key is looked for instead of `Authorization`. */
export const POSTMARK_TOKEN_HEADER = 'x-postmark-server-token';

const postmarkSentence = (told: ErrorFields): string =>
  told.code === 'unauthorized'
    ? 'invalid or missing API key: send an API key of Outbox, ob_…, in X-Postmark-Server-Token'
    : sentencesOf(told).join('; ');

/** An error in the shape that the client expects, as a response or within a batch. */
export const postmarkError = (
  told: ErrorFields,
): VendorAnswer & { readonly body: { readonly ErrorCode: number; readonly Message: string } } => {
  const [known, status = UNPROCESSABLE] = POSTMARK_ERRORS[told.code] ?? [POSTMARK_CODES.invalidEmail];
  const ErrorCode = isAboutTemplate(told) ? POSTMARK_CODES.templateNotFound : known;
  return { status, body: { ErrorCode, Message: postmarkSentence(told) } };
};

/** One error per sentence, with its field; null: the request as a whole. */
const sendgridErrors = (told: ErrorFields) => {
  const { message } = told;
  const errors = Object.entries(problemsIn(told)).flatMap(([field, sentences]) =>
    sentences.map((sentence) => ({ message: sentence, field, help: null })),
  );
  return errors.length === 0 ? [{ message, field: null, help: null }] : errors.slice(0, SENTENCES_MAX);
};

/** It knows no 422. */
const sendgridError = (told: ErrorFields): VendorAnswer => {
  const status = ERROR_STATUSES[told.code];
  return { status: status === UNPROCESSABLE ? 400 : status, body: { errors: sendgridErrors(told) } };
};

/** Its client shows this text and the status. */
const mailgunError = (told: ErrorFields): VendorAnswer => {
  const status = ERROR_STATUSES[told.code];
  const message =
    told.code === 'unauthorized'
      ? 'invalid or missing API key: send an API key of Outbox, ob_…, as the key of the user api'
      : sentencesOf(told).join('; ');
  return { status: status === UNPROCESSABLE ? 400 : status, body: { message } };
};

const ERRORS: Readonly<Record<Vendor, (told: ErrorFields) => VendorAnswer>> = {
  resend: resendError,
  postmark: postmarkError,
  sendgrid: sendgridError,
  mailgun: mailgunError,
};

/** An error in the shape that a vendor's client reads. */
export const vendorError = (vendor: Vendor, { error }: ErrorBody): VendorAnswer => ERRORS[vendor](error);
