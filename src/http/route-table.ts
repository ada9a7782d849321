import type { Permission } from '../domain/api-key/events.ts';
import type { Environment } from '../domain/environment.ts';
import type { ErrorCode } from '../domain/error-catalogue.ts';
import type { ActionKind } from '../domain/rate-limits.ts';

/** What a route requires of a key, and which rate limit it counts against. */
export interface GuardedRoute {
  readonly permission: Permission;
  /** Which of the key's limits it counts against. */
  readonly kind: ActionKind;
  readonly environments: readonly Environment[];
  /** Status of success. */
  readonly status: 200 | 201 | 202 | 204;
  /** Error codes besides `GUARDED_ERRORS`. */
  readonly errors: readonly ErrorCode[];
  /** Takes an `Idempotency-Key`; every other route refuses the header. */
  readonly idempotent?: true;
  /** The response holds a secret and must not be cached. */
  readonly secret?: true;
  /** Its cost depends on its body: over the limit, the body is read before the request is refused. */
  readonly costInBody?: true;
}

/** Needs no key. */
interface PublicRoute {
  readonly permission: null;
  readonly status: 200 | 302;
  readonly errors: readonly ErrorCode[];
  /** For people: errors are pages too. */
  readonly page?: true;
}

export type RouteRule = GuardedRoute | PublicRoute;

/** Error codes of every route that needs a key. */
export const GUARDED_ERRORS = [
  'invalid_request',
  'header_not_allowed',
  'unauthorized',
  'permission_missing',
  'address_not_allowed',
  'rate_limit_exceeded',
  'internal_error',
  'unavailable',
] as const satisfies readonly ErrorCode[];

const BOTH = ['live', 'test'] as const;
const LIVE = ['live'] as const;
const BODY = ['invalid_json', 'body_too_large', 'unsupported_media_type'] as const;
const ONE = ['not_found', 'other_organization'] as const;
const ONE_CHANGED = [...ONE, 'resource_conflict', 'precondition_failed'] as const;
/** Errors of changes that may widen a key. */
const WIDENING = ['environment_not_allowed', 'wider_than_own_key'] as const;
const LIST = ['invalid_cursor'] as const;
const SENDING = [
  'invalid_html',
  'from_domain_mismatch',
  'domain_not_verified',
  'schedule_not_possible',
  'analysis_failed',
  'idempotency_key_reused',
] as const;

const SEND = { permission: 'send', kind: 'send', environments: BOTH } as const;
const READ = { permission: 'read', kind: 'read', environments: BOTH, status: 200 } as const;
const MANAGE = { permission: 'manage', kind: 'manage', environments: BOTH } as const;
const MANAGE_LIVE = { ...MANAGE, environments: LIVE } as const;
/** Reads of resources that `manage` manages. */
const LOOK = { permission: 'manage', kind: 'read', environments: BOTH, status: 200 } as const;
const ADMIN = { permission: 'admin', kind: 'read', environments: BOTH, status: 200 } as const;
/** Changes by `admin`, which only live keys may make. */
const ADMIN_CHANGE_LIVE = { permission: 'admin', kind: 'manage', environments: LIVE, status: 200 } as const;
const OPEN = { permission: null, status: 200 } as const;
const PAGE = { ...OPEN, page: true } as const;
const PAGE_ERRORS = ['not_found', 'rate_limit_exceeded', 'internal_error', 'unavailable'] as const;

/** Every route. Drives authentication, rate limits, the OpenAPI document and the tests. */
export const ROUTES = {
  'POST /v1/messages/send': {
    ...SEND,
    status: 202,
    idempotent: true,
    errors: [...BODY, ...SENDING],
  },
  'POST /v1/messages/batch': {
    ...SEND,
    status: 202,
    idempotent: true,
    costInBody: true,
    errors: [...BODY, ...SENDING, 'batch_exceeds_limit'],
  },
  'POST /v1/messages/analyze': { ...SEND, status: 200, errors: [...BODY, 'from_domain_mismatch'] },
  'GET /v1/messages': { ...READ, errors: LIST },
  'GET /v1/messages/:id': { ...READ, errors: ONE },
  'GET /v1/messages/:id/content': { ...READ, errors: ONE },
  'GET /v1/messages/:id/events': { ...READ, errors: [...ONE, ...LIST] },
  'GET /v1/messages/:id/explain': { ...READ, errors: ONE },
  'POST /v1/messages/:id/cancel': {
    ...SEND,
    status: 200,
    errors: [...BODY, ...ONE_CHANGED, 'message_being_sent', 'message_ended'],
  },
  'PATCH /v1/messages/:id': {
    ...SEND,
    status: 200,
    errors: [
      ...BODY,
      ...ONE_CHANGED,
      'message_being_sent',
      'message_ended',
      'message_not_scheduled',
      'schedule_not_possible',
    ],
  },

  'POST /v1/api-keys': {
    ...MANAGE,
    status: 201,
    secret: true,
    errors: [...BODY, ...ONE, ...WIDENING],
  },
  'GET /v1/api-keys': { ...LOOK, errors: LIST },
  'GET /v1/api-keys/:id': { ...LOOK, errors: ONE },
  'PATCH /v1/api-keys/:id': {
    ...MANAGE,
    status: 200,
    errors: [...BODY, ...ONE_CHANGED, 'wider_than_own_key', 'key_not_active', 'last_admin_key'],
  },
  'DELETE /v1/api-keys/:id': { ...MANAGE, status: 204, errors: [...BODY, ...ONE_CHANGED, 'last_admin_key'] },
  'GET /v1/api-keys/:id/history': { ...LOOK, errors: [...ONE, ...LIST] },
  'POST /v1/api-keys/:id/rotate': {
    ...MANAGE,
    status: 200,
    secret: true,
    errors: [...BODY, ...ONE_CHANGED, ...WIDENING, 'key_not_active', 'too_many_live_secrets'],
  },
  'POST /v1/api-keys/:id/revoke': {
    ...MANAGE,
    status: 200,
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
  'DELETE /v1/domains/:id': {
    ...MANAGE_LIVE,
    status: 204,
    errors: [...BODY, ...ONE_CHANGED, 'environment_not_allowed', 'last_admin_key'],
  },
  'GET /v1/domains': { ...LOOK, errors: LIST },
  'GET /v1/domains/:id': { ...LOOK, errors: ONE },
  'GET /v1/domains/:id/standing': { ...LOOK, errors: ONE },
  'POST /v1/domains/:id/release': {
    ...ADMIN_CHANGE_LIVE,
    errors: [...BODY, ...ONE, 'environment_not_allowed', 'resource_conflict'],
  },
  'GET /v1/domains/:id/warm-up': { ...LOOK, errors: ONE },
  'PUT /v1/domains/:id/warm-up': {
    ...MANAGE_LIVE,
    status: 200,
    errors: [...BODY, ...ONE, 'environment_not_allowed', 'resource_conflict'],
  },
  'DELETE /v1/domains/:id/warm-up': {
    ...MANAGE_LIVE,
    status: 204,
    errors: [...BODY, ...ONE, 'environment_not_allowed', 'resource_conflict'],
  },
  'POST /v1/domains/:id/dkim/rotate': {
    ...MANAGE_LIVE,
    status: 200,
    errors: [...BODY, ...ONE_CHANGED, 'environment_not_allowed'],
  },
  'POST /v1/domains/:id/verify': {
    ...MANAGE_LIVE,
    status: 200,
    errors: [...BODY, ...ONE_CHANGED, 'environment_not_allowed', 'domain_already_exists'],
  },

  'POST /v1/webhooks': { ...MANAGE, status: 201, secret: true, errors: BODY },
  'GET /v1/webhooks': { ...LOOK, errors: LIST },
  'GET /v1/webhooks/:id': { ...LOOK, errors: ONE },
  'DELETE /v1/webhooks/:id': { ...MANAGE, status: 204, errors: [...BODY, ...ONE_CHANGED] },
  'GET /v1/webhooks/:id/deliveries': { ...LOOK, errors: [...ONE, ...LIST] },

  'POST /v1/suppressions': { ...MANAGE, status: 201, errors: [...BODY, 'resource_conflict'] },
  'GET /v1/suppressions': { ...READ, errors: LIST },
  'GET /v1/suppressions/check': { ...READ, errors: [] },
  'GET /v1/suppressions/export': { ...READ, errors: [] },
  'POST /v1/suppressions/import': { ...MANAGE, status: 200, errors: BODY },
  'GET /v1/suppressions/:id': { ...READ, errors: ONE },
  'DELETE /v1/suppressions/:id': { ...MANAGE, status: 204, errors: [...BODY, ...ONE_CHANGED] },

  'GET /v1/events': { ...READ, errors: LIST },
  'GET /v1/stats': { ...READ, errors: [] },
  'GET /v1/billing': { ...ADMIN, errors: [] },
  'GET /v1/billing/usage': { ...ADMIN, errors: [] },
  'GET /v1/inbox': { ...ADMIN, errors: LIST },
  'DELETE /v1/inbox': { permission: 'admin', kind: 'manage', environments: BOTH, status: 204, errors: BODY },
  'GET /v1/destinations': { ...ADMIN, environments: LIVE, errors: [...LIST, 'environment_not_allowed'] },
  'POST /v1/destinations/release': {
    ...ADMIN_CHANGE_LIVE,
    errors: [...BODY, 'environment_not_allowed', 'resource_conflict'],
  },
  'GET /v1/organization': { ...ADMIN, errors: ONE },
  'GET /v1/organization/standing': { ...LOOK, errors: [] },
  'POST /v1/organization/release': {
    ...ADMIN_CHANGE_LIVE,
    errors: [...BODY, 'environment_not_allowed', 'resource_conflict'],
  },

  'GET /unsubscribe/:token': { ...PAGE, errors: PAGE_ERRORS },
  'POST /unsubscribe/:token': {
    ...PAGE,
    errors: [...PAGE_ERRORS, 'invalid_request', 'resource_conflict', 'body_too_large', 'unsupported_media_type'],
  },

  'GET /': { ...OPEN, status: 302, errors: [] },
  'GET /livez': { ...OPEN, errors: [] },
  'GET /readyz': { ...OPEN, errors: ['unavailable'] },
  'GET /openapi.json': { ...OPEN, errors: [] },
  'GET /docs': { ...OPEN, errors: [] },
} as const satisfies Readonly<Record<string, RouteRule>>;

export type RouteName = keyof typeof ROUTES;
export type GuardedRouteName = {
  [Name in RouteName]: (typeof ROUTES)[Name]['permission'] extends null ? never : Name;
}[RouteName];

export type PageName = {
  [Name in RouteName]: (typeof ROUTES)[Name] extends { readonly page: true } ? Name : never;
}[RouteName];

export const isRouteName = (name: string): name is RouteName => Object.hasOwn(ROUTES, name);

/** Splits `GET /v1/messages/:id`. */
export const methodAndUrl = (name: RouteName): { readonly method: string; readonly url: string } => {
  const [method = '', url = ''] = name.split(' ');
  return { method, url };
};
