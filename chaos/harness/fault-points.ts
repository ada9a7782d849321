import type { EventType } from '../../src/domain/kernel/events.ts';
import { StartRefused } from '../../src/lib/async/async.ts';

/**
 * Steps whose effect outlives the process or is visible outside it. A process can be killed immediately before and
 * after each.
 */
const STEPS = [
  'append-accepted',
  /** Holds mail of a domain that is paused or in warm-up. */
  'append-held',
  'append-started',
  'append-outcome',
  'append-lost',
  /** Ends recipients without an attempt. */
  'append-unsent',
  /** Records an inbound report before its sender is answered. */
  'append-report',
  /** Records an unsubscription through the link in a mail. */
  'append-unsubscription',
  /** Records an open or click. */
  'append-engagement',
  /** Records an inbound message before its client is answered. */
  'append-inbound',
  /** Claims an attempt to forward an inbound message. */
  'append-forward-claim',
  /** Records what became of an attempt to forward. */
  'append-forward-outcome',
  'append-suppression',
  /** Suspends a destination. */
  'append-suspension',
  /** Reserves part of a domain's daily quota during warm-up. */
  'append-places',
  /** Records a change of reputation after bounces and complaints. */
  'append-reputation',
  /** Releases waiting mail of a destination, a domain or an organization, or ends a warm-up. */
  'append-release',
  /** Adds keys to a domain whose private halves are in the vault. */
  'append-keys',
  /** Records a DNS check of a domain and each of its consequences. */
  'append-check',
  /** Records that the vault no longer has the private halves of retired keys. */
  'append-destroyed',
  /** Records an organization's invoice for a month. */
  'append-invoice',
  /** Records a signed checkpoint of an audit tree. */
  'append-checkpoint',
  /** Records a witness's cosignature. */
  'append-cosignature',
  /** Records that a person's data was erased. */
  'append-erased',
  'append-other',
  'contents-put',
  /**
   * Stores an organization's secret. Rows of the service itself use `note-put`: every start writes some, and the
   * process would die at the first.
   */
  'secret-put',
  'secret-destroy',
  'note-put',
  'queue-add',
  /** Starts when a job arrives and ends when its handler ends, before the queue is notified. */
  'queue-work',
  'mail-send',
  /** Commits a read model's batch together with its checkpoint. */
  'checkpoint',
  'webhook-record',
  'webhook-claim',
  'webhook-post',
  'webhook-finish',
  'content-expire',
  /** Erases stored data about a person. */
  'content-erase',
  /** Records that an erasure is complete or pending. */
  'erasure-note',
  'webhook-replay',
] as const;
export type FailStep = (typeof STEPS)[number];

export type FailPointName = `${'before' | 'after'}-${FailStep}`;

export const FAIL_POINTS: readonly FailPointName[] = STEPS.flatMap(
  (step) => [`before-${step}`, `after-${step}`] as const,
);

/**
 * The step of an append, by the type of its first event. Events written by the same code share a step, because a crash
 * there has the same effect. Event families with consequences of their own have their own step.
 */
export const APPEND_STEPS: Readonly<Record<EventType, FailStep>> = {
  OrganizationCreated: 'append-other',
  OrganizationCeilingsSet: 'append-other',
  OrganizationUpdated: 'append-other',
  LegalHoldSet: 'append-other',
  OrganizationSuspended: 'append-other',
  OrganizationResumed: 'append-other',
  ContentsRolesSet: 'append-other',
  PlanChosen: 'append-other',
  QuotaWarned: 'append-other',
  QuotaExceeded: 'append-other',
  InvoiceClosed: 'append-invoice',
  AuditKeyAdded: 'append-checkpoint',
  AuditKeyRetired: 'append-checkpoint',
  CheckpointSigned: 'append-checkpoint',
  CheckpointCosigned: 'append-cosignature',
  AuditDisputed: 'append-other',
  AuditReopened: 'append-other',
  EarlierEventsAdopted: 'append-other',
  AuditExported: 'append-other',
  AuditorAdded: 'append-other',
  AuditorRemoved: 'append-other',
  MemberInvited: 'append-other',
  SignInLinkCreated: 'append-other',
  MemberJoined: 'append-other',
  MemberRoleChanged: 'append-other',
  MemberRemoved: 'append-other',
  OperatorGranted: 'append-other',
  OperatorWithdrawn: 'append-other',
  PasskeyAdded: 'append-other',
  PasskeyCounted: 'append-other',
  PasskeyRemoved: 'append-other',
  SessionStarted: 'append-other',
  SessionEnded: 'append-other',
  PresenceProven: 'append-other',
  DataRead: 'append-other',
  AdminKeysReleased: 'append-other',

  KeyCreated: 'append-other',
  KeyRotated: 'append-other',
  KeyUpdated: 'append-other',
  KeyRevoked: 'append-other',
  KeyExpired: 'append-other',
  KeyDeleted: 'append-other',
  KeyChangeRefused: 'append-other',

  DomainRegistered: 'append-other',
  DomainBrandingChanged: 'append-other',
  DomainDeleted: 'append-other',
  DomainTrackingChanged: 'append-other',
  InboundEnabled: 'append-other',
  InboundDisabled: 'append-other',
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
  RecipientOpened: 'append-engagement',
  RecipientClicked: 'append-engagement',
  RecipientComplained: 'append-report',
  RecipientReportNoted: 'append-report',
  RecipientsResent: 'append-other',
  RecipientUnsubscribed: 'append-unsubscription',

  InboundReceived: 'append-inbound',
  InboundForwardStarted: 'append-forward-claim',
  InboundForwardDeferred: 'append-forward-outcome',
  InboundForwarded: 'append-forward-outcome',
  InboundForwardFailed: 'append-forward-outcome',

  DestinationSuspended: 'append-suspension',
  DestinationReleased: 'append-release',

  SuppressionAdded: 'append-suppression',
  SuppressionRemoved: 'append-other',
  AddressResubscribed: 'append-other',

  TopicCreated: 'append-other',
  TopicChanged: 'append-other',
  TopicDeleted: 'append-other',

  InboundRouteCreated: 'append-other',
  InboundRouteChanged: 'append-other',
  InboundRouteDeleted: 'append-other',
  InboundForwardConfirmed: 'append-other',

  ErasureRequested: 'append-other',
  PersonErased: 'append-erased',

  SendingWarned: 'append-reputation',
  SendingSlowed: 'append-reputation',
  SendingPaused: 'append-reputation',
  SendingRecovered: 'append-reputation',
  SendingReleased: 'append-release',
  OrganizationSendingWarned: 'append-reputation',
  OrganizationSendingSlowed: 'append-reputation',
  OrganizationSendingPaused: 'append-reputation',
  OrganizationSendingRecovered: 'append-reputation',
  OrganizationSendingReleased: 'append-release',
  BulkMailPaused: 'append-other',
  BulkMailResumed: 'append-other',

  WarmUpStarted: 'append-other',
  WarmUpEnded: 'append-release',
  WarmUpPlacesTaken: 'append-places',
  SourcePlacesTaken: 'append-other',

  TemplateCreated: 'append-other',
  TemplateDraftChanged: 'append-other',
  TemplatePublished: 'append-other',
  TemplateRolledBack: 'append-other',
  TemplateDeleted: 'append-other',

  WebhookRegistered: 'append-other',
  WebhookUpdated: 'append-other',
  WebhookSecretRotated: 'append-other',
  WebhookEnabled: 'append-other',
  WebhookPinged: 'append-other',
  WebhookDeliveryResent: 'append-other',
  WebhookDisabled: 'append-other',
  WebhookPaused: 'append-other',
  WebhookAdopted: 'append-other',
  WebhookDeleted: 'append-other',
};

/** The point at which a process dies, and on which pass (1-based). */
export interface FailPoint {
  readonly name: FailPointName;
  readonly passing: number;
}

const isName = (name: string): name is FailPointName => FAIL_POINTS.some((each) => each === name);

/** Parses `<name>` or `<name>#<passing>`. @throws {StartRefused} if the point does not exist. */
export const readFailPoint = (text: string | undefined): FailPoint | null => {
  if (text === undefined || text === '') return null;
  const [, name = '', passing = '1'] = /^([^#]*)(?:#([1-9]\d{0,8}))?$/.exec(text) ?? [];
  if (isName(name)) return { name, passing: Number(passing) };
  throw new StartRefused(
    `OUTBOX_FAIL_POINT: there is no fail point ${JSON.stringify(text)}: unset it, or set one of ${FAIL_POINTS.join(', ')}, with #2 for the second passing`,
  );
};

/** Called at each point on each pass. */
export type PassPoint = (name: FailPointName) => void;

/** Counts passes and kills this process on the given one like a power cut: nothing is closed or logged. */
export const createPassPoint = ({ name, passing }: FailPoint): PassPoint => {
  let left = passing;
  return (passed) => {
    if (passed !== name) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  };
};
