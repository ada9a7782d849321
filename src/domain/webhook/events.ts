import { z } from 'zod';
import { environmentSchema } from '../kernel/environment.ts';

/** Filters in addition to event types. Empty lists match everything. */
const filters = z.object({
  /** Sending domains: matches their events and those of their messages. The name is that of the sender's address. */
  domains: z.array(z.object({ id: z.string(), name: z.string() })),
  /** Tags of messages, `name:value`. */
  tags: z.array(z.string()),
});
export type WebhookFilters = z.infer<typeof filters>;

/** Custom headers. Their values are in the vault, because they are often passwords. */
const headers = z.object({ names: z.array(z.string()), secretId: z.string() });
export type WebhookHeaders = z.infer<typeof headers>;

/** Shape and signature of posts, as another service has them. */
const format = z.enum(['sendgrid', 'resend', 'postmark_inbound', 'sendgrid_inbound']);
export type WebhookFormat = z.infer<typeof format>;

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
    /** Absent: events as the feed has them. */
    format: format.optional(),
  }),
  /** Changed fields. Absent fields are unchanged. */
  WebhookUpdated: z.object({
    webhookId: z.string(),
    url: z.string().optional(),
    events: z.array(z.string()).optional(),
    description: z.string().nullable().optional(),
    filters: filters.optional(),
    /** Null if all were removed. */
    headers: headers.nullable().optional(),
  }),
  /** The signing secret was replaced. The previous one signs too until it expires. */
  WebhookSecretRotated: z.object({ webhookId: z.string(), secretId: z.string(), previousExpiresAt: z.string() }),
  WebhookEnabled: z.object({ webhookId: z.string() }),
  /** `requested`: disabled by its organization. */
  WebhookDisabled: z.object({ webhookId: z.string(), reason: z.enum(['gone', 'failing', 'requested']) }),
  /** The key that is responsible for the webhook has ended. Its events wait until it is adopted. */
  WebhookPaused: z.object({ webhookId: z.string(), keyId: z.string() }),
  /** The actor is responsible for the webhook from now on. */
  WebhookAdopted: z.object({ webhookId: z.string() }),
  /** Produces an event that is posted to this endpoint only. */
  WebhookPinged: z.object({ webhookId: z.string() }),
  /** A delivery was posted again on request. */
  WebhookDeliveryResent: z.object({ webhookId: z.string(), deliveryId: z.string() }),
  WebhookDeleted: z.object({ webhookId: z.string() }),
};

export type DisabledReason = z.infer<(typeof webhookEvents)['WebhookDisabled']>['reason'];
