import { z } from 'zod';
import { timeSchema } from './envelope.ts';
import { eventRecipientSchema } from './event.ts';

/** Replaces secret values. */
export const HIDDEN = '[hidden]';
export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;

export const webhookRequestSchema = z.strictObject({
  url: z.string(),
  headers: z
    .record(z.string(), z.string())
    .describe(`Without the signature; values of custom headers are \`${HIDDEN}\`.`),
  body_bytes: z.number().int(),
  body_sha256: z.string().describe('SHA-256 of the body, in hex: the event as it was at that time.'),
});

export const webhookDeliverySchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('webhook_delivery'),
    webhook_id: z.string(),
    event_id: z.string(),
    event_type: z.string(),
    recipient: eventRecipientSchema
      .nullable()
      .describe('Recipient that the event concerns; null: not about a message.'),
    replay_id: z.string().nullable().describe('The replay that it is part of; null: none.'),
    status: z.enum(DELIVERY_STATES),
    created_at: timeSchema(),
    next_attempt_at: timeSchema().nullable(),
    attempts: z.array(
      z.strictObject({
        at: timeSchema(),
        request: webhookRequestSchema,
        status: z.number().int().nullable().describe('Status of the response; null: no response.'),
        duration_ms: z.number(),
        response: z.string().describe('The first 1 kB of the response, or the reason why there was none.'),
      }),
    ),
  })
  .meta({ id: 'WebhookDelivery' });
export type SerializedWebhookDelivery = z.infer<typeof webhookDeliverySchema>;
export type SerializedWebhookRequest = z.infer<typeof webhookRequestSchema>;

export const shownWebhookDeliverySchema = webhookDeliverySchema
  .extend({
    body: z
      .string()
      .describe(
        'The exact body as it would be posted now. Values that have been erased or have expired are null, so its ' +
          'SHA-256 may differ from that of the attempts.',
      ),
  })
  .meta({ id: 'ShownWebhookDelivery' });
export type ShownWebhookDelivery = z.infer<typeof shownWebhookDeliverySchema>;
