import { z } from 'zod';

/** Stream `destination-<operator>`: other people's mail servers, as this service found them. */
export const destinationEvents = {
  /** It gets nothing until then, unless it is released before. */
  DestinationSuspended: z.object({
    /** Who runs its mail servers, `google.com`. */
    operator: z.string(),
    /** The recipients' domain whose mail found it so. */
    domain: z.string(),
    reason: z.enum(['busy', 'unreachable']),
    /** Reply code (RFC 5321 §4.2), 0 where there was none, and enhanced code (RFC 3463). */
    code: z.number().int(),
    enhanced: z.string().nullable(),
    /** Host that was asked. */
    mx: z.string().nullable(),
    /** Suspensions in a row. */
    times: z.number().int(),
    until: z.string(),
  }),
  DestinationReleased: z.object({ operator: z.string() }),
};
