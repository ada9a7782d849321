import type { EventType } from '../../src/domain/events.ts';
import { StartRefused } from '../../src/lib/async/async.ts';

/** Steps whose effect outlives the process or is seen outside it. A process can be killed right before and after each. */
const STEPS = [
  'append-accepted',
  /** Mail of a domain that is paused or warmed up waits. */
  'append-held',
  'append-started',
  'append-outcome',
  'append-lost',
  /** Recipients that end without an attempt. */
  'append-unsent',
  /** What a mail that came back says, before its sender is answered. */
  'append-report',
  /** By the link in a mail. */
  'append-unsubscription',
  /** By the image or a link in a mail. */
  'append-engagement',
  'append-suppression',
  /** A destination gets nothing for a while. */
  'append-suspension',
  /** A share of what a domain that is warmed up may send today. */
  'append-places',
  /** What follows from bounces and complaints. */
  'append-reputation',
  /** What waits goes on: for a destination, of a domain or an organization, or a warm-up that is ended. */
  'append-release',
  /** New keys of a domain, whose private halves are in the vault. */
  'append-keys',
  /** What was seen of a domain in the DNS, and each of its consequences. */
  'append-check',
  /** Former keys of a domain, whose private halves the vault holds no more. */
  'append-destroyed',
  /** What an organization owes for a month. */
  'append-invoice',
  /** A signed checkpoint of an audit tree. */
  'append-checkpoint',
  /** What a witness has answered. */
  'append-cosignature',
  /** Nothing is left of a person. */
  'append-erased',
  'append-other',
  'contents-put',
  /** Of an organization. Rows of the service itself are `note-put`: a start writes some, and would die of the first. */
  'secret-put',
  'secret-destroy',
  'note-put',
  'queue-add',
  /** From a job's arrival until its handler ends, which is before the queue is told. */
  'queue-work',
  'mail-send',
  /** The commit of a read model's batch with its checkpoint. */
  'checkpoint',
  'webhook-record',
  'webhook-claim',
  'webhook-post',
  'webhook-finish',
  'content-expire',
  /** What is stored about a person. */
  'content-erase',
  /** That an erasure is done, or waits. */
  'erasure-note',
  'webhook-replay',
] as const;
export type FailStep = (typeof STEPS)[number];

export type FailPointName = `${'before' | 'after'}-${FailStep}`;

export const FAIL_POINTS: readonly FailPointName[] = STEPS.flatMap(
  (step) => [`before-${step}`, `after-${step}`] as const,
);

/**
 * Which step an append is, by the first of its events. Those of one step are written by one piece of work, and a process
 * that dies there leaves the same behind; a family with a consequence of its own has a step of its own.
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
  RecipientUnsubscribed: 'append-unsubscription',

  DestinationSuspended: 'append-suspension',
  DestinationReleased: 'append-release',

  SuppressionAdded: 'append-suppression',
  SuppressionRemoved: 'append-other',
  AddressResubscribed: 'append-other',

  TopicCreated: 'append-other',
  TopicChanged: 'append-other',
  TopicDeleted: 'append-other',

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

/** Where a process dies, and on which pass (1-based). */
export interface FailPoint {
  readonly name: FailPointName;
  readonly passing: number;
}

const isName = (name: string): name is FailPointName => FAIL_POINTS.some((each) => each === name);

/** `<name>` or `<name>#<passing>`. @throws {StartRefused} there is no such point. */
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

/** Counts passes, and ends this process on the given one as a power cut would: nothing is closed or logged. */
export const createPassPoint = ({ name, passing }: FailPoint): PassPoint => {
  let left = passing;
  return (passed) => {
    if (passed !== name) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  };
};
