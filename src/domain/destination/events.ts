import { z } from 'zod';

/** Stream `destination-<operator>`: other people's mail servers, as this service found them. */
export const destinationEvents = {
  /** It gets nothing until then, unless it is released before. */
  DestinationSuspended: z.object({
    /** Mailbox provider, `google.com`, or one recipient domain alone, `@example.com`. */
    operator: z.string(),
    /** The recipients' domain whose mail found it so. */
    domain: z.string(),
    /** `refused`: it takes no sessions with us; `recipient_domain`: its own DNS or policy is in the way. */
    reason: z.enum(['busy', 'unreachable', 'refused', 'recipient_domain']),
    /** Reply code (RFC 5321 §4.2), 0 where there was none, and enhanced code (RFC 3463). */
    code: z.number().int(),
    enhanced: z.string().nullable(),
    /** Host that was asked. */
    mx: z.string().nullable(),
    /** Addresses that were tried: others of the same name are not meant. Absent: all are. */
    addresses: z.array(z.string()).optional(),
    /** Suspensions in a row. */
    times: z.number().int(),
    until: z.string(),
  }),
  DestinationReleased: z.object({ operator: z.string() }),
};
