import { z } from 'zod';
import {
  type ExistingApiKey,
  isExpired,
  type KeyCircumstances,
  liveEarlierSecrets,
} from '../../domain/api-key/api-key.ts';
import { permissionSchema } from '../../domain/api-key/events.ts';
import { environmentSchema } from '../../domain/kernel/ids.ts';
import { DEFAULT_RATE_LIMITS, type RateLimits } from '../../domain/kernel/rate-limits.ts';
import type { UsageMark } from '../../domain/ports/usage-marks.ts';
import { timeSchema } from './envelope.ts';

export const rateLimitsAnswerSchema = z.strictObject({
  send: z.number().int(),
  read: z.number().int(),
  manage: z.number().int(),
});

export const apiKeySchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('api_key'),
    name: z.string(),
    domain_id: z.string(),
    permissions: z.array(permissionSchema),
    environment: environmentSchema,
    rate_limits: rateLimitsAnswerSchema.describe(
      'Requests per minute by kind, with defaults. Lower `rate_limit_ceilings` of the organization apply ' +
        'instead; `RateLimit-Limit` has the effective limit.',
    ),
    allowed_cidrs: z.array(z.string()),
    expires_at: timeSchema().nullable(),
    created_at: timeSchema(),
    last_used_at: timeSchema().nullable(),
    last_used_address: z.string().nullable().describe('IP address of the last request.'),
    last4: z.string(),
    status: z
      .enum(['active', 'expired', 'revoked'])
      .describe('`revoked`: ended for good, by request or with its domain.'),
    earlier_secrets: z.array(
      z.strictObject({ expires_at: timeSchema(), last_used_at: timeSchema().nullable(), last4: z.string() }),
    ),
  })
  .meta({ id: 'ApiKey' });
export type SerializedApiKey = z.infer<typeof apiKeySchema>;

/** This response is the only one that contains the key's value. */
export const createdKeySchema = apiKeySchema.extend({ key: z.string() }).meta({ id: 'CreatedApiKey' });
export const rotatedKeySchema = createdKeySchema
  .extend({ previous_key_expires_at: timeSchema() })
  .meta({ id: 'RotatedApiKey' });

/** Facts besides the key's stream that determine its status. */
export interface KeyContext extends KeyCircumstances {
  /** Usage marks of any keys; those of other keys are ignored. */
  readonly marks: readonly UsageMark[];
}

const statusOf = (key: ExistingApiKey, { now, endedWithDomain }: KeyContext): SerializedApiKey['status'] => {
  if (key.status !== 'active' || endedWithDomain) return 'revoked';
  return isExpired(key, now) ? 'expired' : 'active';
};

const newest = (marks: readonly UsageMark[]): UsageMark | undefined =>
  marks.toSorted((left, right) => right.lastUsedAt.getTime() - left.lastUsedAt.getTime())[0];

const newestTime = (marks: readonly UsageMark[]): string | null => newest(marks)?.lastUsedAt.toISOString() ?? null;

export const serializeRateLimits = (limits: RateLimits): SerializedApiKey['rate_limits'] => ({
  send: limits.send ?? DEFAULT_RATE_LIMITS.send,
  read: limits.read ?? DEFAULT_RATE_LIMITS.read,
  manage: limits.manage ?? DEFAULT_RATE_LIMITS.manage,
});

export const serializeApiKey = (key: ExistingApiKey, context: KeyContext): SerializedApiKey => {
  const own = context.marks.filter(({ keyId }) => keyId === key.keyId);
  return {
    id: key.keyId,
    object: 'api_key',
    name: key.name,
    domain_id: key.domainId,
    permissions: [...key.permissions],
    environment: key.environment,
    rate_limits: serializeRateLimits(key.rateLimits),
    allowed_cidrs: [...key.allowedCidrs],
    expires_at: key.expiresAt,
    created_at: key.createdAt,
    last_used_at: newestTime(own),
    last_used_address: newest(own)?.lastAddress || null,
    last4: key.secret.last4,
    status: statusOf(key, context),
    earlier_secrets: liveEarlierSecrets(key, context.now).map(({ hash, expiresAt, last4 }) => ({
      expires_at: expiresAt,
      last_used_at: newestTime(own.filter(({ secretHash }) => secretHash === hash)),
      last4,
    })),
  };
};
