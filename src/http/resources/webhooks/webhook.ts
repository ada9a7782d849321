import { z } from 'zod';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { allows } from '../../../domain/api-key/events.ts';
import { CUSTOMER_EVENT_TYPES } from '../../../domain/customer-events/customer-event-types.ts';
import { environmentSchema } from '../../../domain/kernel/environment.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { WebhookFilters } from '../../../domain/webhook/events.ts';
import { RESEND_EVENTS } from '../../../domain/webhook/resend.ts';
import { SENDGRID_EVENTS, verificationKeyOf } from '../../../domain/webhook/sendgrid.ts';
import { type ExistingWebhook, isSignedForSendgrid } from '../../../domain/webhook/webhook.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { atMost, line, timeSchema } from '../../fields.ts';
import { loadDomain } from '../domains/domains.ts';

/** `outbox`: events as `GET /v1/events` returns them. */
const WEBHOOK_FORMATS = ['outbox', 'sendgrid', 'resend', 'postmark_inbound', 'sendgrid_inbound'] as const;

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
      .describe('`paused`: the key in `owned_by` has ended. Events wait until someone adopts the webhook.'),
    owned_by: z
      .strictObject({ type: z.enum(['key', 'member', 'operator', 'service']), id: z.string().nullable() })
      .describe(
        'The actor who created the webhook, or last enabled it, adopted it or changed its URL. If this is a key without `read`, posts ' +
          'contain no mail contents.',
      ),
    disabled_reason: z
      .enum(['gone', 'failing', 'requested'])
      .nullable()
      .describe('`gone`: it answered 410. `failing`: no delivery succeeded for 5 days. `requested`: by the API.'),
    failing_since: timeSchema()
      .nullable()
      .describe(
        'Time since which every attempt has failed. After 5 days the webhook is disabled. null: the last attempt succeeded, ' +
          'or there was none.',
      ),
    waiting_since: timeSchema()
      .nullable()
      .describe(
        'Creation time of the oldest pending delivery, which waits for its first post or a retry. null: none waits.',
      ),
    filters: z.strictObject({
      domain_ids: z
        .array(z.string())
        .describe('Only events of these sending domains and of their messages. Empty: all.'),
      tags: z.array(z.string()).describe('Only events of messages with one of these tags. Empty: all.'),
    }),
    format: z.enum(WEBHOOK_FORMATS).describe('Shape and signature of the posts.'),
    header_names: z.array(z.string()).describe('Names of the custom headers. Their values are not shown.'),
    created_at: timeSchema(),
  })
  .meta({ id: 'Webhook' });
export type SerializedWebhook = z.infer<typeof webhookSchema>;

/** The secret is shown this once. */
export const createdWebhookSchema = webhookSchema
  .extend({
    secret: z.string(),
    verification_key: z
      .string()
      .nullable()
      .describe('Public key (ECDSA, in base64) that verifies posts in the formats of SendGrid. null: another format.'),
  })
  .meta({ id: 'CreatedWebhook' });
export const rotatedWebhookSchema = createdWebhookSchema
  .extend({ previous_secret_expires_at: timeSchema() })
  .meta({ id: 'RotatedWebhook' });

export const pingedWebhookSchema = z
  .strictObject({
    object: z.literal('webhook_ping'),
    webhook_id: z.string(),
    event_id: z.string(),
    delivery_id: z.string().describe('Id of the delivery, which shows how the endpoint answered.'),
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

/** How endpoints are doing, by the id of their webhook. */
interface EndpointTimes {
  readonly failing: ReadonlyMap<string, Date>;
  readonly waiting: ReadonlyMap<string, Date>;
}

const NEW: EndpointTimes = { failing: new Map(), waiting: new Map() };

export const endpointTimes = async (
  { webhookDeliveries }: Pick<HttpDependencies, 'webhookDeliveries'>,
  webhookIds: readonly string[],
): Promise<EndpointTimes> => {
  const [failing, waiting] = await Promise.all([
    webhookDeliveries.failingSince(webhookIds),
    webhookDeliveries.waitingSince(webhookIds),
  ]);
  return { failing, waiting };
};

/** Failures from before the webhook was enabled do not count. @param times absent: it was just created. */
export const serializeWebhook = (
  webhook: ExistingWebhook,
  { failing, waiting }: EndpointTimes = NEW,
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
  waiting_since: waiting.get(webhook.webhookId)?.toISOString() ?? null,
  filters: { domain_ids: webhook.filters.domains.map(({ id }) => id), tags: webhook.filters.tags },
  format: webhook.format ?? 'outbox',
  header_names: [...(webhook.headers?.names ?? [])],
  created_at: webhook.createdAt,
});

/** Fields of registering and of updating a webhook. */

const URL_CHARACTERS_MAX = 2048;
const DESCRIPTION_CHARACTERS_MAX = 500;
/** More than there are types; duplicates are ignored. */
const EVENTS_MAX = 100;
/** Compared with every event. */
const FILTERED_MAX = 100;
const TAG_CHARACTERS_MAX = 300;
/** Sent with every post. */
const HEADERS_MAX = 10;
const HEADER_NAME_CHARACTERS_MAX = 64;
const HEADER_VALUE_CHARACTERS_MAX = 1024;

const FAMILIES = [...new Set(CUSTOMER_EVENT_TYPES.map((type) => `${type.slice(0, type.indexOf('.'))}.*`))];
const WANTED: readonly string[] = [...CUSTOMER_EVENT_TYPES, ...FAMILIES];

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Headers that the service sets, that verifiers read instead, or that concern the connection (RFC 9110 §7.6.1). */
const RESERVED =
  /^(?:webhook-.*|svix-.*|x-twilio-email-event-webhook-.*|content-.*|proxy-.*|host|user-agent|date|expect|connection|keep-alive|te|trailer|transfer-encoding|upgrade)$/;
const VISIBLE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

const headerValue = z
  .string()
  .max(HEADER_VALUE_CHARACTERS_MAX)
  .refine(
    (value) => VISIBLE.test(value),
    'must contain only printable ASCII characters, without spaces at the start or end',
  );
const customHeaders = z
  .record(z.string(), headerValue)
  .refine(
    (headers) => Object.keys(headers).every((name) => name.length <= HEADER_NAME_CHARACTERS_MAX && TOKEN.test(name)),
    `must have valid HTTP header names of at most ${HEADER_NAME_CHARACTERS_MAX} characters`,
  )
  .refine(
    (headers) => !Object.keys(headers).some((name) => RESERVED.test(name.toLowerCase())),
    'must not contain headers that the service or the connection sets',
  );

const unique = (texts: readonly string[]): string[] => [...new Set(texts)];

export const webhookFields = {
  url: line(URL_CHARACTERS_MAX).describe(
    'URL that events are posted to: HTTPS, on port 443 or 8443 of a public address, without user and password. While mail ' +
      'is captured (`MAIL_URL=capture:`), plain HTTP, any port and loopback addresses are allowed too. The host name is ' +
      'resolved now and before every post.',
  ),
  events: atMost(
    EVENTS_MAX,
    z.array(z.string().refine((text) => WANTED.includes(text), `must be one of ${WANTED.join(', ')}`)).min(1),
  )
    .transform(unique)
    .describe(`Event types (\`message.delivered\`) or families: ${FAMILIES.map((one) => `\`${one}\``).join(', ')}.`),
  description: line(DESCRIPTION_CHARACTERS_MAX, 0).nullable().describe('A note for people who manage the webhook.'),
  filters: z
    .strictObject({
      domain_ids: atMost(FILTERED_MAX, z.array(z.string().max(64)))
        .transform(unique)
        .default([])
        .describe('Only events of these sending domains and of their messages. Empty: all.'),
      tags: atMost(FILTERED_MAX, z.array(line(TAG_CHARACTERS_MAX)))
        .transform(unique)
        .default([])
        .describe('Only events of messages with one of these tags: `order:1234`. Empty: all.'),
    })
    .describe('Filters for the events that are posted. Both must match.'),
  headers: atMost(HEADERS_MAX, customHeaders).describe(
    `Headers to add to every post, at most ${HEADERS_MAX}, such as \`authorization\`. Their values are stored encrypted and ` +
      'not shown again. Not allowed: `webhook-*`, `svix-*`, `x-twilio-email-event-webhook-*`, `content-*`, `host`, `user-agent`, and headers of the connection.',
  ),
};

interface SentFilters {
  readonly domain_ids: readonly string[];
  readonly tags: readonly string[];
}

/** @throws {DomainError} `permission_missing` for tags; `not_found`, `other_organization` for a domain. */
export const filtersOf = async (
  deps: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  { domain_ids, tags }: SentFilters,
): Promise<WebhookFilters> => {
  if (tags.length > 0 && !allows(caller.permissions, 'read')) {
    throw new DomainError('permission_missing', "API key lacks 'read' permission, which a filter by tags requires");
  }
  const found = await Promise.all(domain_ids.map((id) => loadDomain(deps, caller, id)));
  return { domains: found.map(({ domain: { domainId: id, name } }) => ({ id, name })), tags: [...tags] };
};

/** Names of headers are not case-sensitive (RFC 9110 §5.1). */
export const headersOf = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

const named = (types: readonly string[]): string => types.map((type) => `\`${type}\``).join(', ');

/** Set when a webhook is created, and never changed: a receiver understands one format. */
export const formatField = z
  .enum(WEBHOOK_FORMATS)
  .default('outbox')
  .describe(
    '`outbox`: events as `GET /v1/events` returns them. `sendgrid`: as the Event Webhook of SendGrid posts them, with its ' +
      `signature; \`events\` must then be among ${named(SENDGRID_EVENTS)}. \`resend\`: as webhooks of Resend are posted, with ` +
      `the headers \`svix-*\` too; \`events\` must then be among ${named(RESEND_EVENTS)}. \`postmark_inbound\`: received mail as ` +
      'Postmark posts it, with its text, html and attachments; `sendgrid_inbound`: as the Inbound Parse form of SendGrid; `events` must ' +
      'then be `inbound.received`. It cannot be changed.',
  );

/** Secrets of a webhook, shown once. */
export const serializeSecret = ({ format }: Pick<ExistingWebhook, 'format'>, secret: string) => ({
  secret,
  verification_key: isSignedForSendgrid(format) ? verificationKeyOf(secret) : null,
});
