import type { BounceCategory } from '../bounce/categories.ts';
import type { ErasureCounts } from '../erasure/erasure.ts';
import type { ReceiveInbound } from '../inbound/inbound.ts';
import type { ApiKeyEvent, WebhookEvent } from '../kernel/events.ts';
import type { SmtpFacts, UnsubscribeMethod } from '../message/events.ts';
import type { Measure, ReputationEvent } from '../reputation/reputation.ts';
import type { SuppressionScope } from '../suppression/events.ts';
import type { ClientFamily, MachineReason, NetworkKind } from '../tracking/tracking.ts';

/** Every type that customers see in the feed, in webhooks and in statistics. */
export const CUSTOMER_EVENT_TYPES = [
  'message.accepted',
  'message.scheduled',
  'message.rescheduled',
  'message.sending',
  'message.delivered',
  'message.deferred',
  'message.bounced',
  'message.failed',
  'message.suppressed',
  'message.cancelled',
  'message.expired',
  'message.opened',
  'message.clicked',
  'message.complained',
  'message.unsubscribed',
  'domain.registered',
  'domain.updated',
  'domain.verified',
  'domain.degraded',
  'domain.failed',
  'domain.dkim_keys_added',
  'domain.dkim_keys_activated',
  'domain.dkim_keys_destroyed',
  'domain.deleted',
  'domain.sending_warned',
  'domain.sending_slowed',
  'domain.sending_paused',
  'domain.sending_recovered',
  'domain.sending_released',
  'domain.warm_up_started',
  'domain.warm_up_ended',
  'organization.sending_warned',
  'organization.sending_slowed',
  'organization.sending_paused',
  'organization.sending_recovered',
  'organization.sending_released',
  'api_key.created',
  'api_key.updated',
  'api_key.rotated',
  'api_key.revoked',
  'api_key.expired',
  'api_key.deleted',
  'template.created',
  'template.published',
  'template.deleted',
  'webhook.created',
  'webhook.updated',
  'webhook.enabled',
  'webhook.disabled',
  'webhook.paused',
  'webhook.adopted',
  'webhook.ping',
  'webhook.deleted',
  'suppression.created',
  'suppression.deleted',
  'suppression.resubscribed',
  'topic.created',
  'topic.updated',
  'topic.deleted',
  'inbound.received',
  'inbound.forwarded',
  'inbound.forward_failed',
  'inbound_route.created',
  'inbound_route.updated',
  'inbound_route.deleted',
  'erasure.completed',
  'billing.quota_warning',
  'billing.quota_exceeded',
  'billing.invoice_closed',
  'audit.checkpoint',
] as const;
export type CustomerEventType = (typeof CUSTOMER_EVENT_TYPES)[number];

/**
 * Facts of an event, without personal data: addresses, tags, metadata and reply texts are added when it is serialized.
 */
export interface CustomerEventFacts {
  readonly smtp?: SmtpFacts;
  readonly attempt?: number;
  readonly nextAttemptAt?: string;
  readonly reason?: string;
  /** Present if the next attempt follows because the outcome of this one is unknown. */
  readonly isOutcomeUnknown?: true;
  /** Records that are missing or wrong in the DNS. */
  readonly records?: readonly string[];
  /** Bounce or complaint limit that the sender's reputation has reached. */
  readonly limit?: {
    readonly measure: Measure;
    readonly count: number;
    readonly of: number;
    readonly limitPercent: number;
  };
  /** Category of the failure. */
  readonly category?: BounceCategory | undefined;
  /** Present if the bounce came after delivery. */
  readonly late?: true | undefined;
  /** Present if the report may be about any of several recipients. It suppresses none of them. */
  readonly shared?: true | undefined;
  readonly scheduledAt?: string;
  /** Present for the first open or click by people, or the first by machines. */
  readonly first?: true | undefined;
  readonly count?: number;
  readonly machine?: MachineReason | undefined;
  readonly client?: ClientFamily;
  readonly network?: NetworkKind;
  readonly link?: number;
  /** Vault id of the link's URL. */
  readonly linkId?: string;
  /** How the recipient unsubscribed. */
  readonly method?: UnsubscribeMethod;
  /** Topic that the recipient subscribed to or unsubscribed from. */
  readonly topicId?: string | null | undefined;
  /** Mail that a suppression blocks, and when it expires; null: never. */
  readonly scope?: SuppressionScope;
  readonly expiresAt?: string | null;
  /** Month (UTC) of an invoice. */
  readonly month?: string;
  /** Monthly recipients that the plan allows, and recipients used. */
  readonly quota?: { readonly planId: string; readonly limit: number; readonly used: number };
  /** Numbers of items that an erasure removed. */
  readonly erased?: ErasureCounts;
  /** Total of an invoice, in minor units. */
  readonly invoice?: { readonly currency: string; readonly total: number };
  /** Present with `inbound.forwarded` and `inbound.forward_failed`. */
  readonly forward?: { readonly domainId: string };
  /** Present with `inbound.received`. */
  readonly inbound?: Omit<ReceiveInbound, 'inboundId' | 'contentId' | 'rawId' | 'sha256' | 'toDigest' | 'fromDigests'>;
  /** Signed checkpoint of an audit tree, with its root in base64. */
  readonly checkpoint?: {
    readonly origin: string;
    readonly size: number;
    readonly root: string;
    readonly note: string;
  };
}

/** Consequences of bounce and complaint rates, and releases from them. */
export type JudgedEvent = Exclude<ReputationEvent, { readonly type: `BulkMail${string}` }>;

export const TYPE_OF_REPUTATION: Readonly<Record<JudgedEvent['type'], CustomerEventType>> = {
  SendingWarned: 'domain.sending_warned',
  SendingSlowed: 'domain.sending_slowed',
  SendingPaused: 'domain.sending_paused',
  SendingRecovered: 'domain.sending_recovered',
  SendingReleased: 'domain.sending_released',
  OrganizationSendingWarned: 'organization.sending_warned',
  OrganizationSendingSlowed: 'organization.sending_slowed',
  OrganizationSendingPaused: 'organization.sending_paused',
  OrganizationSendingRecovered: 'organization.sending_recovered',
  OrganizationSendingReleased: 'organization.sending_released',
};

/** Domain events that carry no further facts. */
export const TYPE_OF_DOMAIN = {
  DomainRegistered: 'domain.registered',
  DomainVerified: 'domain.verified',
  DomainFailed: 'domain.failed',
  DkimKeysAdded: 'domain.dkim_keys_added',
  DkimKeysActivated: 'domain.dkim_keys_activated',
  DkimKeysDestroyed: 'domain.dkim_keys_destroyed',
  DomainBrandingChanged: 'domain.updated',
  DomainTrackingChanged: 'domain.updated',
  InboundEnabled: 'domain.updated',
  InboundDisabled: 'domain.updated',
  DomainDeleted: 'domain.deleted',
} as const satisfies Readonly<Record<string, CustomerEventType>>;

export const TYPE_OF_KEY = {
  KeyCreated: 'api_key.created',
  KeyUpdated: 'api_key.updated',
  KeyRotated: 'api_key.rotated',
  KeyRevoked: 'api_key.revoked',
  KeyExpired: 'api_key.expired',
  KeyDeleted: 'api_key.deleted',
} as const satisfies Readonly<Record<ApiKeyEvent['type'], CustomerEventType>>;

export const TYPE_OF_TOPIC = {
  TopicCreated: 'topic.created',
  TopicChanged: 'topic.updated',
  TopicDeleted: 'topic.deleted',
} as const satisfies Readonly<Record<string, CustomerEventType>>;

export const TYPE_OF_INBOUND_ROUTE = {
  InboundRouteCreated: 'inbound_route.created',
  InboundRouteChanged: 'inbound_route.updated',
  InboundForwardConfirmed: 'inbound_route.updated',
  InboundRouteDeleted: 'inbound_route.deleted',
} as const satisfies Readonly<Record<string, CustomerEventType>>;

export const TYPE_OF_QUOTA = {
  QuotaWarned: 'billing.quota_warning',
  QuotaExceeded: 'billing.quota_exceeded',
} as const satisfies Readonly<Record<string, CustomerEventType>>;

export const TYPE_OF_WEBHOOK = {
  WebhookRegistered: 'webhook.created',
  WebhookUpdated: 'webhook.updated',
  WebhookSecretRotated: 'webhook.updated',
  WebhookEnabled: 'webhook.enabled',
  WebhookDisabled: 'webhook.disabled',
  WebhookPaused: 'webhook.paused',
  WebhookAdopted: 'webhook.adopted',
  WebhookPinged: 'webhook.ping',
  WebhookDeleted: 'webhook.deleted',
} as const satisfies Readonly<Record<Exclude<WebhookEvent['type'], 'WebhookDeliveryResent'>, CustomerEventType>>;
