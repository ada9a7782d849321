import { z } from 'zod';
import { environmentSchema } from '../kernel/environment.ts';
import { rateLimitsSchema } from '../kernel/rate-limits.ts';

/** Permissions (spec §5.3). Only `admin` includes the others. */
export const permissionSchema = z.enum(['send', 'read', 'manage', 'admin']);
export type Permission = z.infer<typeof permissionSchema>;

export const allows = (held: readonly Permission[], needed: Permission): boolean =>
  held.includes(needed) || held.includes('admin');

/** SHA-256 of the full key value, in hex. The value itself is not stored. */
const secret = z.object({ hash: z.string().length(64), first4: z.string(), last4: z.string() });

export const apiKeyEvents = {
  KeyCreated: z.object({
    keyId: z.string(),
    domainId: z.string(),
    name: z.string(),
    permissions: z.array(permissionSchema),
    environment: environmentSchema,
    rateLimits: rateLimitsSchema,
    allowedCidrs: z.array(z.string()),
    expiresAt: z.string().nullable(),
    secret,
  }),
  KeyRotated: z.object({
    keyId: z.string(),
    secret,
    /** Expiry of the secret that is current until now. */
    previousExpiresAt: z.string(),
    /** Whether all earlier secrets end now too. */
    revokesPrevious: z.boolean(),
  }),
  /** Changed fields. Absent fields are unchanged. */
  KeyUpdated: z.object({
    keyId: z.string(),
    name: z.string().optional(),
    permissions: z.array(permissionSchema).optional(),
    rateLimits: rateLimitsSchema.optional(),
    allowedCidrs: z.array(z.string()).optional(),
    expiresAt: z.string().nullable().optional(),
  }),
  KeyRevoked: z.object({ keyId: z.string() }),
  /** Recorded after the fact: a key expires at its `expiresAt` even if this event is late. */
  KeyExpired: z.object({ keyId: z.string() }),
  KeyDeleted: z.object({ keyId: z.string() }),
};

/**
 * Stream `apiKeyRefusal-<keyId>`: changes that were requested and refused. It is separate from the key's own stream,
 * whose revision is the key's `ETag` and numbers its customer events.
 */
export const apiKeyRefusalEvents = {
  KeyChangeRefused: z.object({
    keyId: z.string(),
    change: z.enum(['update', 'rotate', 'revoke', 'delete']),
    /** Code from the error catalogue. */
    code: z.string(),
  }),
};
