import { z } from 'zod';
import { BOUNCE_CATEGORIES } from '../../../domain/bounce/categories.ts';
import type { CustomerEventType } from '../../../domain/customer-events/customer-event-types.ts';
import { FORWARD_FAILURES, INBOUND_ACTIONS, VERDICTS } from '../../../domain/inbound/events.ts';
import { environmentSchema } from '../../../domain/kernel/environment.ts';
import { UNSUBSCRIBE_METHODS } from '../../../domain/message/events.ts';
import { REPLY_STAGES, TLS_POLICIES } from '../../../domain/ports/mail.ts';
import { SUPPRESSION_SCOPES } from '../../../domain/suppression/events.ts';
import { CLIENT_FAMILIES, MACHINE_REASONS, NETWORK_KINDS } from '../../../domain/tracking/tracking.ts';
import { timeSchema } from '../../fields.ts';

/** Reply of a mail server. */
export const smtpSchema = z.strictObject({
  /** 0: there was no reply. */
  code: z.number().int(),
  enhanced: z.string().nullable(),
  text: z.string().nullable(),
  mx: z.string().nullable(),
  tls: z.string().nullable(),
  cipher: z.string().nullable(),
  policy: z.enum(TLS_POLICIES).nullable(),
  address: z.string().nullable(),
  stage: z.enum(REPLY_STAGES).nullable(),
});

/** Events of several types with the same data. @param id name in the OpenAPI document. */
const eventOf = <const Types extends readonly [CustomerEventType, ...CustomerEventType[]], Data extends z.ZodRawShape>(
  id: string,
  types: Types,
  data: Data,
) =>
  z
    .strictObject({
      id: z.string(),
      object: z.literal('event'),
      type: z.enum(types),
      timestamp: timeSchema(),
      environment: environmentSchema.nullable(),
      sequence: z.number().int(),
      data: z.strictObject(data),
    })
    .meta({ id });

/** The recipient that an event about a message concerns. */
export const eventRecipientSchema = z.strictObject({
  id: z.string(),
  /** null: the content of the message has expired. */
  address: z.string().nullable(),
  kind: z.enum(['to', 'cc', 'bcc']).nullable(),
});

/** In every event about a message. */
const message = {
  message_id: z.string(),
  recipient: eventRecipientSchema,
  tags: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  metadata: z.record(z.string(), z.string()),
};
const attempt = z.number().int();
const reason = z.string();
/** Why the server refused it. */
const category = z.enum(BOUNCE_CATEGORIES).optional();
/** Several recipients had the same copy. Any of them may have sent the report, so none is suppressed. */
const shared = z.literal(true).optional();
const engagement = {
  first: z.literal(true).optional().describe('The first time: by the recipient, or by a machine if `machine` is true.'),
  count: z.number().int().describe('Number of times within one minute.'),
  machine: z.boolean().describe('true: a machine did it, not the recipient.'),
  machine_reason: z.enum(MACHINE_REASONS).optional().describe('Reason for the classification as a machine.'),
  client: z.enum(CLIENT_FAMILIES).describe('Family of the mail program or browser.'),
  network: z
    .enum(NETWORK_KINDS)
    .describe('Kind of network that the request came from. The address itself is not stored.'),
};
const period = z.string().describe('A month in UTC, such as 2026-11.');
const suppression = z.strictObject({ id: z.string(), address: z.string().nullable() });

/** Numbers of items removed by an erasure. */
export const erasureCountsSchema = z.strictObject({
  messages: z.int().describe('Messages, each with its addresses, subject, bodies, attachments, tags and metadata.'),
  replies: z.int().describe('Texts of replies and reports from mail servers.'),
  links: z.int().describe('Addresses of clicked links.'),
  suppression_evidence: z.int().describe('Addresses and notes of suppressions.'),
  webhook_tries: z.int().describe('Attempts of webhook deliveries, with their responses.'),
  captured_mail: z.int().describe('Captured mail in the inbox.'),
  contacts: z.int().describe('Contact addresses of the organization and of auditors.'),
});

const mailboxSchema = z.strictObject({ address: z.string(), name: z.string().nullable() });

/** Fields of an inbound message in lists and events. null, or empty: its content was removed. */
export const inboundHeadFields = {
  envelope: z
    .strictObject({ from: z.string().describe('Return path. Empty for a delivery report.'), to: z.string() })
    .nullable(),
  from: z.array(mailboxSchema).describe('Senders in the header. Without `dmarc: pass` they can be forged.'),
  subject: z.string().nullable(),
  attachments: z.array(
    z.strictObject({
      filename: z.string().nullable(),
      content_type: z.string(),
      size_bytes: z.int(),
      content_id: z.string().nullable().describe('Name that `cid:` links in the html have for it.'),
      url: z
        .string()
        .optional()
        .describe(
          'Downloads it without an API key. Absent in lists and in the feed: get it with `GET /v1/inbound/{id}`, or from a webhook.',
        ),
      url_expires_at: timeSchema().optional().describe('Time until which the URL works.'),
    }),
  ),
};

/** Fields of an inbound message that can be large. */
export const inboundBodyFields = {
  to: z.array(mailboxSchema),
  cc: z.array(mailboxSchema),
  reply_to: z.array(mailboxSchema),
  message_id: z.string().nullable().describe('`Message-ID`, with angle brackets.'),
  date: z.string().nullable().describe('`Date` as written.'),
  headers: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  text: z.string().nullable(),
  html: z.string().nullable().describe('The html as received. It can contain scripts: show `sanitized_html` instead.'),
  sanitized_html: z.string().nullable().describe('The html without scripts, forms and active content.'),
  reply: z.string().nullable().describe('The text without quoted parts and the signature.'),
  problems: z
    .array(z.string())
    .describe('Problems that kept parts of the mail from being read. Empty: everything was read.'),
};

export const inboundFactFields = {
  size_bytes: z.int().describe('Size of the message as it was received.'),
  verdicts: z
    .strictObject({ spf: z.enum(VERDICTS), dkim: z.enum(VERDICTS), dmarc: z.enum(VERDICTS), arc: z.enum(VERDICTS) })
    .describe('Results of the checks of the sender. `dmarc: pass` means that the sender’s domain is genuine.'),
  marked: z.boolean().describe('true: DMARC failed, and the organization marks such mail.'),
  automatic: z.boolean().describe('true: a program wrote it, such as an out-of-office reply. Do not reply to it.'),
  action: z.enum(INBOUND_ACTIONS).describe('Action of the route that took it; `webhook` if no route matched.'),
  route_id: z.string().nullable().describe('null: no inbound route matched.'),
  in_reply_to_message_id: z.string().nullable().describe('Id of your message that it answers.'),
};

const { message_id: internetMessageId, ...postedBodyFields } = inboundBodyFields;

/** Fields of received mail that posts to webhooks have. They are null or empty if `contents` is not `included`. */
const postedInboundFields = {
  ...z.object(postedBodyFields).partial().shape,
  // Events have ids of our messages in `message_id`.
  internet_message_id: internetMessageId.optional(),
  contents: z
    .enum(['included', 'removed', 'hidden'])
    .optional()
    .describe(
      'Only in posts to webhooks, which have the whole mail. `removed`: it was erased or has expired. `hidden`: the key of the webhook ' +
        'lacks `read`.',
    ),
  left_out: z
    .array(z.enum(['headers', 'text', 'html', 'sanitized_html']))
    .optional()
    .describe('Fields that are too large for a post, and null or empty: get them with `GET /v1/inbound/{id}`.'),
};

const SCHEMAS = {
  MessageAcceptedEvent: eventOf('MessageAcceptedEvent', ['message.accepted'], message),
  MessageScheduledEvent: eventOf('MessageScheduledEvent', ['message.scheduled', 'message.rescheduled'], {
    ...message,
    scheduled_at: timeSchema(),
  }),
  MessageSendingEvent: eventOf('MessageSendingEvent', ['message.sending'], { ...message, attempt }),
  MessageDeliveredEvent: eventOf('MessageDeliveredEvent', ['message.delivered'], {
    ...message,
    smtp: smtpSchema,
    attempt,
  }),
  MessageDeferredEvent: eventOf('MessageDeferredEvent', ['message.deferred'], {
    ...message,
    smtp: smtpSchema.optional(),
    attempt,
    next_attempt_at: timeSchema(),
    reason,
    category,
  }),
  MessageBouncedEvent: eventOf('MessageBouncedEvent', ['message.bounced'], {
    ...message,
    smtp: smtpSchema,
    attempt,
    reason,
    category,
    /** It bounced after it had been delivered. */
    late: z.literal(true).optional(),
    shared,
  }),
  MessageEndedEvent: eventOf(
    'MessageEndedEvent',
    ['message.failed', 'message.suppressed', 'message.cancelled', 'message.expired'],
    {
      ...message,
      reason,
    },
  ),
  MessageOpenedEvent: eventOf('MessageOpenedEvent', ['message.opened'], { ...message, ...engagement }),
  MessageClickedEvent: eventOf('MessageClickedEvent', ['message.clicked'], {
    ...message,
    ...engagement,
    url: z.string().nullable().describe('Target of the link. null: the content of the message has expired.'),
  }),
  MessageComplainedEvent: eventOf('MessageComplainedEvent', ['message.complained'], { ...message, shared }),
  MessageUnsubscribedEvent: eventOf('MessageUnsubscribedEvent', ['message.unsubscribed'], {
    ...message,
    /** How the recipient unsubscribed. */
    method: z.enum(UNSUBSCRIBE_METHODS),
    /** The topic they unsubscribed from; absent: all mail of the same kind. */
    topic_id: z.string().optional(),
  }),
  DomainEvent: eventOf(
    'DomainEvent',
    [
      'domain.registered',
      'domain.updated',
      'domain.verified',
      'domain.failed',
      'domain.deleted',
      'domain.dkim_keys_added',
      'domain.dkim_keys_activated',
      'domain.dkim_keys_destroyed',
      'domain.warm_up_started',
      'domain.warm_up_ended',
      'domain.sending_recovered',
      'domain.sending_released',
    ],
    { domain_id: z.string() },
  ),
  DomainTroubleEvent: eventOf(
    'DomainTroubleEvent',
    ['domain.degraded', 'domain.sending_warned', 'domain.sending_slowed', 'domain.sending_paused'],
    { domain_id: z.string(), reason },
  ),
  OrganizationEvent: eventOf('OrganizationEvent', ['organization.sending_recovered', 'organization.sending_released'], {
    organization_id: z.string(),
  }),
  OrganizationTroubleEvent: eventOf(
    'OrganizationTroubleEvent',
    ['organization.sending_warned', 'organization.sending_slowed', 'organization.sending_paused'],
    { organization_id: z.string(), reason },
  ),
  ApiKeyEvent: eventOf(
    'ApiKeyEvent',
    ['api_key.created', 'api_key.updated', 'api_key.rotated', 'api_key.revoked', 'api_key.expired', 'api_key.deleted'],
    { api_key_id: z.string() },
  ),
  TemplateEvent: eventOf('TemplateEvent', ['template.created', 'template.published', 'template.deleted'], {
    template_id: z.string(),
  }),
  WebhookEvent: eventOf(
    'WebhookEvent',
    [
      'webhook.created',
      'webhook.updated',
      'webhook.enabled',
      'webhook.paused',
      'webhook.adopted',
      'webhook.ping',
      'webhook.deleted',
    ],
    { webhook_id: z.string() },
  ),
  WebhookDisabledEvent: eventOf('WebhookDisabledEvent', ['webhook.disabled'], {
    webhook_id: z.string(),
    reason: z
      .enum(['gone', 'failing', 'requested'])
      .describe('`gone`: it answered 410. `failing`: no delivery succeeded for 5 days. `requested`: by the API.'),
  }),
  SuppressionCreatedEvent: eventOf('SuppressionCreatedEvent', ['suppression.created'], {
    suppression,
    reason,
    /** Which mail is suppressed. */
    scope: z.enum(SUPPRESSION_SCOPES),
    /** Present with scope `topic`. */
    topic_id: z.string().optional(),
    /** null: no expiry. */
    expires_at: timeSchema().nullable(),
  }),
  SuppressionDeletedEvent: eventOf('SuppressionDeletedEvent', ['suppression.deleted'], { suppression }),
  ResubscribedEvent: eventOf('ResubscribedEvent', ['suppression.resubscribed'], {
    suppression,
    /** null: all mail except topics that were unsubscribed individually. */
    topic_id: z.string().nullable(),
  }),
  QuotaEvent: eventOf('QuotaEvent', ['billing.quota_warning', 'billing.quota_exceeded'], {
    invoice_id: z.string().describe('Id of the invoice of the month, which is created after the month ends.'),
    period,
    quota: z.strictObject({ plan: z.string(), limit: z.number().int(), used: z.number().int() }),
  }),
  InvoiceClosedEvent: eventOf('InvoiceClosedEvent', ['billing.invoice_closed'], {
    invoice_id: z.string(),
    period,
    currency: z.string(),
    total: z.number().int().describe('In the currency’s minor unit; a negative amount is a credit.'),
  }),
  AuditCheckpointEvent: eventOf('AuditCheckpointEvent', ['audit.checkpoint'], {
    organization_id: z.string(),
    origin: z.string().describe('Name of the tree of this organization’s events.'),
    size: z.number().int().describe('Number of events that it covers, from the first.'),
    root_hash: z.string().describe('Root of the Merkle tree of these events (RFC 9162), in base64.'),
    note: z
      .string()
      .describe(
        'The signed note (C2SP tlog-checkpoint). Keep it to be able to check later that no earlier event was changed.',
      ),
  }),
  ErasureCompletedEvent: eventOf('ErasureCompletedEvent', ['erasure.completed'], {
    erasure_id: z.string(),
    erased: erasureCountsSchema,
  }),
  TopicEvent: eventOf('TopicEvent', ['topic.created', 'topic.updated', 'topic.deleted'], { topic_id: z.string() }),
  InboundReceivedEvent: eventOf('InboundReceivedEvent', ['inbound.received'], {
    inbound_id: z.string().describe('Id of the received message.'),
    domain_id: z.string(),
    ...inboundHeadFields,
    ...inboundFactFields,
    ...postedInboundFields,
  }),
  InboundForwardedEvent: eventOf('InboundForwardedEvent', ['inbound.forwarded'], {
    inbound_id: z.string(),
    domain_id: z.string(),
    smtp: smtpSchema,
    attempt,
  }),
  InboundForwardFailedEvent: eventOf('InboundForwardFailedEvent', ['inbound.forward_failed'], {
    inbound_id: z.string(),
    domain_id: z.string(),
    smtp: smtpSchema.optional(),
    reason: z.enum(FORWARD_FAILURES),
  }),
  InboundRouteEvent: eventOf(
    'InboundRouteEvent',
    ['inbound_route.created', 'inbound_route.updated', 'inbound_route.deleted'],
    { inbound_route_id: z.string() },
  ),
};

type Schemas = typeof SCHEMAS;
/** An event of the feed. */
export type FeedEvent = z.output<Schemas[keyof Schemas]>;
type DescribedType = z.output<Schemas[keyof Schemas]>['type'];
/** Fails to compile if a type of event has no schema. */
const COMPLETE: CustomerEventType extends DescribedType ? Schemas : never = SCHEMAS;

/** Serialized by `serialize-events.ts`, for the feed and for webhooks alike. */
export const eventSchema = z
  .discriminatedUnion(
    'type',
    Object.values(COMPLETE) as unknown as [Schemas[keyof Schemas], ...Schemas[keyof Schemas][]],
  )
  .meta({ id: 'Event' });
