import { z } from 'zod';
import { rateLimitsSchema } from '../rate-limits.ts';

/** The organization's secret (keyed digests, idempotent message ids) is in the vault under the organization's id. */
export const organizationEvents = {
  OrganizationCreated: z.object({
    organizationId: z.string(),
    name: z.string(),
    /** Highest rate limits an admin key may set; null: none. */
    ceilings: rateLimitsSchema.nullable(),
  }),
};
