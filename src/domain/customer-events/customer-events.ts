import { sha256 } from '../kernel/digest.ts';
import type { Environment } from '../kernel/environment.ts';
import type { RecordedEvent } from '../kernel/event-store.ts';
import type { InboundEvent, MessageEvent } from '../kernel/events.ts';
import { formatTimedId, timeInId } from '../kernel/ids.ts';
import { senderIdIn } from '../reputation/reputation.ts';
import {
  type CustomerEventFacts,
  type CustomerEventType,
  type JudgedEvent,
  TYPE_OF_DOMAIN,
  TYPE_OF_INBOUND_ROUTE,
  TYPE_OF_KEY,
  TYPE_OF_QUOTA,
  TYPE_OF_REPUTATION,
  TYPE_OF_TOPIC,
  TYPE_OF_WEBHOOK,
} from './customer-event-types.ts';

/** Ids of customer events, and the log events that they can come from. */

/** The time in a UUIDv7 (RFC 9562 §5.7), in milliseconds. */
const timeIn = (uuid: string): number => Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);

const uuidOf = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

/**
 * Starts with the time in the log event's id, so that the log event is found without an index of customer events.
 * @param eventId UUID of the log event.
 * @param index position among the customer events that it produces.
 */
export const customerEventId = (eventId: string, index: number): string =>
  formatTimedId('evt', timeIn(eventId), sha256(`${eventId}\0${index}`));

/** The range of UUIDs that contains the log event of a customer event. */
export const eventIdsOf = (id: string): readonly [first: string, last: string] => {
  const time = timeInId(id).toString(16).padStart(12, '0');
  return [uuidOf(time.padEnd(32, '0')), uuidOf(time.padEnd(32, 'f'))];
};

const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0);

/**
 * Whether a stored log event produces this customer event. It produces one, or one for each recipient that it names.
 */
export const isCustomerEventOf = (
  id: string,
  { id: eventId, data }: { readonly id: string; readonly data: Readonly<Record<string, unknown>> },
): boolean => {
  const made = Math.max(1, lengthOf(data.recipients), lengthOf(data.recipientIds));
  return Array.from({ length: made }, (_, index) => customerEventId(eventId, index)).includes(id);
};

/** Type, recipient and facts of one customer event. */
interface CustomerEventKind {
  readonly type: CustomerEventType;
  readonly recipientId: string | null;
  readonly facts: CustomerEventFacts;
}

type RecipientChange = Exclude<
  Extract<MessageEvent, { readonly data: { readonly recipientId: string } }>,
  { readonly type: 'RecipientReportNoted' }
>;

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

const changeOf = ({ type, data }: RecipientChange): CustomerEventKind => {
  const { messageId: _m, contentId: _c, sequence: _s, recipientId, ...others } = data;
  const { source: _a, ...facts } = { source: undefined, ...others };
  if (!('smtp' in facts)) return { type: TYPE_OF_CHANGE[type], recipientId, facts };
  const { replyRoot: _r, source: _i, ...smtp } = facts.smtp;
  return { type: TYPE_OF_CHANGE[type], recipientId, facts: { ...facts, smtp } };
};

const scheduledKinds = (
  type: CustomerEventType,
  { recipientIds, scheduledAt }: { readonly recipientIds: readonly string[]; readonly scheduledAt: string },
): readonly CustomerEventKind[] => recipientIds.map((recipientId) => ({ type, recipientId, facts: { scheduledAt } }));

/** The customer events that a message event produces, in order. */
const messageKinds = (event: MessageEvent): readonly CustomerEventKind[] => {
  const { type, data } = event;
  switch (type) {
    case 'MessageAccepted':
      return data.recipients.map(({ id }) => ({ type: 'message.accepted', recipientId: id, facts: {} }));
    case 'MessageScheduled':
      return scheduledKinds('message.scheduled', data);
    case 'MessageRescheduled':
      return scheduledKinds('message.rescheduled', data);
    case 'RecipientsHeld':
      return []; // a campaign would produce a million; the domain or organization gets one event instead
    case 'RecipientReportNoted':
      return []; // it has no effect
    case 'RecipientsResent':
      return []; // the new message has events of its own
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
      return [changeOf(event as RecipientChange)]; // all other types: the record above is complete
  }
};

/** An event as customers see it. Its `id` is derived from the log event, so that a replay produces the same one. */
export interface CustomerEvent extends CustomerEventKind {
  readonly id: string;
  readonly timestamp: string;
  readonly organizationId: string;
  /** Null if it concerns both environments. */
  readonly environment: Environment | null;
  /** Id of the message, inbound message, key, domain, organization, webhook, topic, suppression, erasure or invoice. */
  readonly subjectId: string;
  /** Increases by one within its subject. `….sending_…` and `domain.warm_up_…` have sequences of their own. */
  readonly sequence: number;
  /** Vault id of the content of the message, inbound message or suppression, which holds addresses, tags and metadata. */
  readonly contentId: string | null;
}

const about = (type: CustomerEventType, facts: CustomerEventFacts = {}): readonly CustomerEventKind[] => [
  { type, recipientId: null, facts },
];

const reputationKinds = ({ type, data }: JudgedEvent): readonly CustomerEventKind[] => {
  if (!('measure' in data)) return about(TYPE_OF_REPUTATION[type]);
  const { measure, count, of, limitPercent } = data;
  return about(TYPE_OF_REPUTATION[type], { limit: { measure, count, of, limitPercent } });
};

type EndOfForward = Extract<InboundEvent, { readonly type: 'InboundForwarded' | 'InboundForwardFailed' }>;

const forwardKinds = ({ type, data }: EndOfForward): readonly CustomerEventKind[] => {
  const { inboundId: _i, domainId, smtp, ...facts } = data;
  const replied = smtp === null ? facts : { ...facts, smtp };
  const named = type === 'InboundForwarded' ? 'inbound.forwarded' : 'inbound.forward_failed';
  return about(named, { forward: { domainId }, ...replied });
};

/** Subject and kinds of the customer events that a log event produces, or null if it produces none. */
const kindsOf = (
  event: RecordedEvent,
): { readonly subjectId: string; readonly sequence: number; readonly kinds: readonly CustomerEventKind[] } | null => {
  const sequence = event.revision + 1;
  switch (event.type) {
    case 'OrganizationCreated':
    case 'OrganizationCeilingsSet':
    case 'OrganizationUpdated':
    case 'LegalHoldSet':
    case 'OrganizationSuspended':
    case 'OrganizationResumed':
    case 'WebhookDeliveryResent':
    case 'BulkMailPaused':
    case 'BulkMailResumed':
    case 'ContentsRolesSet':
    case 'PlanChosen':
    case 'AdminKeysReleased':
    case 'KeyChangeRefused':
    case 'DomainRecordsChecked':
    case 'DomainNameTaken':
    case 'DestinationSuspended':
    case 'DestinationReleased':
    case 'DomainNameReleased':
    case 'WarmUpPlacesTaken':
    case 'SourcePlacesTaken':
    case 'TemplateDraftChanged':
    case 'AuditKeyAdded':
    case 'AuditKeyRetired':
    case 'CheckpointCosigned':
    case 'AuditDisputed':
    case 'AuditReopened':
    case 'EarlierEventsAdopted':
    case 'AuditExported':
    case 'AuditorAdded':
    case 'AuditorRemoved':
    case 'MemberInvited':
    case 'SignInLinkCreated':
    case 'MemberJoined':
    case 'MemberRoleChanged':
    case 'MemberRemoved':
    case 'OperatorGranted':
    case 'OperatorWithdrawn':
    case 'PasskeyAdded':
    case 'PasskeyCounted':
    case 'PasskeyRemoved':
    case 'SessionStarted':
    case 'SessionEnded':
    case 'PresenceProven':
    case 'DataRead':
    case 'ErasureRequested':
      return null;
    case 'CheckpointSigned': {
      const { organizationId, origin, size, root, note } = event.data;
      const kinds = about('audit.checkpoint', { checkpoint: { origin, size, root, note } });
      return { subjectId: organizationId, sequence, kinds };
    }
    case 'QuotaWarned':
    case 'QuotaExceeded': {
      const { invoiceId, month, planId, limit, used } = event.data;
      const kinds = about(TYPE_OF_QUOTA[event.type], { month, quota: { planId, limit, used } });
      return { subjectId: invoiceId, sequence, kinds };
    }
    case 'InvoiceClosed': {
      const { invoiceId, month, currency, total } = event.data;
      return {
        subjectId: invoiceId,
        sequence,
        kinds: about('billing.invoice_closed', { month, invoice: { currency, total } }),
      };
    }
    case 'KeyCreated':
    case 'KeyUpdated':
    case 'KeyRotated':
    case 'KeyRevoked':
    case 'KeyExpired':
    case 'KeyDeleted':
      return { subjectId: event.data.keyId, sequence, kinds: about(TYPE_OF_KEY[event.type]) };
    case 'DomainRegistered':
    case 'DomainVerified':
    case 'DomainFailed':
    case 'DkimKeysAdded':
    case 'DkimKeysActivated':
    case 'DkimKeysDestroyed':
    case 'DomainBrandingChanged':
    case 'DomainTrackingChanged':
    case 'InboundEnabled':
    case 'InboundDisabled':
    case 'DomainDeleted':
      return { subjectId: event.data.domainId, sequence, kinds: about(TYPE_OF_DOMAIN[event.type]) };
    case 'TopicCreated':
    case 'TopicChanged':
    case 'TopicDeleted':
      return { subjectId: event.data.topicId, sequence, kinds: about(TYPE_OF_TOPIC[event.type]) };
    case 'InboundReceived': {
      const { inboundId, contentId: _c, rawId: _r, sha256: _s, toDigest: _t, fromDigests: _f, ...inbound } = event.data;
      return { subjectId: inboundId, sequence, kinds: about('inbound.received', { inbound }) };
    }
    case 'InboundForwardStarted':
    case 'InboundForwardDeferred':
      return null; // of interest when it is over
    case 'InboundForwarded':
    case 'InboundForwardFailed':
      return { subjectId: event.data.inboundId, sequence, kinds: forwardKinds(event) };
    case 'InboundRouteCreated':
    case 'InboundRouteChanged':
    case 'InboundForwardConfirmed':
    case 'InboundRouteDeleted':
      return { subjectId: event.data.routeId, sequence, kinds: about(TYPE_OF_INBOUND_ROUTE[event.type]) };
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
    case 'WebhookUpdated':
    case 'WebhookSecretRotated':
    case 'WebhookEnabled':
    case 'WebhookPaused':
    case 'WebhookAdopted':
    case 'WebhookPinged':
    case 'WebhookDeleted':
      return { subjectId: event.data.webhookId, sequence, kinds: about(TYPE_OF_WEBHOOK[event.type]) };
    case 'WebhookDisabled': {
      const { webhookId, reason } = event.data;
      return { subjectId: webhookId, sequence, kinds: about('webhook.disabled', { reason }) };
    }
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
    case 'PersonErased': {
      const { erasureId, counts } = event.data;
      return { subjectId: erasureId, sequence, kinds: about('erasure.completed', { erased: counts }) };
    }
    case 'SuppressionRemoved':
      return { subjectId: event.data.suppressionId, sequence, kinds: about('suppression.deleted') };
    default:
      return { subjectId: event.data.messageId, sequence: event.data.sequence, kinds: messageKinds(event) };
  }
};

/** The customer events that a log event produces, in order. */
export const customerEvents = (event: RecordedEvent): readonly CustomerEvent[] => {
  const found = kindsOf(event);
  // Checkpoints of the service's own tree have no customer.
  if (found === null || event.metadata.organizationId === '') return [];
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
