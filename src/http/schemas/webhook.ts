import { z } from 'zod';
import { environmentSchema } from '../../domain/environment.ts';
import type { WebhookDelivery } from '../../domain/ports/webhook-deliveries.ts';
import type { ExistingWebhook } from '../../domain/webhook/webhook.ts';
import { timeShape } from './time.ts';

export const webhookShape = z.strictObject({
  id: z.string(),
  object: z.literal('webhook'),
  url: z.string(),
  events: z.array(z.string()),
  description: z.string().nullable(),
  environment: environmentSchema,
  status: z.enum(['enabled', 'disabled']),
  created_at: timeShape(),
});
export type WebhookShape = z.infer<typeof webhookShape>;

/** The only time the secret is seen. */
export const createdWebhookShape = webhookShape.extend({ secret: z.string() });

export const showWebhook = (webhook: ExistingWebhook): WebhookShape => ({
  id: webhook.webhookId,
  object: 'webhook',
  url: webhook.url,
  events: [...webhook.events],
  description: webhook.description,
  environment: webhook.environment,
  status: webhook.status === 'enabled' ? 'enabled' : 'disabled',
  created_at: webhook.createdAt,
});

export const webhookDeliveryShape = z.strictObject({
  id: z.string(),
  object: z.literal('webhook_delivery'),
  webhook_id: z.string(),
  event_id: z.string(),
  event_type: z.string(),
  status: z.enum(['pending', 'delivered', 'failed']),
  created_at: timeShape(),
  next_attempt_at: timeShape().nullable(),
  attempts: z.array(
    z.strictObject({
      at: timeShape(),
      status: z.number().int().nullable(),
      duration_ms: z.number(),
      response: z.string(),
    }),
  ),
});
export type WebhookDeliveryShape = z.infer<typeof webhookDeliveryShape>;

export const showWebhookDelivery = (delivery: WebhookDelivery): WebhookDeliveryShape => ({
  id: delivery.id,
  object: 'webhook_delivery',
  webhook_id: delivery.webhookId,
  event_id: delivery.event.id,
  event_type: delivery.event.type,
  status: delivery.state,
  created_at: delivery.createdAt.toISOString(),
  next_attempt_at: delivery.dueAt?.toISOString() ?? null,
  attempts: delivery.tries.map(({ at, status, durationMs, text }) => ({
    at: at.toISOString(),
    status,
    duration_ms: durationMs,
    response: text,
  })),
});
