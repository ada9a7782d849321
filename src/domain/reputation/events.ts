import { z } from 'zod';

/**
 * `bounces`: share of nonexistent addresses among all recipients with a reply. `complaints`: share among those
 * delivered to.
 */
export const MEASURES = ['bounces', 'complaints'] as const;
export type Measure = (typeof MEASURES)[number];

/** The measure and the limit that it reached. */
const found = {
  measure: z.enum(MEASURES),
  count: z.number().int(),
  of: z.number().int(),
  limitPercent: z.number(),
};

const domain = { domainId: z.string() };
const organization = { organizationId: z.string() };

/**
 * Streams `reputation-<domainId>` and `reputation-<organizationId>`: the reputation of a sending domain, based on its
 * live bulk mail, and of an organization, based on all its domains.
 */
export const reputationEvents = {
  /** A warning without consequences. */
  SendingWarned: z.object({ ...domain, ...found }),
  /** Bulk mail is sent one message at a time. */
  SendingSlowed: z.object({ ...domain, ...found }),
  /** Bulk mail is held. */
  SendingPaused: z.object({ ...domain, ...found }),
  SendingRecovered: z.object(domain),
  /** Released by an authorized person. Counts restart. */
  SendingReleased: z.object(domain),

  /** The same levels for all domains of an organization together. */
  OrganizationSendingWarned: z.object({ ...organization, ...found }),
  OrganizationSendingSlowed: z.object({ ...organization, ...found }),
  OrganizationSendingPaused: z.object({ ...organization, ...found }),
  OrganizationSendingRecovered: z.object(organization),
  OrganizationSendingReleased: z.object(organization),

  /** All live bulk mail is held at the request of an authorized person, whatever the rates are. */
  BulkMailPaused: z.object(organization),
  BulkMailResumed: z.object(organization),
};
