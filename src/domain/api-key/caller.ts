import type { ChosenPlan } from '../billing/plan.ts';
import { covers } from '../kernel/addresses.ts';
import type { Environment } from '../kernel/environment.ts';
import { type Details, DomainError } from '../kernel/errors.ts';
import { ACTION_KINDS, DEFAULT_RATE_LIMITS, type RateLimits } from '../kernel/rate-limits.ts';
import type { Role } from '../member/events.ts';
import type { Powers } from '../member/powers.ts';
import type { Suspension } from '../organization/organization.ts';
import type { Tracking } from '../tracking/tracking.ts';
import type { Permission } from './events.ts';

/** A member's session and the restrictions that apply regardless of permissions. */
export interface CallingMember extends Pick<Powers, 'withoutContents' | 'safeMethodsOnly'> {
  readonly sessionId: string;
  readonly role: Role;
  /** Whether the member may read the health of the whole service. */
  readonly isOperator: boolean;
  /** Last time the member proved their identity. ISO 8601. */
  readonly presentAt: string;
  /** Until this time (ISO 8601) the member may add a first passkey without reauthentication. Absent: not allowed. */
  readonly firstPasskeyUntil?: string;
}

/** The principal that authenticated a request. Decisions use these facts and never look them up again. */
export interface Caller {
  /** Id of the API key. Auditors and members have no key: for them it is their own id. */
  readonly keyId: string;
  /** Present for an auditor, who has no permissions: only routes of the audit log admit auditors. */
  readonly auditor?: { readonly contents: boolean };
  /** Present for a member. Members belong to no domain and name an environment in the request. */
  readonly member?: CallingMember;
  /** Number of the presented secret: 1 for the key's first, one more with each rotation. */
  readonly secret: number;
  readonly organizationId: string;
  readonly environment: Environment;
  readonly permissions: readonly Permission[];
  /** The key's bounds. They also limit every key that it creates or changes. */
  readonly bounds: KeyBounds;
  /** Plans that the organization chose, oldest first. Absent: none. */
  readonly chosenPlans?: readonly ChosenPlan[];
  /** Present if the operator suspended the organization's sending. */
  readonly suspension?: Suspension;
  /** The sending domain the key is bound to (spec §5.4). */
  readonly domain: {
    readonly id: string;
    readonly name: string;
    readonly verified: boolean;
    /** Default for the domain's mail; a message can override it. Absent: no tracking. */
    readonly tracking?: Tracking;
  };
}

/** The operator's command line acts without a key and may do all of this. */
export type KeyAuthority = Caller | 'operator';

const isAdmin = (by: KeyAuthority): boolean => by === 'operator' || by.permissions.includes('admin');

/**
 * Only `admin` may create or change a key that has `admin`, and only a live key may create or change a live one.
 * @throws {DomainError} `permission_missing` or `environment_not_allowed`.
 */
export const requireKeyAuthority = (
  by: KeyAuthority,
  key: { readonly permissions: readonly Permission[]; readonly environment: Environment },
): void => {
  if (key.permissions.includes('admin') && !isAdmin(by)) {
    throw new DomainError('permission_missing', "API key lacks 'admin' permission");
  }
  if (by !== 'operator' && key.environment === 'live' && by.environment === 'test') {
    throw new DomainError('environment_not_allowed', 'a test key cannot create or change live keys: use a live key');
  }
};

/** Only admins may set a key's rate limits. @throws {DomainError} `permission_missing`. */
export const requireLimitAuthority = (by: KeyAuthority): void => {
  if (!isAdmin(by)) {
    throw new DomainError('permission_missing', "API key lacks 'admin' permission, which rate_limits requires");
  }
};

/**
 * Limits of a key: its networks, expiry and rate limits. A key cannot grant more than it has: a key that it creates,
 * widens or rotates (rotation reveals the new value) must stay within its own bounds. Narrowing a key is always
 * allowed. Rate limits bind only `manage` keys: `admin` keys may set any, up to the ceilings.
 */
export interface KeyBounds {
  /** Networks from which the key may be used. Empty: any. */
  readonly allowedCidrs: readonly string[];
  /** ISO 8601; null: never. */
  readonly expiresAt: string | null;
  readonly rateLimits: RateLimits;
}

/** Whether the key has an expiry or networks. Resources that it sets up must not outlive it. */
export const isBounded = ({ allowedCidrs, expiresAt }: Pick<KeyBounds, 'allowedCidrs' | 'expiresAt'>): boolean =>
  allowedCidrs.length > 0 || expiresAt !== null;

const limitOf = ({ rateLimits }: KeyBounds, kind: (typeof ACTION_KINDS)[number]): number =>
  rateLimits[kind] ?? DEFAULT_RATE_LIMITS[kind];

const endsLater = (one: string | null, other: string | null): boolean =>
  other !== null && (one === null || one > other);

/** Reasons why the key would exceed the caller's bounds, by field. Empty if it stays within them. */
const excess = (by: Exclude<KeyAuthority, 'operator'>, key: KeyBounds): Details => {
  const { allowedCidrs, expiresAt } = by.bounds;
  const details: Record<string, string[]> = {};
  if (!covers(allowedCidrs, key.allowedCidrs)) {
    details.allowed_cidrs = [
      `allowed_cidrs must be within those of your own key: ${new Intl.ListFormat('en').format(allowedCidrs)}`,
    ];
  }
  if (endsLater(key.expiresAt, expiresAt)) {
    details.expires_at = [`expires_at must not be later than ${expiresAt}, when your own key expires`];
  }
  const higher = by.permissions.includes('admin')
    ? []
    : ACTION_KINDS.filter((kind) => limitOf(key, kind) > limitOf(by.bounds, kind));
  if (higher.length > 0) {
    details.rate_limits = higher.map(
      (kind) => `rate_limits.${kind} must be at most ${limitOf(by.bounds, kind)}, the limit of your own key`,
    );
  }
  return details;
};

/** @throws {DomainError} `wider_than_own_key`. */
export const requireWithin = (by: KeyAuthority, key: KeyBounds): void => {
  if (by === 'operator') return;
  const details = excess(by, key);
  if (Object.keys(details).length === 0) return;
  throw new DomainError(
    'wider_than_own_key',
    'an API key cannot create, change or rotate a key with more rights than its own: see details',
    { details },
  );
};

/** Bounds of a new key. Omitted bounds are as narrow as the caller's. */
export const inheritBounds = (by: KeyAuthority, asked: Partial<KeyBounds>): KeyBounds => {
  const own = by === 'operator' ? null : by.bounds;
  const limits = own === null || (by !== 'operator' && by.permissions.includes('admin')) ? {} : own.rateLimits;
  const lower = ACTION_KINDS.flatMap((kind) => {
    const limit = limits[kind];
    return limit !== undefined && limit < DEFAULT_RATE_LIMITS[kind] ? [[kind, limit] as const] : [];
  });
  return {
    allowedCidrs: asked.allowedCidrs ?? own?.allowedCidrs ?? [],
    expiresAt: asked.expiresAt === undefined ? (own?.expiresAt ?? null) : asked.expiresAt,
    rateLimits: { ...Object.fromEntries(lower), ...asked.rateLimits },
  };
};

type Reach = KeyBounds & { readonly permissions: readonly Permission[] };

/** Whether a change lets a key do anything that it could not do before. */
export const widens = (before: Reach, after: Reach): boolean =>
  after.permissions.some((permission) => !before.permissions.includes(permission)) ||
  !covers(before.allowedCidrs, after.allowedCidrs) ||
  endsLater(after.expiresAt, before.expiresAt) ||
  ACTION_KINDS.some((kind) => limitOf(after, kind) > limitOf(before, kind));
