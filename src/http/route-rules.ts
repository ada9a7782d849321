/** Requirements of routes, and the building blocks of rows in the route table (`route-table.ts`). */

import type { Permission } from '../domain/api-key/events.ts';
import type { Environment } from '../domain/kernel/environment.ts';
import type { ErrorCode } from '../domain/kernel/errors.ts';
import type { ActionKind } from '../domain/kernel/rate-limits.ts';
import type { Role } from '../domain/member/events.ts';
import type { Vendor } from './compat/vendors.ts';

/** A route's required permission and rate limit. */
export interface GuardedRoute {
  /** `any`: every key, regardless of its permissions. */
  readonly permission: Permission | 'any';
  /** Roles of the members who may use it, instead of those that hold `permission`. Keys need `permission`. */
  readonly roles?: readonly Role[];
  /** Which of the key's limits it counts against. */
  readonly kind: ActionKind;
  readonly environments: readonly Environment[];
  /** Status of success. */
  readonly status: 200 | 201 | 202 | 204;
  /** Error codes besides `GUARDED_ERRORS`. */
  readonly errors: readonly ErrorCode[];
  /** Takes an `Idempotency-Key`; every other route refuses the header. */
  readonly idempotent?: true;
  /** Auditors may use it with their token. Only for reads. */
  readonly auditors?: true;
  /** It returns or accepts contents of mail that cannot be masked: members who may not see contents are refused. */
  readonly contents?: true;
  /**
   * Contents of mail in the response. `none`: no contents, so members who may not see contents get it unmasked,
   * including people and proofs. `masked`: the route has masked them already, which also allows a stream. Absent: the
   * response is masked for them.
   */
  readonly mail?: 'none' | 'masked';
  /** It lists or shows addresses, which is recorded once a minute for each principal (`readings.ts`). */
  readonly addresses?: true;
  /** Its `from` and `to` are a range of times or sizes, and tell nothing of mail. */
  readonly ranges?: true;
  /** Its `q` finds nothing by contents of mail for who sees none. */
  readonly searches?: true;
  /** Changes nothing but the session that asks, or passkeys of its member: members who only read may too. */
  readonly ownSession?: true;
  /** Open pages request it automatically, so it does not keep a session alive. */
  readonly unattended?: true;
  /** Only for members: API keys are refused. */
  readonly membersOnly?: true;
  /** For members whom the command line made operators; implies `membersOnly`. */
  readonly operatorsOnly?: true;
  /**
   * Members must have proved who they are within the last minutes (`PRESENCE_MINUTES`): always, or where the request is
   * about a key that holds `admin`, or is to. Keys are unaffected. `unlessFirst`: always, but for the first passkey of a
   * member who signed in by a link of the operator.
   */
  readonly presence?: 'always' | 'ofAdminKeys' | 'unlessFirst';
  /** The response holds a secret and must not be cached. */
  readonly secret?: true;
  /** For the client of another service: responses and errors have that service's shape, and the API documents omit the route. */
  readonly compat?: Vendor;
  /** The key comes in this header instead of `Authorization`. In lower case. */
  readonly tokenHeader?: string;
  /** The key is the password of Basic authentication. */
  readonly basic?: true;
  /** Its cost depends on its body: over the limit, the body is read before the request is refused. */
  readonly costInBody?: true;
}

/** Needs no key. */
export interface PublicRoute {
  readonly permission: null;
  readonly status: 200 | 202 | 302;
  readonly errors: readonly ErrorCode[];
  /** The response holds a secret and must not be cached. */
  readonly secret?: true;
  /** A page for people: errors are pages too. */
  readonly page?: true;
  /** Belongs to the dashboard and is not an operation of the API. */
  readonly dashboard?: true;
}

export type RouteRule = GuardedRoute | PublicRoute;

/** Error codes of every route that needs a key. */
export const GUARDED_ERRORS = [
  'invalid_request',
  'header_not_allowed',
  'unauthorized',
  'cross_site_request',
  'permission_missing',
  'address_not_allowed',
  'rate_limit_exceeded',
  'internal_error',
  'unavailable',
] as const satisfies readonly ErrorCode[];

/** Error codes of every route that members must be present for. */
export const PRESENCE_ERRORS = ['presence_required'] as const satisfies readonly ErrorCode[];

const BOTH = ['live', 'test'] as const;
const LIVE = ['live'] as const;
export const BODY = ['invalid_json', 'body_too_large', 'unsupported_media_type'] as const;
export const ONE = ['not_found', 'other_organization'] as const;
export const ONE_CHANGED = [...ONE, 'resource_conflict', 'precondition_failed'] as const;
/** Errors of changes that only live keys may make. */
export const CHANGED_LIVE = [...BODY, ...ONE_CHANGED, 'environment_not_allowed'] as const;
/** Errors of changes that may widen a key. */
export const WIDENING = ['environment_not_allowed', 'wider_than_own_key'] as const;
export const LIST = ['invalid_cursor'] as const;
export const SENDING = [
  'organization_suspended',
  'invalid_html',
  'from_domain_mismatch',
  'domain_not_verified',
  'topic_not_usable',
  'other_organization',
  'schedule_not_possible',
  'template_not_published',
  'template_variables_invalid',
  'analysis_failed',
  'idempotency_key_reused',
  'quota_exceeded',
] as const;

/** A message that is sent again has been validated before. */
export const RESENDING = [
  'nothing_to_resend',
  'recipient_suppressed',
  'content_removed',
  'organization_suspended',
  'from_domain_mismatch',
  'domain_not_verified',
  'topic_not_usable',
  'quota_exceeded',
] as const;

export const SEND = { permission: 'send', kind: 'send', environments: BOTH, status: 200 } as const;
/** About who asks, which every key may. */
export const OWN = { permission: 'any', kind: 'read', environments: BOTH, status: 200 } as const;
export const READ = { permission: 'read', kind: 'read', environments: BOTH, status: 200 } as const;
export const MANAGE = { permission: 'manage', kind: 'manage', environments: BOTH, status: 200 } as const;
/** Changes of keys: those of an admin key need a member to be present. */
export const MANAGE_KEYS = { ...MANAGE, presence: 'ofAdminKeys' } as const;
export const MANAGE_LIVE = { ...MANAGE, environments: LIVE } as const;
/** Reads of resources that `manage` manages. */
export const LOOK = { permission: 'manage', kind: 'read', environments: BOTH, status: 200 } as const;
export const ADMIN = { permission: 'admin', kind: 'read', environments: BOTH, status: 200 } as const;
/** Reads by `admin` that only live keys may make. */
export const ADMIN_LIVE = { ...ADMIN, environments: LIVE } as const;
/** Reads of the audit log, which holds no contents: by `admin`, or by an auditor. Resources say `auditors` themselves. */
export const AUDIT = { ...ADMIN_LIVE, auditors: true, mail: 'none' } as const;
/** Reads about the people of the organization. */
export const PEOPLE = { ...ADMIN_LIVE, mail: 'none' } as const;
const ADMIN_CHANGE = { permission: 'admin', kind: 'manage', environments: BOTH, status: 200 } as const;
/** Besides members with `admin`, developers see why their mail waits. Keys need `admin`. */
export const SENDERS_TOO = { roles: ['owner', 'developer', 'auditor'] } as const;
/** Captured mail: `admin` keys, and members who send mail. */
export const INBOX = { ...ADMIN, roles: ['owner', 'developer'], contents: true } as const;
export const INBOX_CHANGE = { ...ADMIN_CHANGE, roles: ['owner', 'developer'], status: 204 } as const;
/** Contents of captured mail, some of which only an owner who is present may read. */
export const CAPTURED = { ...INBOX, errors: ['not_found', 'presence_required'] } as const;
/** Changes by `admin`, which only live keys may make. */
export const ADMIN_CHANGE_LIVE = { ...ADMIN_CHANGE, environments: LIVE } as const;
export const OPEN = { permission: null, status: 200 } as const;
/** Screens and files of the dashboard. Their responses are not part of the API contract. */
export const DASHBOARD = { ...OPEN, dashboard: true } as const;
export const PAGE = { ...OPEN, page: true } as const;
export const PAGE_ERRORS = ['not_found', 'rate_limit_exceeded', 'internal_error', 'unavailable'] as const;
export const FORM_ERRORS = [
  ...PAGE_ERRORS,
  'invalid_request',
  'resource_conflict',
  'body_too_large',
  'unsupported_media_type',
] as const;
export const SIGN_IN_ERRORS = [
  'invalid_request',
  'header_not_allowed',
  'sign_in_link_invalid',
  'passkey_invalid',
  'oidc_invalid',
  'oidc_address_unverified',
  'oidc_no_member',
  'cross_site_request',
  'rate_limit_exceeded',
  'resource_conflict',
  'internal_error',
  'unavailable',
  ...BODY,
] as const;
/** A change by `admin` of who may act for the organization, which a browser that was left open must not allow. */
export const STEP_UP = { ...ADMIN_CHANGE_LIVE, presence: 'always' } as const;
/** About passkeys of the member who asks. */
export const OWN_PASSKEYS = { ...READ, mail: 'none', environments: LIVE, ownSession: true, membersOnly: true } as const;
/** About saved views of the member who asks, which are the same in both environments. */
export const OWN_VIEWS = { ...READ, mail: 'none', ownSession: true, membersOnly: true } as const;
export const CHALLENGE_ERRORS = [
  'invalid_request',
  'header_not_allowed',
  'cross_site_request',
  'internal_error',
  'unavailable',
  ...BODY,
] as const;
export const MAIL_LINK_ERRORS = [...CHALLENGE_ERRORS, 'rate_limit_exceeded'] as const;
export const MEMBERSHIPS_ERRORS = [
  ...MAIL_LINK_ERRORS,
  'oidc_invalid',
  'oidc_address_unverified',
  'oidc_no_member',
] as const;
export const OIDC_ERRORS = [...MAIL_LINK_ERRORS, 'not_found'] as const;
/** Tracked links and images are answered from memory. */
export const TRACKED_ERRORS = ['not_found', 'link_suspended', 'internal_error'] as const;
