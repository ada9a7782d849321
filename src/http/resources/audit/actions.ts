import { z } from 'zod';
import { READINGS } from '../../../domain/audit/events.ts';
import { ACCESS_ACTIONS } from '../../../domain/audit/report/access-rows.ts';
import type { EventType } from '../../../domain/kernel/events.ts';
import { nearest } from '../../nearest.ts';

/** Plain words for the events of the audit log, which show them and by which they are searched. */

const AUDIT_SUBJECTS = [
  'message',
  'member',
  'api_key',
  'domain',
  'template',
  'webhook',
  'topic',
  'inbound_route',
  'suppression',
  'erasure',
  'auditor',
] as const;

/** The subject of an event. */
export const auditSubjectSchema = z.strictObject({
  type: z.enum(AUDIT_SUBJECTS),
  id: z.string(),
  name: z.string().nullable().describe('Its name now. null: it has none, or it is no longer stored.'),
});

export const AUDIT_KINDS = ['changes', 'reads', 'sign_ins', 'mail', 'automatic'] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

type Action = readonly [kind: AuditKind, words: string];

/** By type: what the actor did. The actor and the resource are named beside it. */
const ACTIONS: Readonly<Record<EventType, Action>> = {
  OrganizationCreated: ['changes', 'created the organization'],
  OrganizationCeilingsSet: ['changes', 'changed the limits of the organization'],
  OrganizationUpdated: ['changes', 'changed the settings of the organization'],
  LegalHoldSet: ['changes', 'changed the legal hold'],
  OrganizationSuspended: ['changes', 'suspended the organization'],
  OrganizationResumed: ['changes', 'resumed the organization'],
  ContentsRolesSet: ['changes', ACCESS_ACTIONS.ContentsRolesSet],
  PlanChosen: ['changes', 'chose a billing plan'],
  AdminKeysReleased: ['changes', 'released the protection of the last admin keys'],
  QuotaWarned: ['automatic', 'warned about the quota'],
  QuotaExceeded: ['automatic', 'noted that the quota was exceeded'],
  InvoiceClosed: ['automatic', 'closed an invoice'],
  KeyCreated: ['changes', ACCESS_ACTIONS.KeyCreated],
  KeyRotated: ['changes', 'rotated an API key'],
  KeyUpdated: ['changes', ACCESS_ACTIONS.KeyUpdated],
  KeyRevoked: ['changes', ACCESS_ACTIONS.KeyRevoked],
  KeyExpired: ['automatic', ACCESS_ACTIONS.KeyExpired],
  KeyDeleted: ['changes', ACCESS_ACTIONS.KeyDeleted],
  KeyChangeRefused: ['changes', 'tried to change an API key and was refused'],
  DomainRegistered: ['changes', 'added a domain'],
  DomainVerified: ['changes', 'verified a domain'],
  DomainDegraded: ['automatic', 'found a domain degraded'],
  DomainFailed: ['automatic', 'found that a domain failed its checks'],
  DkimKeysAdded: ['changes', 'added DKIM keys'],
  DkimKeysActivated: ['changes', 'activated DKIM keys'],
  DkimKeysDestroyed: ['changes', 'destroyed old DKIM keys'],
  DomainBrandingChanged: ['changes', 'changed the branding of a domain'],
  DomainTrackingChanged: ['changes', 'changed the tracking of a domain'],
  InboundEnabled: ['changes', 'started to receive mail for a domain'],
  InboundDisabled: ['changes', 'stopped receiving mail for a domain'],
  DomainDeleted: ['changes', ACCESS_ACTIONS.DomainDeleted],
  DomainRecordsChecked: ['automatic', 'checked the DNS records of a domain'],
  DomainNameTaken: ['changes', 'took over a domain name'],
  DomainNameReleased: ['changes', 'released a domain name'],
  MessageAccepted: ['mail', 'sent a message'],
  MessageScheduled: ['mail', 'scheduled a message'],
  MessageRescheduled: ['mail', 'rescheduled a message'],
  RecipientsHeld: ['mail', 'held a message back'],
  RecipientsResent: ['mail', 'sent a message again'],
  AttemptStarted: ['mail', 'started to deliver a message'],
  AttemptOutcomeUnknown: ['mail', 'lost the outcome of an attempt'],
  RecipientDelivered: ['mail', 'delivered a message'],
  RecipientDeferred: ['mail', 'was asked to retry a message later'],
  RecipientBounced: ['mail', 'noted that a message bounced'],
  RecipientExpired: ['mail', 'noted that a message expired'],
  RecipientFailed: ['mail', 'failed to deliver a message'],
  RecipientSuppressed: ['mail', 'did not send to a suppressed recipient'],
  RecipientCancelled: ['mail', 'cancelled a message'],
  RecipientOpened: ['mail', 'opened a message'],
  RecipientClicked: ['mail', 'clicked a link'],
  RecipientComplained: ['mail', 'complained about a message'],
  RecipientReportNoted: ['mail', 'noted a report about a message'],
  RecipientUnsubscribed: ['mail', 'unsubscribed'],
  InboundReceived: ['mail', 'received a message'],
  InboundForwardStarted: ['mail', 'started to forward a received message'],
  InboundForwardDeferred: ['mail', 'will try again to forward a received message'],
  InboundForwarded: ['mail', 'forwarded a received message'],
  InboundForwardFailed: ['mail', 'did not forward a received message'],
  TemplateCreated: ['changes', 'created a template'],
  TemplateDraftChanged: ['changes', 'changed the draft of a template'],
  TemplatePublished: ['changes', 'published a template'],
  TemplateRolledBack: ['changes', 'rolled a template back'],
  TemplateDeleted: ['changes', 'deleted a template'],
  WebhookRegistered: ['changes', 'created a webhook'],
  WebhookUpdated: ['changes', 'changed a webhook'],
  WebhookSecretRotated: ['changes', 'rotated the secret of a webhook'],
  WebhookEnabled: ['changes', 'enabled a webhook'],
  WebhookDisabled: ['changes', 'disabled a webhook'],
  WebhookPaused: ['changes', 'paused a webhook'],
  WebhookAdopted: ['changes', 'took over a webhook'],
  WebhookPinged: ['changes', 'pinged a webhook'],
  WebhookDeliveryResent: ['changes', 'resent a webhook delivery'],
  WebhookDeleted: ['changes', 'deleted a webhook'],
  DestinationSuspended: ['automatic', 'suspended a destination'],
  DestinationReleased: ['changes', 'released a destination'],
  SuppressionAdded: ['changes', 'suppressed an address'],
  SuppressionRemoved: ['changes', 'removed a suppression'],
  AddressResubscribed: ['changes', 'resubscribed an address'],
  TopicCreated: ['changes', 'created a topic'],
  TopicChanged: ['changes', 'changed a topic'],
  TopicDeleted: ['changes', 'deleted a topic'],
  InboundRouteCreated: ['changes', 'created an inbound route'],
  InboundRouteChanged: ['changes', 'changed an inbound route'],
  InboundRouteDeleted: ['changes', 'deleted an inbound route'],
  InboundForwardConfirmed: ['changes', 'confirmed the address that an inbound route forwards to'],
  ErasureRequested: ['changes', 'requested the erasure of a person'],
  PersonErased: ['changes', 'erased a person'],
  SendingWarned: ['automatic', 'warned about the reputation of a domain'],
  SendingSlowed: ['automatic', 'slowed the mail of a domain'],
  SendingPaused: ['automatic', 'paused the mail of a domain'],
  SendingRecovered: ['automatic', 'noted that the reputation of a domain recovered'],
  SendingReleased: ['changes', 'released the mail of a domain'],
  OrganizationSendingWarned: ['automatic', 'warned about the reputation of the organization'],
  OrganizationSendingSlowed: ['automatic', 'slowed the mail of the organization'],
  OrganizationSendingPaused: ['automatic', 'paused the mail of the organization'],
  OrganizationSendingRecovered: ['automatic', 'noted that the reputation of the organization recovered'],
  OrganizationSendingReleased: ['changes', 'released the mail of the organization'],
  BulkMailPaused: ['changes', 'paused bulk mail'],
  BulkMailResumed: ['changes', 'resumed bulk mail'],
  WarmUpStarted: ['changes', 'started a warm-up'],
  WarmUpEnded: ['changes', 'ended a warm-up'],
  WarmUpPlacesTaken: ['automatic', 'used the daily quota of a warm-up'],
  SourcePlacesTaken: ['automatic', 'used the daily quota of a new IP address'],
  AuditKeyAdded: ['automatic', 'added a key that signs this log'],
  AuditKeyRetired: ['automatic', 'retired a key that signed this log'],
  CheckpointSigned: ['automatic', 'signed a checkpoint of this log'],
  CheckpointCosigned: ['automatic', 'added a cosignature of a witness'],
  AuditDisputed: ['automatic', 'found that a witness contradicts this log'],
  AuditReopened: ['changes', 'reopened this log under another origin'],
  EarlierEventsAdopted: ['changes', 'accepted earlier events without a proof of who wrote them'],
  AuditExported: ['reads', 'exported this log'],
  AuditorAdded: ['changes', ACCESS_ACTIONS.AuditorAdded],
  AuditorRemoved: ['changes', ACCESS_ACTIONS.AuditorRemoved],
  MemberInvited: ['changes', ACCESS_ACTIONS.MemberInvited],
  SignInLinkCreated: ['sign_ins', 'created a sign-in link'],
  MemberJoined: ['changes', 'joined as a member'],
  MemberRoleChanged: ['changes', ACCESS_ACTIONS.MemberRoleChanged],
  MemberRemoved: ['changes', ACCESS_ACTIONS.MemberRemoved],
  OperatorGranted: ['changes', ACCESS_ACTIONS.OperatorGranted],
  OperatorWithdrawn: ['changes', ACCESS_ACTIONS.OperatorWithdrawn],
  PasskeyAdded: ['changes', 'added a passkey'],
  PasskeyCounted: ['sign_ins', 'used a passkey'],
  PasskeyRemoved: ['changes', 'removed a passkey'],
  SessionStarted: ['sign_ins', 'signed in'],
  SessionEnded: ['sign_ins', 'signed out'],
  PresenceProven: ['sign_ins', 'confirmed who they are'],
  DataRead: ['reads', 'read personal data'],
};

const READ_WORDS: Readonly<Record<(typeof READINGS)[number], string>> = {
  message_content: 'read the contents of a message',
  inbound_content: 'read the contents of an inbound message',
  captured_mail: 'read captured mail',
  suppressions: 'read suppressed addresses',
  addresses: 'was shown addresses in a list or page',
};

const isType = (type: string): type is EventType => Object.hasOwn(ACTIONS, type);
/** Longer names are cut in errors. */
const SHOWN_CHARACTERS_MAX = 60;

/** Says which of some names is no type of an event, and which type it resembles; null: all are types. */
export const unknownType = (names: readonly string[]): string | null => {
  const unknown = names.find((name) => !isType(name));
  if (unknown === undefined) return null;
  const similar = nearest(unknown, Object.keys(ACTIONS));
  const hint = similar === undefined ? 'use those in the field type of the entries' : `did you mean ${similar}?`;
  return `must name event types: "${unknown.slice(0, SHOWN_CHARACTERS_MAX)}" is not one: ${hint}`;
};

const isReading = (what: unknown): what is keyof typeof READ_WORDS => READINGS.some((one) => one === what);

/** Describes the act of an entry: `invited a member`. */
export const actionOf = ({
  type,
  data,
}: {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}) => {
  if (type === 'DataRead' && isReading(data.what)) return READ_WORDS[data.what];
  return isType(type) ? ACTIONS[type][1] : type;
};

/** `KeyRotated` has the words of its action, and `key`, `rotated` and `keyrotated`. */
const wordsOf = (type: string, action: string): readonly string[] =>
  `${action} ${type.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')} ${type}`.toLowerCase().split(/[^a-z0-9]+/);

/** Words by which an entry is found. */
export const actionWords = (leaf: Parameters<typeof actionOf>[0]): readonly string[] =>
  wordsOf(leaf.type, actionOf(leaf));

const TYPES = Object.entries(ACTIONS).map(([type, [kind, action]]) => {
  const further = type === 'DataRead' ? Object.values(READ_WORDS) : [];
  return { type, kind, words: wordsOf(type, [action, ...further].join(' ')) };
});

/** Types whose words begin with a text in lower case. */
export const typesWithWord = (text: string): readonly string[] =>
  TYPES.filter(({ words }) => words.some((word) => word.startsWith(text))).map(({ type }) => type);

export const typesOfKind = (kind: AuditKind): readonly string[] =>
  TYPES.filter((one) => one.kind === kind).map(({ type }) => type);
