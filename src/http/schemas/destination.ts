import { z } from 'zod';
import { timeSchema } from './envelope.ts';

export const suspensionSchema = z.strictObject({
  object: z.literal('suspended_destination'),
  /**
   * A mailbox provider, whose recipient domains wait together if they share the servers that were tried; or one
   * recipient domain alone, `@example.com`. With the id of a sending domain in front, `dom_…@google.com`, it is suspended
   * for this sender alone.
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

export const backlogSchema = z
  .strictObject({
    object: z.literal('destination_backlog'),
    complete: z.boolean().describe('false: deferrals older than those examined may have left more mail waiting.'),
    data: z.array(
      z.strictObject({
        recipient_domain: z.string().describe('Domain name in A-labels (ASCII).'),
        recipients: z.number().int().describe('Recipients that wait for another attempt.'),
        since: timeSchema().describe('Time of the oldest of these deferrals that was examined.'),
        next_attempt_at: timeSchema().describe('Time of the earliest next attempt.'),
        attempts: z.number().int().describe('Highest number of attempts for one recipient.'),
        last_reply: z
          .strictObject({
            at: timeSchema(),
            message_id: z.string(),
            code: z.number().int().describe('0: there was no reply.'),
            enhanced: z.string().nullable(),
            mx: z.string().nullable(),
          })
          .describe('Reply that caused the newest deferral. `GET /v1/messages/{id}/explain` has its text.'),
      }),
    ),
  })
  .meta({ id: 'DestinationBacklog' });
export type SerializedBacklog = z.infer<typeof backlogSchema>;
