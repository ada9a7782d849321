import type { z } from 'zod';
import { apiKeyEvents, apiKeyRefusalEvents } from '../api-key/events.ts';
import { auditEvents, auditorEvents, readingEvents } from '../audit/events.ts';
import { billingPeriodEvents } from '../billing/plan.ts';
import { type DestinationEvent, destinationEvents } from '../destination/suspension.ts';
import { type ErasureEvent, erasureEvents } from '../erasure/erasure.ts';
import { inboundEvents } from '../inbound/events.ts';
import { type InboundRouteEvent, inboundRouteEvents } from '../inbound/route.ts';
import { memberEvents, sessionEvents } from '../member/events.ts';
import { messageEvents } from '../message/events.ts';
import { organizationEvents } from '../organization/events.ts';
import { type ReputationEvent, reputationEvents } from '../reputation/reputation.ts';
import { domainNameEvents, domainRecordsEvents, sendingDomainEvents } from '../sending-domain/events.ts';
import { suppressionEvents } from '../suppression/events.ts';
import { type TemplateEvent, templateEvents } from '../template/template.ts';
import { type TopicEvent, topicEvents } from '../topic/topic.ts';
import { type DailyQuotaEvent, dailyQuotaEvents, type WarmUpEvent, warmUpEvents } from '../warm-up/warm-up.ts';
import { webhookEvents } from '../webhook/events.ts';
import type { EventsOf } from './event.ts';

export type OrganizationEvent = EventsOf<typeof organizationEvents>;
export type BillingPeriodEvent = EventsOf<typeof billingPeriodEvents>;
export type ApiKeyEvent = EventsOf<typeof apiKeyEvents>;
export type ApiKeyRefusalEvent = EventsOf<typeof apiKeyRefusalEvents>;
export type SendingDomainEvent = EventsOf<typeof sendingDomainEvents>;
export type DomainRecordsEvent = EventsOf<typeof domainRecordsEvents>;
export type DomainNameEvent = EventsOf<typeof domainNameEvents>;
export type MessageEvent = EventsOf<typeof messageEvents>;
export type InboundEvent = EventsOf<typeof inboundEvents>;
export type WebhookEvent = EventsOf<typeof webhookEvents>;
export type SuppressionEvent = EventsOf<typeof suppressionEvents>;
export type AuditEvent = EventsOf<typeof auditEvents>;
export type AuditorEvent = EventsOf<typeof auditorEvents>;
export type MemberEvent = EventsOf<typeof memberEvents>;
export type SessionEvent = EventsOf<typeof sessionEvents>;
type ReadingEvent = EventsOf<typeof readingEvents>;

/** Every event of the log. Names and shapes are permanent: a change of shape is a new version, upcast in `codec.ts`. */
export type OutboxEvent =
  | OrganizationEvent
  | BillingPeriodEvent
  | ApiKeyEvent
  | ApiKeyRefusalEvent
  | SendingDomainEvent
  | DomainRecordsEvent
  | DomainNameEvent
  | MessageEvent
  | InboundEvent
  | TemplateEvent
  | WebhookEvent
  | DestinationEvent
  | SuppressionEvent
  | TopicEvent
  | InboundRouteEvent
  | ErasureEvent
  | ReputationEvent
  | WarmUpEvent
  | DailyQuotaEvent
  | AuditEvent
  | AuditorEvent
  | MemberEvent
  | SessionEvent
  | ReadingEvent;

export type EventType = OutboxEvent['type'];

/** Current schema of each event's data. */
export const EVENT_SCHEMAS: Readonly<Record<EventType, z.ZodType>> = {
  ...organizationEvents,
  ...billingPeriodEvents,
  ...apiKeyEvents,
  ...apiKeyRefusalEvents,
  ...sendingDomainEvents,
  ...domainRecordsEvents,
  ...domainNameEvents,
  ...messageEvents,
  ...inboundEvents,
  ...templateEvents,
  ...webhookEvents,
  ...destinationEvents,
  ...suppressionEvents,
  ...topicEvents,
  ...inboundRouteEvents,
  ...erasureEvents,
  ...reputationEvents,
  ...warmUpEvents,
  ...dailyQuotaEvents,
  ...auditEvents,
  ...auditorEvents,
  ...memberEvents,
  ...sessionEvents,
  ...readingEvents,
};
