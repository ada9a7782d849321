import type { BounceCategory } from './bounce/categories.ts';
import type { ErasureCounts } from './erasure/events.ts';
import type { ApiKeyEvent, ReputationEvent, WebhookEvent } from './events.ts';
import type { SmtpFacts } from './message/events.ts';
import type { Measure } from './reputation/events.ts';
import type { SuppressionScope } from './suppression/events.ts';
import type { ClientFamily, MachineReason, NetworkKind } from './tracking/client.ts';

/** Every type a customer can meet in the feed, in webhooks and in statistics. */
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
  'erasure.completed',
  'billing.quota_warning',
  'billing.quota_exceeded',
  'billing.invoice_closed',
  'audit.checkpoint',
] as const;
export type CustomerEventType = (typeof CUSTOMER_EVENT_TYPES)[number];

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
  /** The month (UTC) of an invoice. */
  readonly month?: string;
  /** Recipients of the month that a plan allows, and those used. */
  readonly quota?: { readonly planId: string; readonly limit: number; readonly used: number };
  /** What an erasure removed. */
  readonly erased?: ErasureCounts;
  /** What an invoice comes to, in minor units. */
  readonly invoice?: { readonly currency: string; readonly total: number };
  /** What was signed of an audit tree; the root in base64. */
  readonly checkpoint?: {
    readonly origin: string;
    readonly size: number;
    readonly root: string;
    readonly note: string;
  };
}

/** What follows from rates, or releases from it. */
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

/** Events of a domain that say nothing more. */
export const TYPE_OF_DOMAIN = {
  DomainRegistered: 'domain.registered',
  DomainVerified: 'domain.verified',
  DomainFailed: 'domain.failed',
  DkimKeysAdded: 'domain.dkim_keys_added',
  DkimKeysActivated: 'domain.dkim_keys_activated',
  DkimKeysDestroyed: 'domain.dkim_keys_destroyed',
  DomainBrandingChanged: 'domain.updated',
  DomainTrackingChanged: 'domain.updated',
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
