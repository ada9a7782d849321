import { z } from 'zod';
import { environmentSchema } from '../environment.ts';

export const webhookEvents = {
  WebhookRegistered: z.object({
    webhookId: z.string(),
    environment: environmentSchema,
    url: z.string(),
    /** Types or families of customer events: `message.delivered`, `message.*`. */
    events: z.array(z.string()),
    description: z.string().nullable(),
    /** Vault id of the signing secret. */
    secretId: z.string(),
  }),
  WebhookDisabled: z.object({ webhookId: z.string(), reason: z.enum(['gone', 'failing']) }),
  WebhookDeleted: z.object({ webhookId: z.string() }),
};
