import { POSTMARK_TOKEN_HEADER } from './compat/vendors.ts';
import { nearest } from './nearest.ts';
import {
  ADMIN,
  ADMIN_CHANGE_LIVE,
  ADMIN_LIVE,
  AUDIT,
  BODY,
  CAPTURED,
  CHALLENGE_ERRORS,
  CHANGED_LIVE,
  DASHBOARD,
  FORM_ERRORS,
  INBOX,
  INBOX_CHANGE,
  LIST,
  LOOK,
  MAIL_LINK_ERRORS,
  MANAGE,
  MANAGE_KEYS,
  MANAGE_LIVE,
  MEMBERSHIPS_ERRORS,
  OIDC_ERRORS,
  ONE,
  ONE_CHANGED,
  OPEN,
  OWN,
  OWN_PASSKEYS,
  OWN_VIEWS,
  PAGE,
  PAGE_ERRORS,
  PEOPLE,
  READ,
  RESENDING,
  type RouteRule,
  SEND,
  SENDERS_TOO,
  SENDING,
  SIGN_IN_ERRORS,
  STEP_UP,
  TRACKED_ERRORS,
  WIDENING,
} from './route-rules.ts';

/** Sends by clients of other services. */
const SENT = { ...SEND, idempotent: true, errors: [...BODY, ...SENDING] } as const;
/** Several messages: its cost is in its body. */
const SENT_BATCH = { ...SENT, costInBody: true, errors: [...SENT.errors, 'batch_exceeds_limit'] } as const;
/** It shows what a message says. */
const READ_ONE = { ...READ, contents: true, errors: [...ONE, 'content_gone'] } as const;

/** Errors of asking an address to confirm that mail is forwarded to it. */
const ASKING = ['domain_not_verified', 'organization_suspended'] as const;

/** Errors of changes of domains. */
const DOMAIN_ERRORS = [...CHANGED_LIVE, 'domain_already_exists', 'domain_is_public_suffix', 'last_admin_key'] as const;
const SUPPRESSED = { ...MANAGE, errors: [...BODY, ...ONE_CHANGED] } as const;

/** It is published, too. */
const WRITTEN_TEMPLATE = { ...MANAGE_LIVE, errors: [...CHANGED_LIVE, 'template_invalid'] } as const;

const RESEND = { compat: 'resend' } as const;
const POSTMARK = { compat: 'postmark', tokenHeader: POSTMARK_TOKEN_HEADER } as const;
const SENDGRID = { compat: 'sendgrid' } as const;
const MAILGUN = { compat: 'mailgun', basic: true } as const;

/** Every route. Drives authentication, rate limits, the OpenAPI document and the tests. */
export const ROUTES = {
  'POST /v1/messages/send': { ...SEND, status: 202, idempotent: true, errors: [...BODY, ...SENDING] },
  'POST /v1/messages/batch': {
    ...SEND,
    status: 202,
    idempotent: true,
    costInBody: true,
    errors: [...BODY, ...SENDING, 'batch_exceeds_limit'],
  },
  'POST /v1/messages/analyze': {
    ...SEND,
    errors: [...BODY, 'from_domain_mismatch', 'template_not_published', 'template_variables_invalid'],
  },
  'GET /v1/messages': { ...READ, auditors: true, addresses: true, errors: LIST },
  'GET /v1/messages/:id': { ...READ, auditors: true, addresses: true, errors: ONE },
  'GET /v1/messages/:id/content': { ...READ, contents: true, errors: [...ONE, 'content_gone'] },
  'GET /v1/messages/:id/preview': { ...READ, contents: true, secret: true, errors: [...ONE, 'content_gone'] },
  'GET /v1/messages/:id/raw': { ...READ, contents: true, secret: true, errors: [...ONE, 'content_gone'] },
  'GET /v1/messages/:id/events': { ...READ, auditors: true, addresses: true, errors: [...ONE, ...LIST] },
  'GET /v1/messages/:id/explain': { ...READ, auditors: true, addresses: true, errors: ONE },
  'POST /v1/messages/:id/cancel': { ...SEND, errors: [...BODY, ...ONE_CHANGED, 'message_being_sent', 'message_ended'] },
  'POST /v1/messages/:id/resend': {
    ...SEND,
    status: 202,
    errors: [...BODY, ...ONE_CHANGED, ...RESENDING],
  },
  'POST /v1/messages/resend': {
    ...SEND,
    errors: [...BODY, 'batch_exceeds_limit'],
  },
  'POST /v1/messages/cancel': { ...SEND, errors: [...BODY, 'batch_exceeds_limit'] },
  'PATCH /v1/messages/:id': {
    ...SEND,
    errors: [
      ...BODY,
      ...ONE_CHANGED,
      'message_being_sent',
      'message_ended',
      'message_not_scheduled',
      'schedule_not_possible',
    ],
  },

  'POST /v1/api-keys': { ...MANAGE_KEYS, status: 201, secret: true, errors: [...BODY, ...ONE, ...WIDENING] },
  'GET /v1/api-keys': { ...LOOK, auditors: true, errors: LIST },
  'GET /v1/api-keys/:id': { ...LOOK, auditors: true, errors: ONE },
  'PATCH /v1/api-keys/:id': {
    ...MANAGE_KEYS,
    errors: [...BODY, ...ONE_CHANGED, 'wider_than_own_key', 'key_not_active', 'last_admin_key'],
  },
  'DELETE /v1/api-keys/:id': { ...MANAGE_KEYS, status: 204, errors: [...BODY, ...ONE_CHANGED, 'last_admin_key'] },
  'GET /v1/api-keys/:id/history': { ...LOOK, auditors: true, errors: [...ONE, ...LIST] },
  'GET /v1/api-keys/:id/secrets': { ...LOOK, auditors: true, errors: [...ONE, ...LIST] },
  'POST /v1/api-keys/:id/rotate': {
    ...MANAGE_KEYS,
    secret: true,
    errors: [...BODY, ...ONE_CHANGED, ...WIDENING, 'key_not_active', 'too_many_live_secrets'],
  },
  'POST /v1/api-keys/:id/revoke': {
    ...MANAGE_KEYS,
    errors: [...BODY, ...ONE_CHANGED, 'environment_not_allowed', 'key_not_active', 'last_admin_key'],
  },

  'POST /v1/domains': {
    ...MANAGE_LIVE,
    status: 201,
    errors: [
      ...BODY,
      'environment_not_allowed',
      'domain_already_exists',
      'domain_is_public_suffix',
      'resource_conflict',
    ],
  },
  'PATCH /v1/domains/:id': { ...MANAGE_LIVE, errors: CHANGED_LIVE },
  'DELETE /v1/domains/:id': { ...MANAGE_LIVE, status: 204, errors: [...CHANGED_LIVE, 'last_admin_key'] },
  'GET /v1/domains': { ...LOOK, auditors: true, errors: LIST },
  'GET /v1/domains/:id': { ...LOOK, auditors: true, errors: ONE },
  'GET /v1/domains/:id/reputation': { ...LOOK, errors: ONE },
  'POST /v1/domains/:id/release': {
    ...ADMIN_CHANGE_LIVE,
    errors: [...BODY, ...ONE, 'environment_not_allowed', 'resource_conflict'],
  },
  'GET /v1/domains/:id/warm-up': { ...LOOK, errors: ONE },
  'PUT /v1/domains/:id/warm-up': {
    ...MANAGE_LIVE,
    errors: [...BODY, ...ONE, 'environment_not_allowed', 'resource_conflict'],
  },
  'DELETE /v1/domains/:id/warm-up': {
    ...MANAGE_LIVE,
    status: 204,
    errors: [...BODY, ...ONE, 'environment_not_allowed', 'resource_conflict'],
  },
  'POST /v1/domains/:id/dkim/rotate': { ...MANAGE_LIVE, errors: CHANGED_LIVE },
  'POST /v1/domains/:id/verify': { ...MANAGE_LIVE, errors: [...CHANGED_LIVE, 'domain_already_exists'] },

  'POST /v1/webhooks': { ...MANAGE, status: 201, secret: true, errors: [...BODY, ...ONE, 'too_many_webhooks'] },
  'GET /v1/webhooks': { ...LOOK, auditors: true, errors: LIST },
  'GET /v1/webhooks/:id': { ...LOOK, auditors: true, errors: ONE },
  'PATCH /v1/webhooks/:id': { ...MANAGE, errors: [...BODY, ...ONE_CHANGED, 'webhook_disabled'] },
  'POST /v1/webhooks/:id/adopt': { ...MANAGE, errors: [...BODY, ...ONE_CHANGED, 'wider_than_own_key'] },
  'POST /v1/webhooks/:id/rotate-secret': {
    ...MANAGE,
    secret: true,
    errors: [...BODY, ...ONE_CHANGED, 'too_many_live_secrets'],
  },
  'POST /v1/webhooks/:id/ping': { ...MANAGE, status: 202, errors: [...BODY, ...ONE_CHANGED, 'webhook_disabled'] },
  'DELETE /v1/webhooks/:id': { ...MANAGE, status: 204, errors: [...BODY, ...ONE_CHANGED] },
  'GET /v1/webhooks/:id/deliveries': { ...LOOK, errors: [...ONE, ...LIST] },
  'GET /v1/webhooks/:id/deliveries/:delivery': { ...LOOK, addresses: true, errors: ONE },
  'POST /v1/webhooks/:id/replay': {
    ...MANAGE,
    status: 202,
    errors: [...BODY, ...ONE, ...LIST, 'webhook_disabled', 'resource_conflict'],
  },
  'GET /v1/webhooks/:id/replays': { ...LOOK, errors: [...ONE, ...LIST] },
  'GET /v1/webhooks/:id/replays/:replay': { ...LOOK, errors: ONE },
  'DELETE /v1/webhooks/:id/replays/:replay': { ...MANAGE, status: 204, errors: [...BODY, ...ONE] },
  'POST /v1/webhooks/:id/deliveries/:delivery/resend': {
    ...MANAGE,
    status: 202,
    errors: [...BODY, ...ONE, 'webhook_disabled'],
  },

  'POST /v1/templates': {
    ...MANAGE_LIVE,
    status: 201,
    errors: [...BODY, 'environment_not_allowed', 'resource_conflict'],
  },
  'GET /v1/templates': { ...LOOK, auditors: true, errors: LIST },
  'GET /v1/templates/:id': { ...LOOK, auditors: true, errors: ONE },
  'PATCH /v1/templates/:id': { ...MANAGE_LIVE, errors: CHANGED_LIVE },
  'DELETE /v1/templates/:id': { ...MANAGE_LIVE, status: 204, errors: CHANGED_LIVE },
  'POST /v1/templates/:id/publish': { ...MANAGE_LIVE, errors: [...CHANGED_LIVE, 'template_invalid'] },
  'POST /v1/templates/:id/rollback': { ...MANAGE_LIVE, errors: CHANGED_LIVE },
  'GET /v1/templates/:id/versions': { ...LOOK, auditors: true, errors: [...ONE, ...LIST] },
  'GET /v1/templates/:id/versions/:version': { ...LOOK, errors: ONE },
  'GET /v1/templates/:id/versions/:version/diff': { ...LOOK, errors: ONE },
  'POST /v1/templates/:id/render': {
    ...LOOK,
    errors: [...BODY, ...ONE, 'template_invalid', 'template_variables_invalid'],
  },
  'GET /v1/templates/:id/preview': {
    ...LOOK,
    secret: true,
    errors: [...ONE, 'template_invalid', 'template_variables_invalid'],
  },
  'POST /v1/templates/:id/test-send': {
    ...SEND,
    status: 202,
    errors: [
      ...BODY,
      ...ONE,
      'organization_suspended',
      'from_domain_mismatch',
      'domain_not_verified',
      'quota_exceeded',
      'template_invalid',
      'template_variables_invalid',
    ],
  },

  'POST /v1/suppressions': { ...MANAGE, status: 201, errors: [...BODY, ...ONE, 'resource_conflict'] },
  'GET /v1/suppressions': { ...READ, auditors: true, addresses: true, errors: LIST },
  'GET /v1/suppressions/check': { ...READ, contents: true, addresses: true, errors: [] },
  'GET /v1/suppressions/export': { ...READ, contents: true, errors: [] },
  'POST /v1/suppressions/import': { ...MANAGE, errors: BODY },
  'GET /v1/suppressions/:id': { ...READ, auditors: true, addresses: true, errors: ONE },
  'DELETE /v1/suppressions/:id': { ...MANAGE, status: 204, errors: [...BODY, ...ONE_CHANGED] },

  'POST /v1/topics': {
    ...MANAGE_LIVE,
    status: 201,
    errors: [...BODY, ...ONE, 'environment_not_allowed', 'too_many_topics'],
  },
  'POST /v1/topics/:id/opt-ins': { ...MANAGE, errors: [...BODY, ...ONE, 'resource_conflict'] },
  'GET /v1/topics/:id/opt-ins': { ...READ, addresses: true, errors: [...ONE, ...LIST] },
  'GET /v1/topics': { ...LOOK, errors: LIST },
  'GET /v1/topics/:id': { ...LOOK, errors: ONE },
  'PATCH /v1/topics/:id': { ...MANAGE_LIVE, errors: CHANGED_LIVE },
  'DELETE /v1/topics/:id': { ...MANAGE_LIVE, status: 204, errors: CHANGED_LIVE },

  'GET /v1/inbound': { ...READ, addresses: true, errors: LIST },
  'POST /v1/inbound/test': { ...SEND, status: 201, contents: true, errors: [...BODY, 'content_gone'] },
  'GET /v1/inbound/:id': READ_ONE,
  'GET /v1/inbound/:id/preview': { ...READ_ONE, secret: true },
  'GET /v1/inbound/:id/raw': { ...READ_ONE, secret: true },
  'GET /v1/inbound/:id/attachments/:place': { ...READ_ONE, secret: true },
  'GET /v1/inbound/:id/deliveries': { ...LOOK, errors: ONE },

  'POST /v1/inbound/:id/resend': {
    ...MANAGE,
    status: 202,
    errors: [...BODY, ...ONE, 'webhook_disabled'],
  },

  'POST /v1/inbound-routes': {
    ...MANAGE_LIVE,
    status: 201,
    errors: [...BODY, ...ONE, ...ASKING, 'environment_not_allowed', 'too_many_inbound_routes'],
  },
  'POST /v1/inbound-routes/:id/confirmations': {
    ...MANAGE_LIVE,
    errors: [...BODY, ...ONE, ...ASKING, 'environment_not_allowed'],
  },
  'GET /v1/inbound-routes': { ...LOOK, errors: [...ONE, ...LIST] },
  'GET /v1/inbound-routes/:id': { ...LOOK, errors: ONE },
  'PATCH /v1/inbound-routes/:id': { ...MANAGE_LIVE, errors: [...CHANGED_LIVE, ...ASKING] },
  'DELETE /v1/inbound-routes/:id': { ...MANAGE_LIVE, status: 204, errors: CHANGED_LIVE },

  'GET /v1/session': { ...OWN, mail: 'none', errors: [] },
  'GET /v1/session/operations': { ...OWN, mail: 'none', errors: [] },
  'GET /v1/session/views': { ...OWN_VIEWS, errors: [] },
  'PUT /v1/session/views': { ...OWN_VIEWS, errors: BODY },
  'DELETE /v1/session': { ...READ, status: 204, ownSession: true, errors: BODY },
  'POST /v1/session/presence': {
    ...READ,
    mail: 'none',
    ownSession: true,
    membersOnly: true,
    secret: true,
    errors: [...BODY, 'sign_in_link_invalid', 'passkey_invalid', 'resource_conflict'],
  },
  'GET /v1/passkeys': { ...OWN_PASSKEYS, errors: ['not_found', 'environment_not_allowed'] },
  'POST /v1/passkeys': {
    ...OWN_PASSKEYS,
    kind: 'manage',
    presence: 'unlessFirst',
    status: 201,
    errors: [...BODY, 'not_found', 'environment_not_allowed', 'too_many_passkeys', 'resource_conflict'],
  },
  'DELETE /v1/passkeys/:passkey': {
    ...OWN_PASSKEYS,
    kind: 'manage',
    presence: 'always',
    status: 204,
    errors: [...BODY, 'not_found', 'environment_not_allowed', 'resource_conflict'],
  },
  'GET /v1/members': { ...PEOPLE, auditors: true, errors: ['environment_not_allowed'] },
  'POST /v1/members': {
    ...STEP_UP,
    status: 201,
    secret: true,
    errors: [
      ...BODY,
      'environment_not_allowed',
      'member_already_exists',
      'too_many_members',
      'wider_than_own_key',
      'resource_conflict',
    ],
  },
  'GET /v1/members/:id': { ...PEOPLE, auditors: true, errors: ['not_found', 'environment_not_allowed'] },
  'PATCH /v1/members/:id': {
    ...STEP_UP,
    errors: [...BODY, 'not_found', 'environment_not_allowed', 'wider_than_own_key', 'last_owner', 'resource_conflict'],
  },
  'DELETE /v1/members/:id': {
    ...STEP_UP,
    status: 204,
    errors: [...BODY, 'not_found', 'environment_not_allowed', 'last_owner', 'resource_conflict'],
  },
  'POST /v1/members/:id/links': {
    ...STEP_UP,
    status: 201,
    secret: true,
    errors: [...BODY, 'not_found', 'environment_not_allowed', 'wider_than_own_key', 'resource_conflict'],
  },
  'GET /v1/members/:id/passkeys': { ...PEOPLE, errors: ['not_found', 'environment_not_allowed'] },
  'DELETE /v1/members/:id/passkeys/:passkey': {
    ...STEP_UP,
    status: 204,
    errors: [...BODY, 'not_found', 'environment_not_allowed', 'resource_conflict'],
  },
  'GET /v1/sessions': { ...PEOPLE, errors: ['environment_not_allowed'] },
  'GET /v1/sessions/:id': { ...PEOPLE, errors: ['not_found', 'environment_not_allowed'] },
  'DELETE /v1/sessions/:id': {
    ...ADMIN_CHANGE_LIVE,
    status: 204,
    errors: [...BODY, 'not_found', 'environment_not_allowed', 'resource_conflict'],
  },
  'GET /v1/inbox': { ...INBOX, addresses: true, errors: LIST },
  'GET /v1/inbox/:id': { ...CAPTURED, secret: true },
  'GET /v1/inbox/:id/raw': { ...CAPTURED, secret: true },
  'GET /v1/inbox/:id/attachments/:place': { ...CAPTURED, secret: true },
  'DELETE /v1/inbox': { ...INBOX_CHANGE, errors: BODY },
  'DELETE /v1/inbox/:id': { ...INBOX_CHANGE, errors: [...BODY, 'not_found'] },

  'GET /v1/events': { ...READ, unattended: true, mail: 'masked', addresses: true, errors: LIST },
  'GET /v1/stats': { ...READ, mail: 'masked', ranges: true, errors: [] },
  'GET /v1/requests': { ...READ, errors: LIST },
  'GET /v1/requests/counts': { ...READ, errors: [] },
  'GET /v1/requests/:id': { ...READ, errors: ['not_found'] },
  'GET /v1/billing': { ...ADMIN, errors: [] },
  'GET /v1/billing/plans': { ...ADMIN, errors: [] },
  'PUT /v1/billing/plan': {
    ...ADMIN_CHANGE_LIVE,
    errors: [...BODY, 'resource_conflict', 'precondition_failed', 'environment_not_allowed', 'plan_not_offered'],
  },
  'GET /v1/billing/invoices': { ...ADMIN, errors: LIST },
  'GET /v1/billing/invoices/:id': { ...ADMIN, mail: 'none', errors: ONE },
  'GET /v1/billing/usage': { ...ADMIN, errors: [] },
  'GET /v1/audit/log': { ...AUDIT, searches: true, errors: [...LIST, 'environment_not_allowed'] },
  'GET /v1/audit/checkpoints': { ...AUDIT, errors: [...LIST, 'environment_not_allowed'] },
  'POST /v1/audit/checkpoints': {
    ...ADMIN_CHANGE_LIVE,
    errors: [...BODY, 'environment_not_allowed', 'not_signed_yet', 'signing_stopped'],
  },
  'GET /v1/audit/proof/:id': { ...AUDIT, errors: ['not_found', 'environment_not_allowed', 'not_signed_yet'] },
  'GET /v1/audit/disclosures/:id': {
    ...AUDIT,
    secret: true,
    contents: true,
    errors: ['not_found', 'environment_not_allowed', 'content_gone'],
  },
  'GET /v1/audit/consistency': { ...AUDIT, ranges: true, errors: ['environment_not_allowed', 'not_signed_yet'] },
  'GET /v1/audit/export': {
    ...AUDIT,
    presence: 'always',
    ranges: true,
    errors: ['environment_not_allowed', 'not_signed_yet', 'resource_conflict'],
  },
  'GET /v1/audit/tlog/:organization/checkpoint': {
    ...AUDIT,
    errors: [...ONE, 'environment_not_allowed', 'not_signed_yet'],
  },
  'GET /v1/audit/tlog/:organization/tile/*': { ...AUDIT, errors: [...ONE, 'environment_not_allowed'] },
  'GET /v1/audit/reports/access': { ...AUDIT, errors: ['environment_not_allowed'] },
  'GET /v1/audit/reports/api-keys/:id': { ...AUDIT, errors: [...ONE, 'environment_not_allowed', 'signing_stopped'] },
  'GET /v1/audit/reports/messages/:id': {
    ...ADMIN_LIVE,
    auditors: true,
    contents: true,
    errors: [...ONE, 'environment_not_allowed', 'signing_stopped'],
  },
  'POST /v1/audit/auditors': {
    ...STEP_UP,
    status: 201,
    secret: true,
    errors: [...BODY, 'environment_not_allowed', 'wider_than_own_key', 'too_many_auditors'],
  },
  'GET /v1/audit/auditors': { ...PEOPLE, auditors: true, errors: ['environment_not_allowed'] },
  'GET /v1/audit/auditors/:id': { ...PEOPLE, auditors: true, errors: [...ONE, 'environment_not_allowed'] },
  'DELETE /v1/audit/auditors/:id': { ...ADMIN_CHANGE_LIVE, status: 204, errors: CHANGED_LIVE },
  'GET /v1/destinations': { ...ADMIN_LIVE, ...SENDERS_TOO, errors: [...LIST, 'environment_not_allowed'] },
  'GET /v1/destinations/backlog': { ...ADMIN, ...SENDERS_TOO, errors: [] },
  'POST /v1/destinations/release': {
    ...ADMIN_CHANGE_LIVE,
    errors: [...BODY, 'environment_not_allowed', 'resource_conflict'],
  },
  'POST /v1/erasures': {
    ...STEP_UP,
    status: 202,
    errors: [...BODY, 'environment_not_allowed', 'resource_conflict'],
  },
  'POST /v1/erasures/preview': { ...ADMIN_CHANGE_LIVE, errors: [...BODY, 'environment_not_allowed'] },
  'GET /v1/erasures': { ...ADMIN, auditors: true, errors: LIST },
  'GET /v1/erasures/:id': { ...ADMIN, auditors: true, errors: ONE },
  'GET /v1/organization': { ...ADMIN, errors: ONE },
  'GET /v1/organization/reputation': { ...LOOK, errors: [] },
  'PATCH /v1/organization': { ...ADMIN_CHANGE_LIVE, errors: CHANGED_LIVE },
  'PUT /v1/organization/holds': { ...ADMIN_CHANGE_LIVE, errors: CHANGED_LIVE },
  'PUT /v1/organization/contents': {
    ...STEP_UP,
    membersOnly: true,
    errors: CHANGED_LIVE,
  },
  'PUT /v1/organization/bulk-mail': {
    ...ADMIN_CHANGE_LIVE,
    errors: [...BODY, 'environment_not_allowed', 'resource_conflict'],
  },
  'POST /v1/organization/release': {
    ...ADMIN_CHANGE_LIVE,
    errors: [...BODY, 'environment_not_allowed', 'resource_conflict'],
  },

  'GET /v1/search': { ...READ, searches: true, addresses: true, errors: [] },
  'GET /v1/submission': { ...READ, mail: 'none', errors: [] },
  'GET /v1/service': { ...READ, membersOnly: true, operatorsOnly: true, errors: [] },

  'POST /v1/session': { ...OPEN, secret: true, errors: SIGN_IN_ERRORS },
  'POST /v1/session/challenges': { ...OPEN, secret: true, errors: CHALLENGE_ERRORS },
  'POST /v1/session/links': { ...OPEN, status: 202, errors: MAIL_LINK_ERRORS },
  'POST /v1/session/oidc': { ...OPEN, secret: true, errors: OIDC_ERRORS },
  'POST /v1/session/memberships': { ...OPEN, secret: true, errors: MEMBERSHIPS_ERRORS },
  'GET /v1/session/methods': { ...OPEN, errors: ['invalid_request', 'header_not_allowed', 'internal_error'] },

  'POST /compat/resend/emails': { ...SENT, ...RESEND },
  'POST /compat/resend/emails/batch': { ...SENT_BATCH, ...RESEND },
  'GET /compat/resend/emails': { ...READ, ...RESEND, addresses: true, errors: LIST },
  'GET /compat/resend/emails/:id': { ...READ_ONE, ...RESEND, addresses: true },
  'PATCH /compat/resend/emails/:id': {
    ...SEND,
    ...RESEND,
    errors: [
      ...BODY,
      ...ONE_CHANGED,
      'message_being_sent',
      'message_ended',
      'message_not_scheduled',
      'schedule_not_possible',
    ],
  },
  'POST /compat/resend/emails/:id/cancel': {
    ...SEND,
    ...RESEND,
    errors: [...BODY, ...ONE_CHANGED, 'message_being_sent', 'message_ended'],
  },
  'POST /compat/resend/domains': { ...MANAGE_LIVE, ...RESEND, status: 201, errors: DOMAIN_ERRORS },
  'GET /compat/resend/domains': { ...LOOK, ...RESEND, errors: [...LIST, ...ONE] },
  'GET /compat/resend/domains/:id': { ...LOOK, ...RESEND, errors: ONE },
  'PATCH /compat/resend/domains/:id': { ...MANAGE_LIVE, ...RESEND, errors: DOMAIN_ERRORS },
  'DELETE /compat/resend/domains/:id': { ...MANAGE_LIVE, ...RESEND, errors: DOMAIN_ERRORS },
  'POST /compat/resend/domains/:id/verify': { ...MANAGE_LIVE, ...RESEND, errors: DOMAIN_ERRORS },
  'POST /compat/resend/api-keys': {
    ...MANAGE_KEYS,
    ...RESEND,
    status: 201,
    secret: true,
    errors: [...BODY, ...ONE, ...WIDENING],
  },
  'GET /compat/resend/api-keys': { ...LOOK, ...RESEND, errors: [...LIST, ...ONE] },
  'DELETE /compat/resend/api-keys/:id': {
    ...MANAGE_KEYS,
    ...RESEND,
    errors: [...BODY, ...ONE_CHANGED, 'last_admin_key'],
  },
  'POST /compat/resend/contacts': { ...SUPPRESSED, ...RESEND, status: 201 },
  'GET /compat/resend/contacts': { ...READ, ...RESEND, addresses: true, errors: LIST },
  'GET /compat/resend/contacts/:id': { ...READ, ...RESEND, addresses: true, errors: ONE },
  'PATCH /compat/resend/contacts/:id': { ...SUPPRESSED, ...RESEND },
  'DELETE /compat/resend/contacts/:id': { ...SUPPRESSED, ...RESEND },
  'POST /compat/resend/audiences/:audience/contacts': { ...SUPPRESSED, ...RESEND, status: 201 },
  'GET /compat/resend/audiences/:audience/contacts/:id': { ...READ, ...RESEND, addresses: true, errors: ONE },
  'PATCH /compat/resend/audiences/:audience/contacts/:id': { ...SUPPRESSED, ...RESEND },
  'DELETE /compat/resend/audiences/:audience/contacts/:id': { ...SUPPRESSED, ...RESEND },
  'POST /compat/resend/templates': {
    ...MANAGE_LIVE,
    ...RESEND,
    errors: [...BODY, 'environment_not_allowed', 'resource_conflict'],
  },
  'GET /compat/resend/templates': { ...LOOK, ...RESEND, errors: [...LIST, 'not_found'] },
  'GET /compat/resend/templates/:id': { ...LOOK, ...RESEND, errors: ONE },
  'PATCH /compat/resend/templates/:id': { ...MANAGE_LIVE, ...RESEND, errors: CHANGED_LIVE },
  'DELETE /compat/resend/templates/:id': { ...MANAGE_LIVE, ...RESEND, errors: CHANGED_LIVE },
  'POST /compat/resend/templates/:id/publish': { ...WRITTEN_TEMPLATE, ...RESEND },
  'POST /compat/resend/templates/:id/duplicate': { ...MANAGE_LIVE, ...RESEND, errors: CHANGED_LIVE },
  'POST /compat/resend/webhooks': {
    ...MANAGE,
    ...RESEND,
    status: 201,
    secret: true,
    errors: [...BODY, ...ONE, 'too_many_webhooks'],
  },
  'GET /compat/resend/webhooks': { ...LOOK, ...RESEND, errors: [...LIST, ...ONE] },
  'GET /compat/resend/webhooks/:id': { ...LOOK, ...RESEND, errors: ONE },
  'PATCH /compat/resend/webhooks/:id': {
    ...MANAGE,
    ...RESEND,
    errors: [...BODY, ...ONE_CHANGED, 'webhook_disabled'],
  },
  'DELETE /compat/resend/webhooks/:id': { ...MANAGE, ...RESEND, errors: [...BODY, ...ONE_CHANGED] },
  'POST /compat/resend/webhooks/:id/signing-secret/rotate': {
    ...MANAGE,
    ...RESEND,
    secret: true,
    errors: [...BODY, ...ONE_CHANGED, 'too_many_live_secrets'],
  },
  'POST /compat/postmark/email': { ...SENT, ...POSTMARK },
  'POST /compat/postmark/email/batch': { ...SENT_BATCH, ...POSTMARK },
  'POST /compat/postmark/email/withTemplate': { ...SENT, ...POSTMARK },
  'POST /compat/postmark/email/batchWithTemplates': { ...SENT_BATCH, ...POSTMARK },
  'GET /compat/postmark/messages/outbound/:id/details': { ...READ_ONE, ...POSTMARK, addresses: true },
  'GET /compat/postmark/messages/outbound/:id/dump': { ...READ_ONE, ...POSTMARK, addresses: true },
  'GET /compat/postmark/messages/outbound': { ...READ, ...POSTMARK, addresses: true, errors: LIST },
  'GET /compat/postmark/messages/outbound/opens': { ...READ, ...POSTMARK, addresses: true, errors: LIST },
  'GET /compat/postmark/messages/outbound/opens/:id': { ...READ, ...POSTMARK, addresses: true, errors: LIST },
  'GET /compat/postmark/messages/outbound/clicks': { ...READ, ...POSTMARK, addresses: true, errors: LIST },
  'GET /compat/postmark/messages/outbound/clicks/:id': { ...READ, ...POSTMARK, addresses: true, errors: LIST },
  'GET /compat/postmark/bounces': { ...READ, ...POSTMARK, addresses: true, errors: LIST },
  'GET /compat/postmark/bounces/:id': { ...READ, ...POSTMARK, addresses: true, errors: ONE },
  'GET /compat/postmark/stats/outbound': { ...READ, ...POSTMARK, ranges: true, errors: [] },
  'GET /compat/postmark/stats/outbound/sends': { ...READ, ...POSTMARK, ranges: true, errors: [] },
  'GET /compat/postmark/stats/outbound/bounces': { ...READ, ...POSTMARK, ranges: true, errors: [] },
  'GET /compat/postmark/stats/outbound/spam': { ...READ, ...POSTMARK, ranges: true, errors: [] },
  'GET /compat/postmark/stats/outbound/opens': { ...READ, ...POSTMARK, ranges: true, errors: [] },
  'GET /compat/postmark/stats/outbound/clicks': { ...READ, ...POSTMARK, ranges: true, errors: [] },
  'GET /compat/postmark/deliveryStats': { ...READ, ...POSTMARK, errors: LIST },
  'GET /compat/postmark/message-streams/:stream/suppressions/dump': {
    ...READ,
    ...POSTMARK,
    contents: true,
    addresses: true,
    errors: LIST,
  },
  'POST /compat/postmark/message-streams/:stream/suppressions': { ...SUPPRESSED, ...POSTMARK },
  'POST /compat/postmark/message-streams/:stream/suppressions/delete': { ...SUPPRESSED, ...POSTMARK },
  'GET /compat/postmark/templates': { ...LOOK, ...POSTMARK, errors: LIST },
  'POST /compat/postmark/templates': { ...WRITTEN_TEMPLATE, ...POSTMARK },
  'GET /compat/postmark/templates/:id': { ...LOOK, ...POSTMARK, errors: ONE },
  'PUT /compat/postmark/templates/:id': { ...WRITTEN_TEMPLATE, ...POSTMARK },
  'DELETE /compat/postmark/templates/:id': { ...MANAGE_LIVE, ...POSTMARK, errors: CHANGED_LIVE },
  'POST /compat/sendgrid/v3/mail/send': { ...SENT_BATCH, ...SENDGRID, status: 202 },
  'GET /compat/sendgrid/v3/suppression/:list': {
    ...READ,
    ...SENDGRID,
    contents: true,
    addresses: true,
    errors: [...LIST, 'not_found'],
  },
  'GET /compat/sendgrid/v3/suppression/:list/:id': {
    ...READ,
    ...SENDGRID,
    contents: true,
    addresses: true,
    errors: ONE,
  },
  'DELETE /compat/sendgrid/v3/suppression/:list': { ...SUPPRESSED, ...SENDGRID, status: 204 },
  'DELETE /compat/sendgrid/v3/suppression/:list/:id': { ...SUPPRESSED, ...SENDGRID, status: 204 },
  'POST /compat/sendgrid/v3/asm/suppressions/global': { ...SUPPRESSED, ...SENDGRID, status: 201 },
  'GET /compat/sendgrid/v3/asm/suppressions/global/:id': {
    ...READ,
    ...SENDGRID,
    contents: true,
    addresses: true,
    errors: ONE,
  },
  'DELETE /compat/sendgrid/v3/asm/suppressions/global/:id': { ...SUPPRESSED, ...SENDGRID, status: 204 },
  'GET /compat/sendgrid/v3/stats': { ...READ, ...SENDGRID, errors: [] },
  'GET /compat/sendgrid/v3/categories/stats': { ...READ, ...SENDGRID, errors: [] },
  'GET /compat/sendgrid/v3/templates': { ...LOOK, ...SENDGRID, errors: LIST },
  'POST /compat/sendgrid/v3/templates': { ...WRITTEN_TEMPLATE, ...SENDGRID, status: 201 },
  'GET /compat/sendgrid/v3/templates/:id': { ...LOOK, ...SENDGRID, errors: ONE },
  'PATCH /compat/sendgrid/v3/templates/:id': { ...MANAGE_LIVE, ...SENDGRID, errors: CHANGED_LIVE },
  'DELETE /compat/sendgrid/v3/templates/:id': { ...MANAGE_LIVE, ...SENDGRID, status: 204, errors: CHANGED_LIVE },
  'POST /compat/sendgrid/v3/templates/:id/versions': { ...WRITTEN_TEMPLATE, ...SENDGRID, status: 201 },
  'GET /compat/sendgrid/v3/templates/:id/versions/:version': { ...LOOK, ...SENDGRID, errors: ONE },
  'PATCH /compat/sendgrid/v3/templates/:id/versions/:version': { ...WRITTEN_TEMPLATE, ...SENDGRID },
  'DELETE /compat/sendgrid/v3/templates/:id/versions/:version': { ...MANAGE_LIVE, ...SENDGRID, errors: CHANGED_LIVE },
  'POST /compat/sendgrid/v3/templates/:id/versions/:version/activate': {
    ...MANAGE_LIVE,
    ...SENDGRID,
    errors: CHANGED_LIVE,
  },
  'POST /compat/mailgun/v3/:domain/messages': { ...SENT, ...MAILGUN, errors: [...SENT.errors, 'not_found'] },
  'GET /compat/mailgun/v3/:domain/events': { ...READ, ...MAILGUN, errors: [...LIST, 'not_found'] },
  'GET /compat/mailgun/v3/:domain/events/:id': { ...READ, ...MAILGUN, errors: [...LIST, 'not_found'] },
  'GET /compat/mailgun/v3/:domain/stats/total': { ...READ, ...MAILGUN, errors: ['not_found'] },
  'GET /compat/mailgun/v3/:domain/:list': { ...READ, ...MAILGUN, contents: true, errors: [...LIST, 'not_found'] },
  'POST /compat/mailgun/v3/:domain/:list': { ...SUPPRESSED, ...MAILGUN },
  'GET /compat/mailgun/v3/:domain/:list/:id': { ...READ, ...MAILGUN, contents: true, errors: ONE },
  'DELETE /compat/mailgun/v3/:domain/:list/:id': { ...SUPPRESSED, ...MAILGUN },
  'GET /compat/mailgun/v4/domains': { ...LOOK, ...MAILGUN, errors: LIST },
  'GET /compat/mailgun/v3/domains': { ...LOOK, ...MAILGUN, errors: LIST },
  'GET /compat/mailgun/v4/domains/:domain': { ...LOOK, ...MAILGUN, errors: ONE },
  'GET /compat/mailgun/v3/domains/:domain': { ...LOOK, ...MAILGUN, errors: ONE },
  'PUT /compat/mailgun/v3/domains/:domain/verify': { ...MANAGE_LIVE, ...MAILGUN, errors: DOMAIN_ERRORS },
  'PUT /compat/mailgun/v4/domains/:domain/verify': { ...MANAGE_LIVE, ...MAILGUN, errors: DOMAIN_ERRORS },

  'GET /unsubscribe/:token': { ...PAGE, errors: PAGE_ERRORS },
  'POST /unsubscribe/:token': { ...PAGE, errors: FORM_ERRORS },
  'GET /c/:token': { ...PAGE, status: 302, errors: TRACKED_ERRORS },
  'GET /o/:token': { ...PAGE, errors: TRACKED_ERRORS },
  'GET /view/:token': { ...PAGE, errors: [...PAGE_ERRORS, 'content_gone', 'link_suspended'] },
  'GET /inbound-attachments/:token': {
    ...OPEN,
    secret: true,
    errors: [
      'invalid_request',
      'header_not_allowed',
      'not_found',
      'content_gone',
      'link_suspended',
      'rate_limit_exceeded',
      'internal_error',
      'unavailable',
    ],
  },
  'GET /preferences/:token': { ...PAGE, errors: PAGE_ERRORS },
  'POST /preferences/:token': { ...PAGE, errors: FORM_ERRORS },

  'GET /forward/:token': { ...PAGE, errors: PAGE_ERRORS },
  'POST /forward/:token': { ...PAGE, errors: FORM_ERRORS },

  'GET /dashboard': { ...DASHBOARD, errors: [] },
  'GET /dashboard/:screen': { ...DASHBOARD, errors: [] },
  'GET /dashboard/:screen/:id': { ...DASHBOARD, errors: [] },
  'GET /dashboard/assets/:name': { ...DASHBOARD, errors: [] },

  'GET /.well-known/outbox-audit/:organization': {
    ...OPEN,
    errors: ['not_found', 'rate_limit_exceeded', 'internal_error', 'unavailable'],
  },
  'GET /': { ...OPEN, status: 302, errors: [] },
  'GET /livez': { ...OPEN, errors: [] },
  'GET /readyz': { ...OPEN, errors: ['unavailable'] },
  'GET /openapi.json': { ...OPEN, errors: [] },
  'GET /docs': { ...OPEN, errors: [] },
  'GET /docs/:page': { ...OPEN, errors: ['not_found'] },
} as const satisfies Readonly<Record<string, RouteRule>>;

export type RouteName = keyof typeof ROUTES;
export type GuardedRouteName = {
  [Name in RouteName]: (typeof ROUTES)[Name]['permission'] extends null ? never : Name;
}[RouteName];

/** Routes of the API itself that need no key. */
export type PublicRouteName =
  | Exclude<Extract<RouteName, `POST /v1/session${string}`>, GuardedRouteName>
  | 'GET /v1/session/methods'
  | 'GET /inbound-attachments/:token';

export type PageName = {
  [Name in RouteName]: (typeof ROUTES)[Name] extends { readonly page: true } ? Name : never;
}[RouteName];

export const isRouteName = (name: string): name is RouteName => Object.hasOwn(ROUTES, name);

/** Splits `GET /v1/messages/:id`. */
export const methodAndUrl = (name: RouteName): { readonly method: string; readonly url: string } => {
  const [method = '', url = ''] = name.split(' ');
  return { method, url };
};

/** Methods of a path, in the order of the table; empty: no such path. */
export const methodsOf = (path: string): readonly string[] => {
  const named = PATHS.filter(({ url }) => url === path);
  const found = named.length > 0 ? named : PATHS.filter(({ pattern }) => pattern.test(path));
  return [...new Set(found.map(({ method }) => method))];
};

/**
 * Whether a path without parameters was matched by another route's `:id` because of its method: `GET
 * /v1/messages/send`.
 */
export const isNamedElsewhere = (path: string, routeUrl: string | undefined): boolean =>
  routeUrl?.includes(':') === true && NAMED.has(path);

const PATHS = Object.keys(ROUTES)
  .filter(isRouteName)
  .map((name) => ({ name, ...methodAndUrl(name) }))
  .map(({ name, method, url }) => ({
    name,
    method,
    url,
    pattern: new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+').replace('*', '.+')}$`),
  }));

const ID = /^[a-z]{2,4}_[0-9a-z]+$/;
/** Without `/v1/`: its letters would make a wrong guess look similar. */
const API_PATHS = [...new Set(PATHS.map(({ url }) => url))]
  .filter((url) => url.startsWith('/v1/'))
  .map((url) => url.slice('/v1/'.length));

/** The API path that a misspelled path most likely means, with the ids of that path; undefined: none is similar. */
export const similarPath = (path: string): string | undefined => {
  const segments = path.replace(/^\/*(?:v1)?\/*/i, '').split('/');
  const ids = segments.filter((segment) => ID.test(segment));
  const similar = nearest(segments.map((segment) => (ID.test(segment) ? ':id' : segment)).join('/'), API_PATHS);
  return similar && `/v1/${similar.replaceAll(/:\w+/g, (parameter) => ids.shift() ?? `{${parameter.slice(1)}}`)}`;
};

/** Paths without a parameter. */
const NAMED: ReadonlySet<string> = new Set(PATHS.map(({ url }) => url).filter((url) => !url.includes(':')));

const PAGES = PATHS.filter(({ name }) => 'page' in ROUTES[name]);

/** Whether the URL is of a page for people, with any method. */
export const isPage = (url: string): boolean => {
  const [path = ''] = url.split('?');
  return PAGES.some(({ pattern }) => pattern.test(path));
};
