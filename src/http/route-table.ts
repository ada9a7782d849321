import {
  ADMIN,
  ADMIN_CHANGE_LIVE,
  BODY,
  BOTH,
  CHANGED_LIVE,
  FORM_ERRORS,
  LIST,
  LIVE,
  LOOK,
  MANAGE,
  MANAGE_LIVE,
  ONE,
  ONE_CHANGED,
  OPEN,
  PAGE,
  PAGE_ERRORS,
  READ,
  type RouteRule,
  SEND,
  SENDING,
  TRACKED_ERRORS,
  WIDENING,
} from './route-rules.ts';

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
  'POST /v1/messages/analyze': {
    ...SEND,
    status: 200,
    errors: [...BODY, 'from_domain_mismatch', 'template_not_published', 'template_variables_invalid'],
  },
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
  'PATCH /v1/domains/:id': { ...MANAGE_LIVE, status: 200, errors: CHANGED_LIVE },
  'DELETE /v1/domains/:id': { ...MANAGE_LIVE, status: 204, errors: [...CHANGED_LIVE, 'last_admin_key'] },
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
  'POST /v1/domains/:id/dkim/rotate': { ...MANAGE_LIVE, status: 200, errors: CHANGED_LIVE },
  'POST /v1/domains/:id/verify': {
    ...MANAGE_LIVE,
    status: 200,
    errors: [...CHANGED_LIVE, 'domain_already_exists'],
  },

  'POST /v1/webhooks': { ...MANAGE, status: 201, secret: true, errors: BODY },
  'GET /v1/webhooks': { ...LOOK, errors: LIST },
  'GET /v1/webhooks/:id': { ...LOOK, errors: ONE },
  'DELETE /v1/webhooks/:id': { ...MANAGE, status: 204, errors: [...BODY, ...ONE_CHANGED] },
  'GET /v1/webhooks/:id/deliveries': { ...LOOK, errors: [...ONE, ...LIST] },

  'POST /v1/templates': {
    ...MANAGE_LIVE,
    status: 201,
    errors: [...BODY, 'environment_not_allowed', 'resource_conflict'],
  },
  'GET /v1/templates': { ...LOOK, errors: LIST },
  'GET /v1/templates/:id': { ...LOOK, errors: ONE },
  'PATCH /v1/templates/:id': { ...MANAGE_LIVE, status: 200, errors: CHANGED_LIVE },
  'DELETE /v1/templates/:id': { ...MANAGE_LIVE, status: 204, errors: CHANGED_LIVE },
  'POST /v1/templates/:id/publish': {
    ...MANAGE_LIVE,
    status: 200,
    errors: [...CHANGED_LIVE, 'template_invalid'],
  },
  'POST /v1/templates/:id/rollback': { ...MANAGE_LIVE, status: 200, errors: CHANGED_LIVE },
  'GET /v1/templates/:id/versions': { ...LOOK, errors: [...ONE, ...LIST] },
  'GET /v1/templates/:id/versions/:version': { ...LOOK, errors: ONE },
  'GET /v1/templates/:id/versions/:version/diff': { ...LOOK, errors: ONE },
  'POST /v1/templates/:id/render': {
    ...LOOK,
    status: 200,
    errors: [...BODY, ...ONE, 'template_invalid', 'template_variables_invalid'],
  },
  'POST /v1/templates/:id/test-send': {
    ...SEND,
    status: 202,
    errors: [
      ...BODY,
      ...ONE,
      'from_domain_mismatch',
      'domain_not_verified',
      'template_invalid',
      'template_variables_invalid',
    ],
  },

  'POST /v1/suppressions': { ...MANAGE, status: 201, errors: [...BODY, ...ONE, 'resource_conflict'] },
  'GET /v1/suppressions': { ...READ, errors: LIST },
  'GET /v1/suppressions/check': { ...READ, errors: [] },
  'GET /v1/suppressions/export': { ...READ, errors: [] },
  'POST /v1/suppressions/import': { ...MANAGE, status: 200, errors: BODY },
  'GET /v1/suppressions/:id': { ...READ, errors: ONE },
  'DELETE /v1/suppressions/:id': { ...MANAGE, status: 204, errors: [...BODY, ...ONE_CHANGED] },

  'POST /v1/topics': {
    ...MANAGE_LIVE,
    status: 201,
    errors: [...BODY, ...ONE, 'environment_not_allowed', 'too_many_topics'],
  },
  'GET /v1/topics': { ...LOOK, errors: LIST },
  'GET /v1/topics/:id': { ...LOOK, errors: ONE },
  'PATCH /v1/topics/:id': { ...MANAGE_LIVE, status: 200, errors: CHANGED_LIVE },
  'DELETE /v1/topics/:id': { ...MANAGE_LIVE, status: 204, errors: CHANGED_LIVE },

  'GET /v1/events': { ...READ, errors: LIST },
  'GET /v1/stats': { ...READ, errors: [] },
  'GET /v1/billing': { ...ADMIN, errors: [] },
  'GET /v1/billing/usage': { ...ADMIN, errors: [] },
  'GET /v1/inbox': { ...ADMIN, errors: LIST },
  'GET /v1/inbox/:id': { ...ADMIN, errors: ['not_found'] },
  'DELETE /v1/inbox': { permission: 'admin', kind: 'manage', environments: BOTH, status: 204, errors: BODY },
  'DELETE /v1/inbox/:id': {
    permission: 'admin',
    kind: 'manage',
    environments: BOTH,
    status: 204,
    errors: [...BODY, 'not_found'],
  },
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
  'POST /unsubscribe/:token': { ...PAGE, errors: FORM_ERRORS },
  'GET /c/:token': { ...PAGE, status: 302, errors: TRACKED_ERRORS },
  'GET /o/:token': { ...PAGE, errors: TRACKED_ERRORS },

  'GET /preferences/:token': { ...PAGE, errors: PAGE_ERRORS },
  'POST /preferences/:token': { ...PAGE, errors: FORM_ERRORS },

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
