import { z } from 'zod';

/** Stream `destination-<mailbox provider>`: how this service found the mail servers of others. */
export const destinationEvents = {
  /** Nothing is sent until then, unless the destination is released earlier. */
  DestinationSuspended: z.object({
    /**
     * Mailbox provider, `google.com`; a single recipient domain, `@example.com`; or either of them for one sending
     * domain only, `dom_…@google.com`.
     */
    operator: z.string(),
    /** Recipient domain whose mail triggered the suspension. */
    domain: z.string(),
    /**
     * `refused`: it accepts no sessions from this service. `recipient_domain`: the domain's own DNS or policy prevents
     * delivery.
     */
    reason: z.enum(['busy', 'unreachable', 'refused', 'recipient_domain']),
    /** Reply code (RFC 5321 §4.2), 0 without a reply, and enhanced code (RFC 3463). */
    code: z.number().int(),
    enhanced: z.string().nullable(),
    /** Host of the attempt. */
    mx: z.string().nullable(),
    /** Addresses of the attempts. The suspension covers only these. Absent: all. */
    addresses: z.array(z.string()).optional(),
    /** Number of suspensions in a row. */
    times: z.number().int(),
    until: z.string(),
  }),
  DestinationReleased: z.object({ operator: z.string() }),
};
