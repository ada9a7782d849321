import { z } from 'zod';
import { timeSchema } from './envelope.ts';

export const suspensionSchema = z.strictObject({
  object: z.literal('suspended_destination'),
  /**
   * A mailbox provider, whose recipient domains wait together if they share the servers that were tried; or one
   * recipient domain alone, `@example.com`.
   */
  destination: z.string(),
  reason: z.enum(['busy', 'unreachable', 'refused', 'recipient_domain']),
  message: z.string(),
  since: timeSchema(),
  until: timeSchema(),
  /** Consecutive suspensions. Each lasts longer, up to half an hour. */
  times: z.number().int(),
  smtp: z.strictObject({ code: z.number().int(), enhanced: z.string().nullable(), mx: z.string().nullable() }),
});
export type SerializedSuspension = z.infer<typeof suspensionSchema>;
