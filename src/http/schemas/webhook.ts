import { z } from 'zod';
import { environmentSchema } from '../../domain/kernel/ids.ts';
import type { ExistingWebhook } from '../../domain/webhook/webhook.ts';
import { timeSchema } from './envelope.ts';

export const webhookSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('webhook'),
    url: z.string(),
    events: z.array(z.string()),
    description: z.string().nullable(),
    environment: environmentSchema,
    status: z
      .enum(['enabled', 'disabled', 'paused'])
      .describe('`paused`: the key in `owned_by` has ended. Events wait until the webhook is adopted.'),
    owned_by: z
      .strictObject({ type: z.enum(['key', 'member', 'operator', 'service']), id: z.string().nullable() })
      .describe(
        'The actor that registered it, or last enabled it, adopted it or changed where its events go. If it is a key without ' +
          '`read`, posts contain no contents of mail.',
      ),
    disabled_reason: z
      .enum(['gone', 'failing', 'requested'])
      .nullable()
      .describe('`gone`: it answered 410. `failing`: no delivery succeeded for 5 days. `requested`: by the API.'),
    failing_since: timeSchema()
      .nullable()
      .describe(
        'Start of the current run of failed tries; null: no tries, or the last one succeeded. The webhook is disabled ' +
          '5 days later.',
      ),
    filters: z.strictObject({
      domain_ids: z
        .array(z.string())
        .describe('Events of these sending domains and of their messages only; empty: all.'),
      tags: z.array(z.string()).describe('Events of messages with one of these tags only; empty: all.'),
    }),
    header_names: z.array(z.string()).describe('Custom headers, whose values are not shown.'),
    created_at: timeSchema(),
  })
  .meta({ id: 'Webhook' });
export type SerializedWebhook = z.infer<typeof webhookSchema>;

/** The secret is shown this once. */
export const createdWebhookSchema = webhookSchema.extend({ secret: z.string() }).meta({ id: 'CreatedWebhook' });
export const rotatedWebhookSchema = createdWebhookSchema
  .extend({ previous_secret_expires_at: timeSchema() })
  .meta({ id: 'RotatedWebhook' });

export const pingedWebhookSchema = z
  .strictObject({
    object: z.literal('webhook_ping'),
    webhook_id: z.string(),
    event_id: z.string(),
    delivery_id: z.string().describe('The delivery shows how the endpoint answered.'),
  })
  .meta({ id: 'WebhookPing' });

const failingSince = ({ status, enabledAt }: ExistingWebhook, since: Date | undefined): string | null => {
  if (status !== 'enabled' || since === undefined) return null;
  const at = since.toISOString();
  return at > enabledAt ? at : enabledAt;
};

const OWNERS = ['key', 'member'] as const;

const ownerOf = ({ ownedBy }: ExistingWebhook): SerializedWebhook['owned_by'] => {
  const [kind, id = null] = ownedBy.split(':');
  const type = OWNERS.find((one) => one === kind);
  if (type !== undefined) return { type, id };
  return { type: ownedBy === 'operator' ? 'operator' : 'service', id: null };
};

/** @param failing when endpoints began to fail, by id. What failed before a webhook was enabled does not count. */
export const serializeWebhook = (
  webhook: ExistingWebhook,
  failing: ReadonlyMap<string, Date> = new Map(),
): SerializedWebhook => ({
  id: webhook.webhookId,
  object: 'webhook',
  url: webhook.url,
  events: [...webhook.events],
  description: webhook.description,
  environment: webhook.environment,
  status: webhook.status === 'deleted' ? 'disabled' : webhook.status,
  owned_by: ownerOf(webhook),
  disabled_reason: webhook.disabledReason,
  failing_since: failingSince(webhook, failing.get(webhook.webhookId)),
  filters: { domain_ids: webhook.filters.domains.map(({ id }) => id), tags: webhook.filters.tags },
  header_names: [...(webhook.headers?.names ?? [])],
  created_at: webhook.createdAt,
});
