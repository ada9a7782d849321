import { type CustomerEvent, customerEvents } from '../../domain/customer-events/customer-events.ts';
import type { ErasureEvent } from '../../domain/erasure/erasure.ts';
import type { InboundRouteEvent } from '../../domain/inbound/route.ts';
import type { RecordedEvent } from '../../domain/kernel/event-store.ts';
import type {
  ApiKeyEvent,
  AuditEvent,
  BillingPeriodEvent,
  InboundEvent,
  MessageEvent,
  SendingDomainEvent,
  SuppressionEvent,
  WebhookEvent,
} from '../../domain/kernel/events.ts';
import type { ReputationEvent } from '../../domain/reputation/reputation.ts';
import type { TemplateEvent } from '../../domain/template/template.ts';
import type { TopicEvent } from '../../domain/topic/topic.ts';
import type { WarmUpEvent } from '../../domain/warm-up/warm-up.ts';
import { type Database, rowsInto } from '../../lib/projections/projections.ts';
import { defineProjection, earlierMessages, known } from '../projection.ts';
import { BOTH_ENVIRONMENTS } from './queries.ts';

type DomainReputationEvent = Extract<ReputationEvent, { readonly data: { readonly domainId: string } }>;
type OfDomain = SendingDomainEvent | DomainReputationEvent | WarmUpEvent;
type OfOrganization =
  | ApiKeyEvent
  | BillingPeriodEvent
  | AuditEvent
  | TemplateEvent
  | TopicEvent
  | InboundRouteEvent
  | ErasureEvent
  | WebhookEvent
  | SuppressionEvent
  | Exclude<ReputationEvent, DomainReputationEvent>;
type FollowedEvent = MessageEvent | InboundEvent | OfDomain | OfOrganization;

interface SentFrom {
  readonly messageId: string;
  readonly domainId: string;
}

interface Row extends Omit<CustomerEvent, 'environment'> {
  readonly environment: string;
  readonly position: string;
  readonly item: number;
  readonly domainId: string | null;
}

interface Changes {
  /** Sending domains of messages, by message id. */
  readonly domains: Map<string, string>;
  /** Messages accepted in this batch. */
  readonly accepted: SentFrom[];
  readonly rows: Row[];
}

const SELECT_DOMAINS = 'select message_id, domain_id from customer_event_messages where message_id = any($1)';

const insertMessages = rowsInto<SentFrom>('customer_event_messages', {
  message_id: 'messageId',
  domain_id: 'domainId',
});

const insertEvents = rowsInto<Row>('customer_events', {
  organization_id: 'organizationId',
  environment: 'environment',
  position: 'position',
  item: 'item',
  type: 'type',
  domain_id: 'domainId',
  event_id: 'id',
  subject_id: 'subjectId',
  sequence: 'sequence',
  recipient_id: 'recipientId',
  content_id: 'contentId',
  facts: 'facts',
  occurred_at: 'timestamp',
});

const begin = async (db: Database, events: readonly RecordedEvent[]): Promise<Changes> => {
  const ids = earlierMessages(events);
  if (ids.length === 0) return { domains: new Map(), accepted: [], rows: [] };
  const { rows } = await db.query<{ message_id: string; domain_id: string }>({
    name: 'event-domains',
    text: SELECT_DOMAINS,
    values: [ids],
  });
  return { domains: new Map(rows.map((row) => [row.message_id, row.domain_id])), accepted: [], rows: [] };
};

const note = ({ rows }: Changes, event: RecordedEvent, domainId: string | null): void => {
  for (const [item, shown] of customerEvents(event).entries()) {
    rows.push({
      ...shown,
      position: event.position,
      item,
      domainId,
      environment: shown.environment ?? BOTH_ENVIRONMENTS,
    });
  }
};

const ofMessage = (changes: Changes, event: RecordedEvent<MessageEvent>): void =>
  note(changes, event, known(changes.domains, event.data.messageId));

type ShownInbound = Extract<InboundEvent, { readonly data: { readonly domainId: string } }>;

const ofInbound = (changes: Changes, event: RecordedEvent<ShownInbound>): void =>
  note(changes, event, event.data.domainId);

const ofDomain = (changes: Changes, event: RecordedEvent<OfDomain>): void => note(changes, event, event.data.domainId);

const ofOrganization = (changes: Changes, event: RecordedEvent<OfOrganization>): void => note(changes, event, null);

export const eventsProjection = defineProjection<FollowedEvent, Changes>({
  name: 'events',
  version: 2,
  categories: [
    'message',
    'apiKey',
    'domain',
    'template',
    'webhook',
    'suppression',
    'topic',
    'inbound',
    'inboundRoute',
    'erasure',
    'reputation',
    'warmUp',
    'invoice',
    'audit',
  ],
  tables: ['customer_events', 'customer_event_messages'],
  handlers: {
    MessageAccepted: (changes, event) => {
      const { messageId, domainId } = event.data;
      changes.domains.set(messageId, domainId);
      changes.accepted.push({ messageId, domainId });
      ofMessage(changes, event);
    },
    MessageScheduled: ofMessage,
    MessageRescheduled: ofMessage,
    RecipientsHeld: 'ignored',
    AttemptStarted: ofMessage,
    AttemptOutcomeUnknown: ofMessage,
    RecipientDelivered: ofMessage,
    RecipientDeferred: ofMessage,
    RecipientBounced: ofMessage,
    RecipientExpired: ofMessage,
    RecipientFailed: ofMessage,
    RecipientSuppressed: ofMessage,
    RecipientCancelled: ofMessage,
    RecipientOpened: ofMessage,
    RecipientClicked: ofMessage,
    RecipientComplained: ofMessage,
    RecipientReportNoted: 'ignored',
    RecipientsResent: 'ignored',
    RecipientUnsubscribed: ofMessage,
    KeyCreated: ofOrganization,
    KeyUpdated: ofOrganization,
    KeyRotated: ofOrganization,
    KeyRevoked: ofOrganization,
    KeyExpired: ofOrganization,
    KeyDeleted: ofOrganization,
    DomainRegistered: ofDomain,
    DomainVerified: ofDomain,
    DomainDegraded: ofDomain,
    DomainFailed: ofDomain,
    DkimKeysAdded: ofDomain,
    DkimKeysActivated: ofDomain,
    DkimKeysDestroyed: ofDomain,
    DomainBrandingChanged: ofDomain,
    DomainTrackingChanged: ofDomain,
    InboundEnabled: ofDomain,
    InboundDisabled: ofDomain,
    DomainDeleted: ofDomain,
    TemplateCreated: ofOrganization,
    TemplateDraftChanged: 'ignored',
    TemplatePublished: ofOrganization,
    TemplateRolledBack: ofOrganization,
    TemplateDeleted: ofOrganization,
    WebhookRegistered: ofOrganization,
    WebhookUpdated: ofOrganization,
    WebhookSecretRotated: ofOrganization,
    WebhookEnabled: ofOrganization,
    WebhookDisabled: ofOrganization,
    WebhookPaused: ofOrganization,
    WebhookAdopted: ofOrganization,
    WebhookPinged: ofOrganization,
    WebhookDeliveryResent: 'ignored',
    WebhookDeleted: ofOrganization,
    SuppressionAdded: ofOrganization,
    SuppressionRemoved: ofOrganization,
    AddressResubscribed: ofOrganization,
    TopicCreated: ofOrganization,
    TopicChanged: ofOrganization,
    TopicDeleted: ofOrganization,
    InboundReceived: ofInbound,
    InboundForwardStarted: 'ignored',
    InboundForwardDeferred: 'ignored',
    InboundForwarded: ofInbound,
    InboundForwardFailed: ofInbound,
    InboundRouteCreated: ofOrganization,
    InboundRouteChanged: ofOrganization,
    InboundRouteDeleted: ofOrganization,
    InboundForwardConfirmed: ofOrganization,
    ErasureRequested: 'ignored',
    PersonErased: ofOrganization,
    SendingWarned: ofDomain,
    SendingSlowed: ofDomain,
    SendingPaused: ofDomain,
    SendingRecovered: ofDomain,
    SendingReleased: ofDomain,
    OrganizationSendingWarned: ofOrganization,
    OrganizationSendingSlowed: ofOrganization,
    OrganizationSendingPaused: ofOrganization,
    OrganizationSendingRecovered: ofOrganization,
    OrganizationSendingReleased: ofOrganization,
    BulkMailPaused: 'ignored',
    BulkMailResumed: 'ignored',
    WarmUpStarted: ofDomain,
    WarmUpEnded: ofDomain,
    QuotaWarned: ofOrganization,
    QuotaExceeded: ofOrganization,
    InvoiceClosed: ofOrganization,
    AuditKeyAdded: 'ignored',
    AuditKeyRetired: 'ignored',
    CheckpointSigned: ofOrganization,
    CheckpointCosigned: 'ignored',
    AuditDisputed: 'ignored',
    AuditReopened: 'ignored',
    EarlierEventsAdopted: 'ignored',
    AuditExported: 'ignored',
  },
  begin,
  write: async (db, { accepted, rows }) => {
    await insertMessages(db, accepted);
    await insertEvents(db, rows);
  },
});
