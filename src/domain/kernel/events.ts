import type { z } from 'zod';
import { apiKeyEvents, apiKeyRefusalEvents } from '../api-key/events.ts';
import { auditEvents, auditorEvents, readingEvents } from '../audit/events.ts';
import { billingPeriodEvents } from '../billing/plan.ts';
import { destinationEvents } from '../destination/events.ts';
import { erasureEvents } from '../erasure/events.ts';
import { memberEvents, sessionEvents } from '../member/events.ts';
import { messageEvents } from '../message/events.ts';
import { organizationEvents } from '../organization/events.ts';
import { reputationEvents } from '../reputation/events.ts';
import { domainNameEvents, domainRecordsEvents, sendingDomainEvents } from '../sending-domain/events.ts';
import { suppressionEvents } from '../suppression/events.ts';
import { templateEvents } from '../template/events.ts';
import { topicEvents } from '../topic/events.ts';
import { dailyQuotaEvents, warmUpEvents } from '../warm-up/events.ts';
import { webhookEvents } from '../webhook/events.ts';

type EventsOf<Schemas extends Record<string, z.ZodType>> = {
  [Type in keyof Schemas & string]: { readonly type: Type; readonly data: Readonly<z.infer<Schemas[Type]>> };
}[keyof Schemas & string];

export type OrganizationEvent = EventsOf<typeof organizationEvents>;
export type BillingPeriodEvent = EventsOf<typeof billingPeriodEvents>;
export type ApiKeyEvent = EventsOf<typeof apiKeyEvents>;
export type ApiKeyRefusalEvent = EventsOf<typeof apiKeyRefusalEvents>;
export type SendingDomainEvent = EventsOf<typeof sendingDomainEvents>;
export type DomainRecordsEvent = EventsOf<typeof domainRecordsEvents>;
export type DomainNameEvent = EventsOf<typeof domainNameEvents>;
export type MessageEvent = EventsOf<typeof messageEvents>;
export type TemplateEvent = EventsOf<typeof templateEvents>;
export type WebhookEvent = EventsOf<typeof webhookEvents>;
export type DestinationEvent = EventsOf<typeof destinationEvents>;
export type SuppressionEvent = EventsOf<typeof suppressionEvents>;
export type TopicEvent = EventsOf<typeof topicEvents>;
export type ErasureEvent = EventsOf<typeof erasureEvents>;
export type ReputationEvent = EventsOf<typeof reputationEvents>;
export type WarmUpEvent = EventsOf<typeof warmUpEvents>;
export type DailyQuotaEvent = EventsOf<typeof dailyQuotaEvents>;
export type AuditEvent = EventsOf<typeof auditEvents>;
export type AuditorEvent = EventsOf<typeof auditorEvents>;
export type MemberEvent = EventsOf<typeof memberEvents>;
export type SessionEvent = EventsOf<typeof sessionEvents>;
export type ReadingEvent = EventsOf<typeof readingEvents>;

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
  | TemplateEvent
  | WebhookEvent
  | DestinationEvent
  | SuppressionEvent
  | TopicEvent
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
  ...templateEvents,
  ...webhookEvents,
  ...destinationEvents,
  ...suppressionEvents,
  ...topicEvents,
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
