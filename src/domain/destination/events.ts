import { z } from 'zod';

/** Stream `destination-<mailbox provider>`: mail servers of others, as this service found them. */
export const destinationEvents = {
  /** Nothing is sent until then, unless it is released before. */
  DestinationSuspended: z.object({
    /**
     * Mailbox provider, `google.com`; one recipient domain alone, `@example.com`; or either as it answers one sending domain,
     * `dom_…@google.com`.
     */
    operator: z.string(),
    /** Recipient domain whose mail led to it. */
    domain: z.string(),
    /** `refused`: it accepts no sessions from this service; `recipient_domain`: its own DNS or policy is the obstacle. */
    reason: z.enum(['busy', 'unreachable', 'refused', 'recipient_domain']),
    /** Reply code (RFC 5321 §4.2), 0 without a reply, and enhanced code (RFC 3463). */
    code: z.number().int(),
    enhanced: z.string().nullable(),
    /** Host that was tried. */
    mx: z.string().nullable(),
    /** Addresses that were tried: the suspension covers these alone. Absent: all. */
    addresses: z.array(z.string()).optional(),
    /** Suspensions in a row. */
    times: z.number().int(),
    until: z.string(),
  }),
  DestinationReleased: z.object({ operator: z.string() }),
};
