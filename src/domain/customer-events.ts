import type { BounceCategory } from './bounce/categories.ts';
import { type CustomerEventType, TYPE_OF_DOMAIN, TYPE_OF_REPUTATION, TYPE_OF_TOPIC } from './customer-event-types.ts';
import { sha256 } from './digest.ts';
import type { Environment } from './environment.ts';
import type { MessageEvent, ReputationEvent } from './events.ts';
import { formatId } from './ids.ts';
import type { SmtpFacts } from './message/events.ts';
import type { RecordedEvent } from './ports/event-store.ts';
import type { Measure } from './reputation/events.ts';
import { senderIdIn } from './reputation/reputation.ts';
import type { SuppressionScope } from './suppression/events.ts';
import type { ClientFamily, MachineReason, NetworkKind } from './tracking/client.ts';

/** What happened, without personal data: addresses, tags, metadata and reply texts are added when it is shown. */
export interface CustomerEventFacts {
  readonly smtp?: SmtpFacts;
  readonly attempt?: number;
  readonly nextAttemptAt?: string;
  readonly reason?: string;
  /** Why the next attempt follows: the outcome of this one is unknown. */
  readonly isOutcomeUnknown?: true;
  /** Records that are missing or wrong in the DNS. */
  readonly records?: readonly string[];
  /** What a reputation has reached: a limit of bounces or complaints. */
  readonly limit?: {
    readonly measure: Measure;
    readonly count: number;
    readonly of: number;
    readonly limitPercent: number;
  };
  /** Why it was refused. */
  readonly category?: BounceCategory | undefined;
  /** It bounced after it had been delivered. */
  readonly late?: true | undefined;
  /** It suppresses nobody: several recipients could have said so. */
  readonly shared?: true | undefined;
  readonly scheduledAt?: string;
  /** Of an opening or a click: the first by people, or by machines. */
  readonly first?: true | undefined;
  readonly count?: number;
  readonly machine?: MachineReason | undefined;
  readonly client?: ClientFamily;
  readonly network?: NetworkKind;
  readonly link?: number;
  /** Vault id of the address of the link. */
  readonly linkId?: string;
  /** How somebody unsubscribed. */
  readonly method?: string;
  /** The topic that somebody subscribed to or unsubscribed from. */
  readonly topicId?: string | null | undefined;
  /** What a suppression keeps back, and until when; null: for good. */
  readonly scope?: SuppressionScope;
  readonly expiresAt?: string | null;
}

/** One event as customers see it. `id` follows from the log's own event, so that a replay gives the same. */
export interface CustomerEvent {
  readonly id: string;
  readonly type: CustomerEventType;
  readonly timestamp: string;
  readonly organizationId: string;
  /** null: concerns both environments. */
  readonly environment: Environment | null;
  /** The message, key, domain, organization, webhook, topic or suppression it is about. */
  readonly subjectId: string;
  /** Rises by one within its subject; `….sending_…` and `domain.warm_up_…` are numbered by themselves. */
  readonly sequence: number;
  readonly recipientId: string | null;
  /** Vault id of the contents of the message or suppression: addresses, tags and metadata are there. */
  readonly contentId: string | null;
  readonly facts: CustomerEventFacts;
}

type Kind = Pick<CustomerEvent, 'type' | 'recipientId' | 'facts'>;
type RecipientChange = Extract<MessageEvent, { readonly data: { readonly recipientId: string } }>;

const TYPE_OF_CHANGE: Readonly<Record<RecipientChange['type'], CustomerEventType>> = {
  RecipientDelivered: 'message.delivered',
  RecipientDeferred: 'message.deferred',
  RecipientBounced: 'message.bounced',
  RecipientExpired: 'message.expired',
  RecipientFailed: 'message.failed',
  RecipientSuppressed: 'message.suppressed',
  RecipientCancelled: 'message.cancelled',
  RecipientOpened: 'message.opened',
  RecipientClicked: 'message.clicked',
  RecipientComplained: 'message.complained',
  RecipientUnsubscribed: 'message.unsubscribed',
};

const changeOf = ({ type, data }: RecipientChange): Kind => {
  const { messageId: _m, contentId: _c, sequence: _s, recipientId, ...facts } = data;
  return { type: TYPE_OF_CHANGE[type], recipientId, facts };
};

const scheduledKinds = (
  type: CustomerEventType,
  { recipientIds, scheduledAt }: { readonly recipientIds: readonly string[]; readonly scheduledAt: string },
): readonly Kind[] => recipientIds.map((recipientId) => ({ type, recipientId, facts: { scheduledAt } }));

const messageKinds = (event: MessageEvent): readonly Kind[] => {
  const { type, data } = event;
  switch (type) {
    case 'MessageAccepted':
      return data.recipients.map(({ id }) => ({ type: 'message.accepted', recipientId: id, facts: {} }));
    case 'MessageScheduled':
      return scheduledKinds('message.scheduled', data);
    case 'MessageRescheduled':
      return scheduledKinds('message.rescheduled', data);
    case 'RecipientsHeld':
      return []; // of a campaign it would be a million: what its domain or organization was told is one
    case 'AttemptStarted':
      return data.recipientIds.map((recipientId) => ({
        type: 'message.sending',
        recipientId,
        facts: { attempt: data.attempt },
      }));
    case 'AttemptOutcomeUnknown': {
      const { attempt, nextAttemptAt } = data;
      const facts: CustomerEventFacts = { attempt, nextAttemptAt, isOutcomeUnknown: true };
      return data.recipientIds.map((recipientId) => ({ type: 'message.deferred', recipientId, facts }));
    }
    default:
      return [changeOf(event as RecipientChange)]; // all others are: the record above is complete
  }
};

const about = (type: CustomerEventType, facts: CustomerEventFacts = {}): readonly Kind[] => [
  { type, recipientId: null, facts },
];

const reputationKinds = ({ type, data }: ReputationEvent): readonly Kind[] => {
  if (!('measure' in data)) return about(TYPE_OF_REPUTATION[type]);
  const { measure, count, of, limitPercent } = data;
  return about(TYPE_OF_REPUTATION[type], { limit: { measure, count, of, limitPercent } });
};

/** Subject and kinds of the customer events that one event of the log makes; null where it makes none. */
const kindsOf = (
  event: RecordedEvent,
): { readonly subjectId: string; readonly sequence: number; readonly kinds: readonly Kind[] } | null => {
  const sequence = event.revision + 1;
  switch (event.type) {
    case 'OrganizationCreated':
    case 'OrganizationCeilingsSet':
    case 'AdminKeysReleased':
    case 'KeyChangeRefused':
    case 'DomainRecordsChecked':
    case 'DomainNameTaken':
    case 'DestinationSuspended':
    case 'DestinationReleased':
    case 'DomainNameReleased':
    case 'WarmUpPlacesTaken':
    case 'TemplateDraftChanged':
      return null;
    case 'KeyCreated':
      return { subjectId: event.data.keyId, sequence, kinds: about('api_key.created') };
    case 'KeyUpdated':
      return { subjectId: event.data.keyId, sequence, kinds: about('api_key.updated') };
    case 'KeyRotated':
      return { subjectId: event.data.keyId, sequence, kinds: about('api_key.rotated') };
    case 'KeyRevoked':
      return { subjectId: event.data.keyId, sequence, kinds: about('api_key.revoked') };
    case 'KeyExpired':
      return { subjectId: event.data.keyId, sequence, kinds: about('api_key.expired') };
    case 'KeyDeleted':
      return { subjectId: event.data.keyId, sequence, kinds: about('api_key.deleted') };
    case 'DomainRegistered':
    case 'DomainVerified':
    case 'DomainFailed':
    case 'DkimKeysAdded':
    case 'DkimKeysActivated':
    case 'DkimKeysDestroyed':
    case 'DomainBrandingChanged':
    case 'DomainTrackingChanged':
    case 'DomainDeleted':
      return { subjectId: event.data.domainId, sequence, kinds: about(TYPE_OF_DOMAIN[event.type]) };
    case 'TopicCreated':
    case 'TopicChanged':
    case 'TopicDeleted':
      return { subjectId: event.data.topicId, sequence, kinds: about(TYPE_OF_TOPIC[event.type]) };
    case 'DomainDegraded': {
      const { domainId, records } = event.data;
      return { subjectId: domainId, sequence, kinds: about('domain.degraded', { records }) };
    }
    case 'TemplateCreated':
      return { subjectId: event.data.templateId, sequence, kinds: about('template.created') };
    case 'TemplatePublished':
    case 'TemplateRolledBack':
      return { subjectId: event.data.templateId, sequence, kinds: about('template.published') };
    case 'TemplateDeleted':
      return { subjectId: event.data.templateId, sequence, kinds: about('template.deleted') };
    case 'WebhookRegistered':
      return { subjectId: event.data.webhookId, sequence, kinds: about('webhook.created') };
    case 'WebhookDisabled':
      return { subjectId: event.data.webhookId, sequence, kinds: about('webhook.disabled') };
    case 'WebhookDeleted':
      return { subjectId: event.data.webhookId, sequence, kinds: about('webhook.deleted') };
    case 'SuppressionAdded': {
      const { suppressionId, reason, scope, topicId, expiresAt } = event.data;
      const kinds = about('suppression.created', { reason, scope, topicId, expiresAt });
      return { subjectId: suppressionId, sequence, kinds };
    }
    case 'SendingWarned':
    case 'SendingSlowed':
    case 'SendingPaused':
    case 'SendingRecovered':
    case 'SendingReleased':
    case 'OrganizationSendingWarned':
    case 'OrganizationSendingSlowed':
    case 'OrganizationSendingPaused':
    case 'OrganizationSendingRecovered':
    case 'OrganizationSendingReleased':
      return { subjectId: senderIdIn(event), sequence, kinds: reputationKinds(event) };
    case 'WarmUpStarted':
      return { subjectId: event.data.domainId, sequence, kinds: about('domain.warm_up_started') };
    case 'WarmUpEnded':
      return { subjectId: event.data.domainId, sequence, kinds: about('domain.warm_up_ended') };
    case 'AddressResubscribed': {
      const kinds = about('suppression.resubscribed', { topicId: event.data.topicId });
      return { subjectId: event.data.suppressionId, sequence, kinds };
    }
    case 'SuppressionRemoved':
      return { subjectId: event.data.suppressionId, sequence, kinds: about('suppression.deleted') };
    default:
      return { subjectId: event.data.messageId, sequence: event.data.sequence, kinds: messageKinds(event) };
  }
};

/** @param eventId of the log's own event. @param index which of the customer events that it makes. */
export const customerEventId = (eventId: string, index: number): string =>
  formatId('evt', sha256(`${eventId}\0${index}`));

/** The customer events that one event of the log makes, in order. */
export const customerEvents = (event: RecordedEvent): readonly CustomerEvent[] => {
  const found = kindsOf(event);
  if (found === null) return [];
  const { organizationId, environment, occurredAt } = event.metadata;
  const contentId = 'contentId' in event.data ? event.data.contentId : null;
  return found.kinds.map((kind, index) => ({
    id: customerEventId(event.id, index),
    timestamp: occurredAt,
    organizationId,
    environment,
    subjectId: found.subjectId,
    contentId,
    sequence: found.sequence + index,
    ...kind,
  }));
};
