import { z } from 'zod';

/** `bounces`: addresses that do not exist, of all recipients that were answered for; `complaints`: of those delivered to. */
export const MEASURES = ['bounces', 'complaints'] as const;
export type Measure = (typeof MEASURES)[number];

/** What reached which limit. */
const found = {
  measure: z.enum(MEASURES),
  count: z.number().int(),
  of: z.number().int(),
  limitPercent: z.number(),
};

const domain = { domainId: z.string() };
const organization = { organizationId: z.string() };

/**
 * Streams `reputation-<domainId>` and `reputation-<organizationId>`: reputation of a sending domain by its live bulk
 * mail, and of an organization by that of all its domains.
 */
export const reputationEvents = {
  /** Nothing follows yet. */
  SendingWarned: z.object({ ...domain, ...found }),
  /** Its bulk mail leaves message by message. */
  SendingSlowed: z.object({ ...domain, ...found }),
  /** Its bulk mail waits. */
  SendingPaused: z.object({ ...domain, ...found }),
  SendingRecovered: z.object(domain),
  /** By somebody who may: counts begin anew. */
  SendingReleased: z.object(domain),

  /** The same of all domains together. */
  OrganizationSendingWarned: z.object({ ...organization, ...found }),
  OrganizationSendingSlowed: z.object({ ...organization, ...found }),
  OrganizationSendingPaused: z.object({ ...organization, ...found }),
  OrganizationSendingRecovered: z.object(organization),
  OrganizationSendingReleased: z.object(organization),

  /** By somebody who may, whatever its rates are: all its live bulk mail waits. */
  BulkMailPaused: z.object(organization),
  BulkMailResumed: z.object(organization),
};
