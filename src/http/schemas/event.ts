import { z } from 'zod';
import { BOUNCE_CATEGORIES } from '../../domain/bounce/categories.ts';
import type { CustomerEventType } from '../../domain/customer-event-types.ts';
import { environmentSchema } from '../../domain/environment.ts';
import { SUPPRESSION_SCOPES } from '../../domain/suppression/events.ts';
import { smtpShape } from './smtp.ts';
import { timeShape } from './time.ts';

/** Events of these types, which have the same data. */
const eventOf = <const Types extends readonly [CustomerEventType, ...CustomerEventType[]], Data extends z.ZodRawShape>(
  types: Types,
  data: Data,
) =>
  z.strictObject({
    id: z.string(),
    object: z.literal('event'),
    type: z.enum(types),
    timestamp: timeShape(),
    environment: environmentSchema.nullable(),
    sequence: z.number().int(),
    data: z.strictObject(data),
  });

/** Of every event of a message. */
const message = {
  message_id: z.string(),
  recipient: z.strictObject({
    id: z.string(),
    /** null: the contents of the message were erased. */
    address: z.string().nullable(),
    kind: z.enum(['to', 'cc', 'bcc']).nullable(),
  }),
  tags: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  metadata: z.record(z.string(), z.string()),
};
const attempt = z.number().int();
const reason = z.string();
/** Why it was refused. */
const category = z.enum(BOUNCE_CATEGORIES).optional();
/** It suppresses nobody: others of the domain had the same copy, and could have said so. */
const shared = z.literal(true).optional();
const suppression = z.strictObject({ id: z.string(), address: z.string().nullable() });

const SHAPES = {
  MessageAcceptedEvent: eventOf(['message.accepted'], message),
  MessageScheduledEvent: eventOf(['message.scheduled', 'message.rescheduled'], {
    ...message,
    scheduled_at: timeShape(),
  }),
  MessageSendingEvent: eventOf(['message.sending'], { ...message, attempt }),
  MessageDeliveredEvent: eventOf(['message.delivered'], { ...message, smtp: smtpShape, attempt }),
  MessageDeferredEvent: eventOf(['message.deferred'], {
    ...{ ...message, smtp: smtpShape.optional(), attempt },
    ...{ next_attempt_at: timeShape(), reason, category },
  }),
  MessageBouncedEvent: eventOf(['message.bounced'], {
    ...{ ...message, smtp: smtpShape, attempt, reason, category },
    /** It bounced after it had been delivered. */
    late: z.literal(true).optional(),
    shared,
  }),
  MessageEndedEvent: eventOf(['message.failed', 'message.suppressed', 'message.cancelled', 'message.expired'], {
    ...message,
    reason,
  }),
  MessageComplainedEvent: eventOf(['message.complained'], { ...message, shared }),
  MessageUnsubscribedEvent: eventOf(['message.unsubscribed'], {
    ...message,
    /** How somebody unsubscribed. */
    method: z.enum(['one_click', 'page', 'mail']),
  }),
  DomainEvent: eventOf(
    [
      ...(['domain.registered', 'domain.verified', 'domain.failed', 'domain.deleted'] as const),
      ...(['domain.dkim_keys_added', 'domain.dkim_keys_activated', 'domain.dkim_keys_destroyed'] as const),
      ...(['domain.warm_up_started', 'domain.warm_up_ended'] as const),
      ...(['domain.sending_recovered', 'domain.sending_released'] as const),
    ],
    { domain_id: z.string() },
  ),
  DomainTroubleEvent: eventOf(
    ['domain.degraded', 'domain.sending_warned', 'domain.sending_slowed', 'domain.sending_paused'],
    { domain_id: z.string(), reason },
  ),
  OrganizationEvent: eventOf(['organization.sending_recovered', 'organization.sending_released'], {
    organization_id: z.string(),
  }),
  OrganizationTroubleEvent: eventOf(
    ['organization.sending_warned', 'organization.sending_slowed', 'organization.sending_paused'],
    { organization_id: z.string(), reason },
  ),
  ApiKeyEvent: eventOf(
    [
      ...(['api_key.created', 'api_key.updated', 'api_key.rotated'] as const),
      ...(['api_key.revoked', 'api_key.expired', 'api_key.deleted'] as const),
    ],
    { api_key_id: z.string() },
  ),
  WebhookEvent: eventOf(['webhook.created', 'webhook.disabled', 'webhook.deleted'], { webhook_id: z.string() }),
  SuppressionCreatedEvent: eventOf(['suppression.created'], {
    suppression,
    reason,
    /** What it keeps back. */
    scope: z.enum(SUPPRESSION_SCOPES),
    /** null: for good. */
    expires_at: timeShape().nullable(),
  }),
  SuppressionDeletedEvent: eventOf(['suppression.deleted'], { suppression }),
};

type Shapes = typeof SHAPES;
type Described = z.output<Shapes[keyof Shapes]>['type'];
/** The compiler names a type that is missing here. */
export const EVENT_SHAPES: CustomerEventType extends Described ? Shapes : never = SHAPES;

/** `domain/shown-event.ts` makes it, for the feed and for webhooks alike. */
export const eventShape = z.discriminatedUnion(
  'type',
  Object.values(SHAPES) as unknown as [Shapes[keyof Shapes], ...Shapes[keyof Shapes][]],
);
