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
  OrganizationCeilingsSet: z.object({ organizationId: z.string(), ceilings: rateLimitsSchema.nullable() }),
  /**
   * These keys are about to lose what makes them admin keys that work: nobody counts on them any more. Appended before
   * the change itself, so that two who take away the last two admin keys at the same moment meet in this stream.
   */
  AdminKeysReleased: z.object({
    organizationId: z.string(),
    /** Each at the revision that is about to change; a later one is a new matter. */
    keys: z.array(z.object({ keyId: z.string(), revision: z.number().int() })),
    /**
     * Whose keys are all released, those too that nobody knew of, at the revision that is about to end it; null: it is
     * about these keys alone.
     */
    domain: z.object({ domainId: z.string(), revision: z.number().int() }).nullable(),
  }),
};
