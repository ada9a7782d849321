import { customerEvents } from '../../domain/customer-events.ts';
import type { RecordedEvent } from '../../domain/event-store.ts';
import type {
  ApiKeyEvent,
  MessageEvent,
  SendingDomainEvent,
  StandingEvent,
  SuppressionEvent,
  WarmUpEvent,
  WebhookEvent,
} from '../../domain/events.ts';
import { asRecords, type Database } from '../database.ts';
import { earlierMessages, known } from '../earlier-messages.ts';
import { defineProjection } from '../projection.ts';
import { BOTH_ENVIRONMENTS } from './both-environments.ts';

type DomainStandingEvent = Extract<StandingEvent, { readonly data: { readonly domainId: string } }>;
type OfDomain = SendingDomainEvent | DomainStandingEvent | WarmUpEvent;
type OfOrganization = ApiKeyEvent | WebhookEvent | SuppressionEvent | Exclude<StandingEvent, DomainStandingEvent>;
type Followed = MessageEvent | OfDomain | OfOrganization;

interface Changes {
  /** Sending domains of messages, by message id. */
  readonly domains: Map<string, string>;
  /** Messages accepted in this batch. */
  readonly accepted: { readonly messageId: string; readonly domainId: string }[];
  readonly rows: object[];
}

const SELECT_DOMAINS = 'select message_id, domain_id from customer_event_messages where message_id = any($1)';

const INSERT_MESSAGES = `
  insert into customer_event_messages (message_id, domain_id)
  select "messageId", "domainId" from json_to_recordset($1) as m("messageId" text, "domainId" text)`;

const INSERT_EVENTS = `
  insert into customer_events (organization_id, environment, position, item, type, domain_id, event_id, subject_id,
    sequence, recipient_id, content_id, facts, occurred_at)
  select "organizationId", environment, position, item, type, "domainId", id, "subjectId",
    sequence, "recipientId", "contentId", facts, timestamp
  from json_to_recordset($1) as e("organizationId" text, environment text, position text, item smallint, type text,
    "domainId" text, id text, "subjectId" text, sequence integer, "recipientId" text, "contentId" text, facts json,
    timestamp timestamptz)`;

const begin = async (db: Database, events: readonly RecordedEvent[]): Promise<Changes> => {
  const ids = earlierMessages(events);
  if (ids.length === 0) return { domains: new Map(), accepted: [], rows: [] };
  const { rows } = await db.query<{ message_id: string; domain_id: string }>({
    ...{ name: 'event-domains', text: SELECT_DOMAINS },
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

const ofDomain = (changes: Changes, event: RecordedEvent<OfDomain>): void => note(changes, event, event.data.domainId);

const ofOrganization = (changes: Changes, event: RecordedEvent<OfOrganization>): void => note(changes, event, null);

export const eventsProjection = defineProjection<Followed, Changes>({
  name: 'events',
  version: 1,
  categories: ['message', 'apiKey', 'domain', 'webhook', 'suppression', 'standing', 'warmUp'],
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
    RecipientComplained: ofMessage,
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
    DomainDeleted: ofDomain,
    WebhookRegistered: ofOrganization,
    WebhookDisabled: ofOrganization,
    WebhookDeleted: ofOrganization,
    SuppressionAdded: ofOrganization,
    SuppressionRemoved: ofOrganization,
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
    WarmUpStarted: ofDomain,
    WarmUpEnded: ofDomain,
  },
  begin,
  write: async (db, { accepted, rows }) => {
    if (accepted.length > 0) {
      await db.query({ name: 'insert-event-messages', text: INSERT_MESSAGES, values: asRecords(accepted) });
    }
    if (rows.length > 0) {
      await db.query({ name: 'insert-events', text: INSERT_EVENTS, values: asRecords(rows) });
    }
  },
});
