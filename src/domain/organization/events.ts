import { z } from 'zod';
import { rateLimitsSchema } from '../rate-limits.ts';

export const organizationEvents = {
  OrganizationCreated: z.object({
    organizationId: z.string(),
    name: z.string(),
    /** Highest rate limits an admin key may set; null: none. */
    ceilings: rateLimitsSchema.nullable(),
    /** Vault id of the organization's secret: keyed digests and idempotent message ids come from it. */
    secretId: z.string(),
  }),
};
