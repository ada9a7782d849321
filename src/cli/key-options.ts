import {
  type ExistingApiKey,
  GRACE_PERIOD_MINUTES_DEFAULT,
  GRACE_PERIOD_MINUTES_MAX,
} from '../domain/api-key/api-key.ts';
import { type Permission, permissionSchema } from '../domain/api-key/events.ts';
import type { KeyCacheState } from '../domain/api-key/key-cache.ts';
import { rangeProblem } from '../domain/kernel/addresses.ts';
import { type Environment, environmentSchema } from '../domain/kernel/environment.ts';
import { effectiveLimits, type RateLimits } from '../domain/kernel/rate-limits.ts';
import type { Organization } from '../domain/organization/organization.ts';
import { definedIn, line, parseTime } from '../http/fields.ts';
import { serializeRateLimits } from '../http/resources/api-keys/api-keys.ts';
import { type Invocation, optional, optionalCount, repeated } from './command.ts';
import { UsageError } from './failures.ts';

const NAME_CHARACTERS_MAX = 200;
/** Value that removes the expiry. */
const NEVER = 'never';

/** The rate limits given, per minute. */
export const limitsOf = (invocation: Invocation): RateLimits => {
  const [send, read, manage] = (['send', 'read', 'manage'] as const).map((kind) => optionalCount(invocation, kind));
  return definedIn({ send, read, manage });
};

/** The highest limits of an organization; null if no option is given. */
export const ceilingsOf = (invocation: Invocation): RateLimits | null => {
  const limits = limitsOf(invocation);
  return Object.keys(limits).length === 0 ? null : limits;
};

export const environmentOf = (invocation: Invocation): Environment => {
  const parsed = environmentSchema.safeParse(optional(invocation, 'environment') ?? 'live');
  if (!parsed.success) throw new UsageError('--environment must be live or test');
  return parsed.data;
};

const permissionOf = (text: string): Permission => {
  const parsed = permissionSchema.safeParse(text.trim());
  if (parsed.success) return parsed.data;
  throw new UsageError(`--permissions: '${text}' must be one of ${permissionSchema.options.join(', ')}`);
};

/** undefined if the option is absent. */
export const permissionsOf = (invocation: Invocation): readonly Permission[] | undefined => {
  const given = optional(invocation, 'permissions');
  return given === undefined ? undefined : [...new Set(given.split(',').map(permissionOf))];
};

/** undefined if the option is absent. */
export const nameOf = (invocation: Invocation): string | undefined => {
  const given = optional(invocation, 'name');
  if (given === undefined || line(NAME_CHARACTERS_MAX).safeParse(given).success) return given;
  throw new UsageError(`--name must be 1 to ${NAME_CHARACTERS_MAX} characters on one line`);
};

/** Networks, repeatable and separated by commas; undefined: option absent; `any`: no restriction. */
export const cidrsOf = (invocation: Invocation): readonly string[] | undefined => {
  const given = repeated(invocation, 'cidr')?.flatMap((text) => text.split(',').map((one) => one.trim()));
  if (given === undefined) return undefined;
  if (given.length === 1 && given[0] === 'any') return [];
  const problems = given.map((text) => [text, rangeProblem(text)] as const);
  const [wrong] = problems.filter(([, problem]) => problem !== null);
  if (wrong !== undefined) throw new UsageError(`--cidr: '${wrong[0]}' ${wrong[1]}`);
  return given;
};

/** undefined: option absent; null: never expires. @param now ISO 8601. */
export const expiresAtOf = (invocation: Invocation, now: string): string | null | undefined => {
  const given = optional(invocation, 'expires-at');
  if (given === undefined) return undefined;
  if (given === NEVER) return null;
  const time = parseTime(given);
  if (time === null || time <= now)
    throw new UsageError(`--expires-at must be a time in the future, 2026-12-31T23:59:59Z, or ${NEVER}`);
  return time;
};

export const graceOf = (invocation: Invocation): number => {
  if (optional(invocation, 'grace-minutes') === '0') return 0;
  const minutes = optionalCount(invocation, 'grace-minutes') ?? GRACE_PERIOD_MINUTES_DEFAULT;
  if (minutes > GRACE_PERIOD_MINUTES_MAX)
    throw new UsageError(`--grace-minutes must be at most ${GRACE_PERIOD_MINUTES_MAX}`);
  return minutes;
};

const ceilingsIn = (found: Organization | undefined): RateLimits | null =>
  found?.status === 'active' ? found.ceilings : null;

/** A key as shown to operators, without its value. Effective limits include the organization's ceilings. */
export const shownKey = (key: ExistingApiKey, { organizations }: Pick<KeyCacheState, 'organizations'>) => ({
  key_id: key.keyId,
  organization_id: key.organizationId,
  domain_id: key.domainId,
  name: key.name,
  environment: key.environment,
  permissions: key.permissions,
  rate_limits: serializeRateLimits(key.rateLimits),
  effective_rate_limits: effectiveLimits(key.rateLimits, ceilingsIn(organizations.get(key.organizationId))),
  allowed_cidrs: key.allowedCidrs,
  expires_at: key.expiresAt,
});
