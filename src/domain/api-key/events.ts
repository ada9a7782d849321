import { z } from 'zod';
import { environmentSchema } from '../environment.ts';
import { rateLimitsSchema } from '../rate-limits.ts';
import { permissionSchema } from './permissions.ts';

/** SHA-256 of the full key value, hex; the value itself is nowhere. */
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
    /** When the secret that was current until now ends. */
    previousExpiresAt: z.string(),
    /** Whether all earlier secrets end now too. */
    revokesPrevious: z.boolean(),
  }),
  KeyRevoked: z.object({ keyId: z.string() }),
};
