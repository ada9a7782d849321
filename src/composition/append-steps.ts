import type { EventType } from '../domain/events.ts';
import type { FailStep } from './fail-points.ts';

/**
 * Which step an append is, by the first of its events. Those of one step are written by one piece of work, and a process
 * that dies there leaves the same behind; a family with a consequence of its own has a step of its own.
 */
export const APPEND_STEPS: Readonly<Record<EventType, FailStep>> = {
  OrganizationCreated: 'append-other',
  OrganizationCeilingsSet: 'append-other',
  AdminKeysReleased: 'append-other',

  KeyCreated: 'append-other',
  KeyRotated: 'append-other',
  KeyUpdated: 'append-other',
  KeyRevoked: 'append-other',
  KeyExpired: 'append-other',
  KeyDeleted: 'append-other',
  KeyChangeRefused: 'append-other',

  DomainRegistered: 'append-other',
  DomainDeleted: 'append-other',
  DkimKeysAdded: 'append-keys',
  DkimKeysDestroyed: 'append-destroyed',
  DomainRecordsChecked: 'append-check',
  DomainNameTaken: 'append-check',
  DomainNameReleased: 'append-check',
  DomainVerified: 'append-check',
  DomainDegraded: 'append-check',
  DomainFailed: 'append-check',
  DkimKeysActivated: 'append-check',

  MessageAccepted: 'append-accepted',
  MessageScheduled: 'append-other',
  MessageRescheduled: 'append-other',
  RecipientCancelled: 'append-other',
  RecipientsHeld: 'append-held',
  AttemptStarted: 'append-started',
  AttemptOutcomeUnknown: 'append-lost',
  RecipientDelivered: 'append-outcome',
  RecipientDeferred: 'append-outcome',
  RecipientBounced: 'append-outcome',
  RecipientExpired: 'append-unsent',
  RecipientFailed: 'append-unsent',
  RecipientSuppressed: 'append-unsent',
  RecipientComplained: 'append-report',
  RecipientUnsubscribed: 'append-unsubscription',

  DestinationSuspended: 'append-suspension',
  DestinationReleased: 'append-release',

  SuppressionAdded: 'append-suppression',
  SuppressionRemoved: 'append-other',

  SendingWarned: 'append-standing',
  SendingSlowed: 'append-standing',
  SendingPaused: 'append-standing',
  SendingRecovered: 'append-standing',
  SendingReleased: 'append-release',
  OrganizationSendingWarned: 'append-standing',
  OrganizationSendingSlowed: 'append-standing',
  OrganizationSendingPaused: 'append-standing',
  OrganizationSendingRecovered: 'append-standing',
  OrganizationSendingReleased: 'append-release',

  WarmUpStarted: 'append-other',
  WarmUpEnded: 'append-release',
  WarmUpPlacesTaken: 'append-places',

  WebhookRegistered: 'append-other',
  WebhookDisabled: 'append-other',
  WebhookDeleted: 'append-other',
};
