import { covers } from '../address-ranges.ts';
import type { Plan } from '../billing/plan.ts';
import { type Details, DomainError } from '../domain-error.ts';
import type { Environment } from '../environment.ts';
import type { Role } from '../member/events.ts';
import type { Powers } from '../member/member.ts';
import type { Suspension } from '../organization/organization.ts';
import { ACTION_KINDS, DEFAULT_RATE_LIMITS, type RateLimits } from '../rate-limits.ts';
import type { Tracking } from '../tracking/tracking.ts';
import type { Permission } from './events.ts';

/** The session of a member, and what they are kept from whatever their permissions say. */
export interface CallingMember extends Pick<Powers, 'withoutContents' | 'safeMethodsOnly'> {
  readonly sessionId: string;
  readonly role: Role;
  /** May read the health of the whole service. */
  readonly isOperator: boolean;
  /** When they last proved who they are. ISO 8601. */
  readonly presentAt: string;
  /** Until then the member may add their first passkey without being present. ISO 8601. Absent: they may not. */
  readonly firstPasskeyUntil?: string;
}

/** The principal that authenticated a request: facts for decisions, never looked up again. */
export interface Caller {
  /** Of an auditor or a member, who has no key, their own id. */
  readonly keyId: string;
  /** Absent: a key. An auditor has no permission: routes of the audit log alone let them in. */
  readonly auditor?: { readonly contents: boolean };
  /** Absent: a key, or an auditor. A member belongs to no domain, and asks for an environment. */
  readonly member?: CallingMember;
  /** Number of the secret that was shown: 1 for the key's first, one more with each rotation. */
  readonly secret: number;
  readonly organizationId: string;
  readonly environment: Environment;
  readonly permissions: readonly Permission[];
  /** How far the key reaches, and so every key that it makes or changes. */
  readonly bounds: KeyBounds;
  /** The plan that the organization chose. Absent: it has chosen none. */
  readonly plan?: Plan;
  /** The operator has stopped the sends of the organization. Absent: it may send. */
  readonly suspension?: Suspension;
  /** The sending domain the key is bound to (spec §5.4). */
  readonly domain: {
    readonly id: string;
    readonly name: string;
    readonly verified: boolean;
    /** Of its mail, unless a message says otherwise. Absent: nothing. */
    readonly tracking?: Tracking;
  };
}

/** The operator's command line acts with no key and may do all of this. */
export type KeyAuthority = Caller | 'operator';

const isAdmin = (by: KeyAuthority): boolean => by === 'operator' || by.permissions.includes('admin');

/**
 * Who may make or touch a key: one that holds `admin` only by `admin`, a live one only by a live key.
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

/** Who may say how often a key may ask. @throws {DomainError} `permission_missing`. */
export const requireLimitAuthority = (by: KeyAuthority): void => {
  if (!isAdmin(by)) {
    throw new DomainError('permission_missing', "API key lacks 'admin' permission: it cannot set rate_limits");
  }
};

/**
 * How far a key reaches: from where, until when, how often. A key hands on no more than it has: one that it makes,
 * widens or rotates (its new value is shown to who asked) stays within the bounds of the key that asks. What only
 * narrows a key is always allowed. Rate limits bind a `manage` key alone: `admin` sets them, up to the ceilings.
 */
export interface KeyBounds {
  /** Networks that the key may be used from; none: any. */
  readonly allowedCidrs: readonly string[];
  /** ISO 8601; null: never. */
  readonly expiresAt: string | null;
  readonly rateLimits: RateLimits;
}

/** Whether a key was given an end or networks: what it sets up must not outlive it. */
export const isBounded = ({ allowedCidrs, expiresAt }: Pick<KeyBounds, 'allowedCidrs' | 'expiresAt'>): boolean =>
  allowedCidrs.length > 0 || expiresAt !== null;

const limitOf = ({ rateLimits }: KeyBounds, kind: (typeof ACTION_KINDS)[number]): number =>
  rateLimits[kind] ?? DEFAULT_RATE_LIMITS[kind];

const endsLater = (one: string | null, other: string | null): boolean =>
  other !== null && (one === null || one > other);

/** Why a key would reach further than the one that asks, by field; empty: it does not. */
const excess = (by: Exclude<KeyAuthority, 'operator'>, key: KeyBounds): Details => {
  const { allowedCidrs, expiresAt } = by.bounds;
  const details: Record<string, string[]> = {};
  if (!covers(allowedCidrs, key.allowedCidrs)) {
    details.allowed_cidrs = [
      `allowed_cidrs must lie within those of the key that asks: ${new Intl.ListFormat('en').format(allowedCidrs)}`,
    ];
  }
  if (endsLater(key.expiresAt, expiresAt)) {
    details.expires_at = [`expires_at must not be later than ${expiresAt}, when the key that asks ends`];
  }
  const higher = by.permissions.includes('admin')
    ? []
    : ACTION_KINDS.filter((kind) => limitOf(key, kind) > limitOf(by.bounds, kind));
  if (higher.length > 0) {
    details.rate_limits = higher.map(
      (kind) => `rate_limits.${kind} must be at most ${limitOf(by.bounds, kind)}, the limit of the key that asks`,
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
    'an API key cannot make, widen or rotate a key that reaches further than itself: see details',
    { details },
  );
};

/** Bounds of a key that is made: what was left out is as narrow as in the key that asks. */
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

/** Whether a change lets a key do, in anything, what it could not do before. */
export const widens = (before: Reach, after: Reach): boolean =>
  after.permissions.some((permission) => !before.permissions.includes(permission)) ||
  !covers(before.allowedCidrs, after.allowedCidrs) ||
  endsLater(after.expiresAt, before.expiresAt) ||
  ACTION_KINDS.some((kind) => limitOf(after, kind) > limitOf(before, kind));
