import { z } from 'zod';
import { environmentSchema } from '../environment.ts';

/** Which events are posted besides their types; empty lists take all. */
const filters = z.object({
  /** Sending domains: of these, and of their messages. The name is that of the sender's address. */
  domains: z.array(z.object({ id: z.string(), name: z.string() })),
  /** Tags of messages, `name:value`. */
  tags: z.array(z.string()),
});
export type WebhookFilters = z.infer<typeof filters>;

/** Headers of the customer's own; their values are in the vault, as they often are passwords. */
const headers = z.object({ names: z.array(z.string()), secretId: z.string() });
export type WebhookHeaders = z.infer<typeof headers>;

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
    /** Absent: none. */
    filters: filters.optional(),
    headers: headers.optional(),
  }),
  /** What was changed; a field that is absent stays as it was. */
  WebhookUpdated: z.object({
    webhookId: z.string(),
    url: z.string().optional(),
    events: z.array(z.string()).optional(),
    description: z.string().nullable().optional(),
    filters: filters.optional(),
    /** null: no longer any. */
    headers: headers.nullable().optional(),
  }),
  /** It has another signing secret; the one before signs too until it ends. */
  WebhookSecretRotated: z.object({ webhookId: z.string(), secretId: z.string(), previousExpiresAt: z.string() }),
  WebhookEnabled: z.object({ webhookId: z.string() }),
  /** `requested`: by its organization. */
  WebhookDisabled: z.object({ webhookId: z.string(), reason: z.enum(['gone', 'failing', 'requested']) }),
  /** The key that answers for it has ended: its events wait until it is adopted. */
  WebhookPaused: z.object({ webhookId: z.string(), keyId: z.string() }),
  /** The actor answers for it from now on. */
  WebhookAdopted: z.object({ webhookId: z.string() }),
  /** Makes an event that is posted to this endpoint alone. */
  WebhookPinged: z.object({ webhookId: z.string() }),
  /** Somebody had a delivery posted again. */
  WebhookDeliveryResent: z.object({ webhookId: z.string(), deliveryId: z.string() }),
  WebhookDeleted: z.object({ webhookId: z.string() }),
};

export type DisabledReason = z.infer<(typeof webhookEvents)['WebhookDisabled']>['reason'];
