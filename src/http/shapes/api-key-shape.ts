import { z } from 'zod';
import { type ExistingApiKey, liveEarlierSecrets } from '../../domain/api-key/api-key.ts';
import { permissionSchema } from '../../domain/api-key/permissions.ts';
import { environmentSchema } from '../../domain/environment.ts';
import { DEFAULT_RATE_LIMITS } from '../../domain/rate-limits.ts';
import type { UsageMark } from '../../domain/usage-marks.ts';
import { timeShape } from './time-shape.ts';

export const apiKeyShape = z.strictObject({
  id: z.string(),
  object: z.literal('api_key'),
  name: z.string(),
  domain_id: z.string(),
  permissions: z.array(permissionSchema),
  environment: environmentSchema,
  rate_limits: z.strictObject({ send: z.number().int(), read: z.number().int(), manage: z.number().int() }),
  allowed_cidrs: z.array(z.string()),
  expires_at: timeShape().nullable(),
  created_at: timeShape(),
  last_used_at: timeShape().nullable(),
  last4: z.string(),
  status: z.enum(['active', 'expired', 'revoked']),
  earlier_secrets: z.array(
    z.strictObject({ expires_at: timeShape(), last_used_at: timeShape().nullable(), last4: z.string() }),
  ),
});
export type ApiKeyShape = z.infer<typeof apiKeyShape>;

/** The only time the value is seen. */
export const createdKeyShape = apiKeyShape.extend({ key: z.string() });
export const rotatedKeyShape = createdKeyShape.extend({ previous_key_expires_at: timeShape() });

const statusOf = ({ status, expiresAt }: ExistingApiKey, now: string): ApiKeyShape['status'] =>
  status === 'active' && expiresAt !== null && expiresAt <= now ? 'expired' : status;

const newest = (marks: readonly UsageMark[]): string | null => {
  const times = marks.map(({ lastUsedAt }) => lastUsedAt.getTime());
  return times.length === 0 ? null : new Date(Math.max(...times)).toISOString();
};

/** @param marks of any keys; those of this one are picked. */
export const showApiKey = (key: ExistingApiKey, marks: readonly UsageMark[], now: string): ApiKeyShape => {
  const own = marks.filter(({ keyId }) => keyId === key.keyId);
  return {
    id: key.keyId,
    object: 'api_key',
    name: key.name,
    domain_id: key.domainId,
    permissions: [...key.permissions],
    environment: key.environment,
    rate_limits: {
      send: key.rateLimits.send ?? DEFAULT_RATE_LIMITS.send,
      read: key.rateLimits.read ?? DEFAULT_RATE_LIMITS.read,
      manage: key.rateLimits.manage ?? DEFAULT_RATE_LIMITS.manage,
    },
    allowed_cidrs: [...key.allowedCidrs],
    expires_at: key.expiresAt,
    created_at: key.createdAt,
    last_used_at: newest(own),
    last4: key.secret.last4,
    status: statusOf(key, now),
    earlier_secrets: liveEarlierSecrets(key, now).map(({ hash, expiresAt, last4 }) => ({
      expires_at: expiresAt,
      last_used_at: newest(own.filter(({ secretHash }) => secretHash === hash)),
      last4,
    })),
  };
};
