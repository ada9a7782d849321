import type { BounceCategory } from '../bounce/categories.ts';
import type { Aggregate } from '../kernel/aggregate.ts';
import type { Environment } from '../kernel/environment.ts';
import type { MessageEvent } from '../kernel/events.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import type { Statement } from '../suppression/suppression.ts';
import type { HoldReason, RecipientKind, ReportDoubt, SmtpFacts } from './events.ts';

/** The state of a message, and how each event changes it. */

type DataOf<Type extends MessageEvent['type']> = Extract<MessageEvent, { readonly type: Type }>['data'];

export interface ExistingMessage {
  readonly status: 'accepted';
  readonly organizationId: string;
  readonly environment: Environment;
  readonly acceptedAt: string;
  /** The message as accepted; `recipients` below is their current state. */
  readonly accepted: DataOf<'MessageAccepted'>;
  readonly recipients: readonly Recipient[];
  /** Times for which sending was first and last scheduled; null: send immediately. */
  readonly schedule: { readonly first: string; readonly current: string } | null;
  /** Period for which delivery is attempted, from the scheduled time. */
  readonly timeToLiveMs: number;
  /** Expiry of undelivered recipients. Holds can extend it beyond the time to live. */
  readonly expiresAt: string;
  /** Number of attempts started so far, to any destination. It numbers them. */
  readonly attempts: number;
  /** Sequence number of the next customer event. */
  readonly nextSequence: number;
}

export type Message = { readonly status: 'absent' } | ExistingMessage;

/** Number of customer events that a message event produces: one for each recipient that it changes, otherwise none. */
export const customerEventCount = ({ type, data }: MessageEvent): number => {
  switch (type) {
    case 'MessageAccepted':
      return data.recipients.length;
    case 'RecipientsHeld':
    case 'RecipientReportNoted':
    case 'RecipientsResent':
      return 0;
    case 'MessageScheduled':
    case 'MessageRescheduled':
    case 'AttemptStarted':
    case 'AttemptOutcomeUnknown':
      return data.recipientIds.length;
    default:
      return 1;
  }
};

type WithoutSequence<E> = E extends { readonly type: infer Type; readonly data: infer Data }
  ? { readonly type: Type; readonly data: Omit<Data, 'sequence'> }
  : never;

/** A message event before its sequence number is assigned. */
export type UnnumberedEvent = WithoutSequence<MessageEvent>;

/** Assigns each event its sequence number, continuing from the events before it. */
export const withSequence = (
  { nextSequence }: Pick<ExistingMessage, 'nextSequence'>,
  events: readonly UnnumberedEvent[],
): readonly MessageEvent[] => {
  let sequence = nextSequence;
  return events.map(({ type, data }) => {
    const event = { type, data: { ...data, sequence } } as MessageEvent; // the omitted field is added again
    sequence += customerEventCount(event);
    return event;
  });
};

/** Records that the outcome of an attempt is unknown: a copy may or may not have arrived. */
export const outcomeUnknown = (
  { accepted: { messageId, contentId } }: ExistingMessage,
  { attempt, recipients }: { readonly attempt: number; readonly recipients: readonly Pick<Recipient, 'id'>[] },
  nextAttemptAt: string,
): UnnumberedEvent => {
  const recipientIds = recipients.map(({ id }) => id);
  return { type: 'AttemptOutcomeUnknown', data: { messageId, contentId, attempt, recipientIds, nextAttemptAt } };
};

const changeRecipients = (
  state: ExistingMessage,
  recipientIds: readonly string[],
  change: (recipient: Recipient) => Partial<Recipient>,
): ExistingMessage => ({
  ...state,
  recipients: state.recipients.map((recipient) =>
    recipientIds.includes(recipient.id) ? { ...recipient, ...change(recipient) } : recipient,
  ),
});

/** Ends the attempt in flight, if any, and the hold. */
const settle = (
  state: ExistingMessage,
  recipientIds: readonly string[],
  changes: Partial<Recipient>,
): ExistingMessage => changeRecipients(state, recipientIds, () => ({ ...changes, lease: null, held: null }));

const millisecondsBetween = (from: string, to: string): number => Date.parse(to) - Date.parse(from);

const applySchedule = (
  state: ExistingMessage,
  { recipientIds, scheduledAt, expiresAt }: DataOf<'MessageScheduled'>,
  updatedAt: string,
): ExistingMessage => {
  const schedule = { first: state.schedule?.first ?? scheduledAt, current: scheduledAt };
  const timeToLiveMs = millisecondsBetween(scheduledAt, expiresAt);
  return changeRecipients({ ...state, schedule, timeToLiveMs, expiresAt }, recipientIds, () => ({
    status: 'scheduled',
    nextAttemptAt: scheduledAt,
    held: null,
    updatedAt,
  }));
};

const applyStart = (
  state: ExistingMessage,
  { attempt, recipientIds, leaseUntil }: DataOf<'AttemptStarted'>,
  updatedAt: string,
): ExistingMessage =>
  changeRecipients({ ...state, attempts: attempt }, recipientIds, ({ attempts }) => ({
    status: 'sending',
    nextAttemptAt: null,
    lease: { attempt, until: leaseUntil },
    attempts: attempts + 1,
    held: null,
    isOwnFault: false,
    updatedAt,
  }));

const applyEnd = (
  state: ExistingMessage,
  { recipientId, reason }: DataOf<'RecipientExpired'>,
  status: RecipientStatus,
  updatedAt: string,
): ExistingMessage => settle(state, [recipientId], { status, reason, nextAttemptAt: null, updatedAt });

/** Records engagement. The time of the message's last change stays, because engagement does not change it. */
const applyEngagement = (
  state: ExistingMessage,
  { recipientId }: DataOf<'RecipientOpened'>,
  mark: Exclude<keyof RecipientEngagement, 'events'>,
  at: string,
): ExistingMessage =>
  changeRecipients(state, [recipientId], ({ engagement }) => ({
    engagement: { ...engagement, [mark]: engagement[mark] ?? at, events: engagement.events + 1 },
  }));

const isOwnFault = ({ ownFault, smtp }: DataOf<'RecipientDeferred'>): boolean =>
  ownFault ?? (smtp.code === 0 && smtp.replyId === null);

type LaterEvent = Exclude<MessageEvent, { readonly type: 'MessageAccepted' }>;

const evolveExisting = (
  state: ExistingMessage,
  { type, data }: LaterEvent,
  { at: updatedAt, position }: Statement,
): ExistingMessage => {
  switch (type) {
    case 'MessageScheduled':
    case 'MessageRescheduled':
      return applySchedule(state, data, updatedAt);
    case 'RecipientsHeld': {
      const { recipientIds, reason, heldBy, until, expiresAt = state.expiresAt } = data;
      const held = { reason, heldBy, since: updatedAt, until };
      return changeRecipients({ ...state, expiresAt }, recipientIds, () => ({ held }));
    }
    case 'AttemptStarted':
      return applyStart(state, data, updatedAt);
    case 'AttemptOutcomeUnknown': {
      const { recipientIds, nextAttemptAt } = data;
      const reason = 'the outcome of the attempt is unknown';
      const changes = { status: 'deferred', nextAttemptAt, reason, category: null, inDoubt: true, updatedAt } as const;
      return settle(state, recipientIds, changes);
    }
    case 'RecipientDelivered': {
      const { recipientId, smtp } = data;
      const changes = { status: 'delivered', smtp, reason: null, category: null, updatedAt } as const;
      return settle(state, [recipientId], { ...changes, deliveredAt: updatedAt });
    }
    case 'RecipientDeferred': {
      const { recipientId, smtp, reason, category = null, nextAttemptAt } = data;
      const changes = { status: 'deferred', smtp, reason, category, nextAttemptAt, updatedAt } as const;
      return settle(state, [recipientId], { ...changes, isOwnFault: isOwnFault(data) });
    }
    case 'RecipientBounced': {
      const { recipientId, smtp, reason, category = null } = data;
      const changes = { status: 'bounced', smtp, reason, category, nextAttemptAt: null, updatedAt } as const;
      return settle(state, [recipientId], changes);
    }
    case 'RecipientExpired':
      return applyEnd(state, data, 'expired', updatedAt);
    case 'RecipientFailed':
      return applyEnd(state, data, 'failed', updatedAt);
    case 'RecipientSuppressed':
      return applyEnd(state, data, 'suppressed', updatedAt);
    case 'RecipientCancelled':
      return applyEnd(state, data, 'cancelled', updatedAt);
    case 'RecipientOpened':
      return applyEngagement(state, data, data.machine === undefined ? 'openedAt' : 'machineOpenedAt', updatedAt);
    case 'RecipientClicked':
      return applyEngagement(state, data, data.machine === undefined ? 'clickedAt' : 'machineClickedAt', updatedAt);
    case 'RecipientComplained':
      return changeRecipients(state, [data.recipientId], () => ({ complained: true, updatedAt }));
    case 'RecipientReportNoted': {
      const { recipientId, report, doubt } = data;
      return changeRecipients(state, [recipientId], ({ reportsNoted }) => ({
        reportsNoted: [...reportsNoted, { report, doubt }],
      }));
    }
    case 'RecipientsResent':
      return changeRecipients(state, data.recipientIds, () => ({ resentAs: data.resentAs }));
    case 'RecipientUnsubscribed': {
      const said = { at: updatedAt, position };
      const changes = data.topicId === undefined ? { unsubscribed: said } : { leftTopic: said };
      return changeRecipients(state, [data.recipientId], () => ({ ...changes, updatedAt }));
    }
    default:
      return type satisfies never;
  }
};

export const message: Aggregate<Message, MessageEvent> = {
  category: CATEGORIES.message,
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, environment, occurredAt }, position = null) => {
    if (event.type === 'MessageAccepted') {
      return {
        status: 'accepted',
        organizationId,
        environment: environment ?? 'live',
        acceptedAt: occurredAt,
        accepted: event.data,
        recipients: event.data.recipients.map((recipient) => acceptedRecipient(recipient, occurredAt)),
        schedule: null,
        timeToLiveMs: millisecondsBetween(occurredAt, event.data.expiresAt),
        expiresAt: event.data.expiresAt,
        attempts: 0,
        nextSequence: event.data.sequence + customerEventCount(event),
      };
    }
    if (state.status === 'absent') return state;
    const next = evolveExisting(state, event, { at: occurredAt, position });
    return { ...next, nextSequence: state.nextSequence + customerEventCount(event) };
  },
};

/** Status of a recipient. The status of a message follows from those of its recipients. */
export const RECIPIENT_STATUSES = [
  'accepted',
  'scheduled',
  'sending',
  'delivered',
  'deferred',
  'bounced',
  'failed',
  'suppressed',
  'cancelled',
  'expired',
] as const;
export type RecipientStatus = (typeof RECIPIENT_STATUSES)[number];

/** Claim of an attempt. Until it ends, no other worker may send to the recipient. */
interface Lease {
  readonly attempt: number;
  readonly until: string;
}

/** Hold on a recipient that could otherwise be sent to. */
export interface HoldState {
  readonly reason: HoldReason;
  /** Holder whose release ends the hold, as in `RecipientsHeld`; null if only time does. */
  readonly heldBy: string | null;
  readonly since: string;
  /** Latest time at which the hold is checked again. */
  readonly until: string;
}

/** Times of the first open and click, by people and by machines; null: never. */
interface RecipientEngagement {
  readonly openedAt: string | null;
  readonly clickedAt: string | null;
  readonly machineOpenedAt: string | null;
  readonly machineClickedAt: string | null;
  /** Number of engagement events so far. */
  readonly events: number;
}

export interface Recipient {
  readonly id: string;
  readonly kind: RecipientKind;
  readonly domain: string;
  readonly status: RecipientStatus;
  readonly smtp: SmtpFacts | null;
  readonly reason: string | null;
  /** Category of the last failure; null if there was none, or if it could not be classified. */
  readonly category: BounceCategory | null;
  readonly nextAttemptAt: string | null;
  /** Null if not held. A hold leaves `nextAttemptAt` unchanged: once it ends, the recipient may be due. */
  readonly held: HoldState | null;
  /** Null if no attempt is in flight. */
  readonly lease: Lease | null;
  /** Number of attempts started for this recipient. */
  readonly attempts: number;
  /** True if an attempt's outcome is unknown: a copy may have arrived, whatever later attempts resulted in. */
  readonly inDoubt: boolean;
  /** True if this service was to blame for the failure of the last attempt. */
  readonly isOwnFault: boolean;
  readonly complained: boolean;
  /** Reports that had no effect, each kind once. */
  readonly reportsNoted: readonly { readonly report: 'failure' | 'complaint'; readonly doubt: ReportDoubt }[];
  /** Last time the recipient unsubscribed from all mail like this; null: never. */
  readonly unsubscribed: Statement | null;
  /** Last time the recipient unsubscribed from the message's topic only; null: never. */
  readonly leftTopic: Statement | null;
  /** Time at which a server accepted the message; null if none has. */
  readonly deliveredAt: string | null;
  /** Id of the message that was sent to it instead; null if it was not sent to again. */
  readonly resentAs: string | null;
  readonly engagement: RecipientEngagement;
  readonly updatedAt: string;
}

const NO_ENGAGEMENT: RecipientEngagement = {
  openedAt: null,
  clickedAt: null,
  machineOpenedAt: null,
  machineClickedAt: null,
  events: 0,
};

/** The initial state of a recipient. */
const acceptedRecipient = (
  { id, kind, domain }: Pick<Recipient, 'id' | 'kind' | 'domain'>,
  updatedAt: string,
): Recipient => ({
  id,
  kind,
  domain,
  status: 'accepted',
  smtp: null,
  reason: null,
  category: null,
  nextAttemptAt: null,
  held: null,
  lease: null,
  attempts: 0,
  inDoubt: false,
  isOwnFault: false,
  complained: false,
  reportsNoted: [],
  unsubscribed: null,
  leftTopic: null,
  deliveredAt: null,
  resentAs: null,
  engagement: NO_ENGAGEMENT,
  updatedAt,
});

const OPEN_IN_ORDER: readonly RecipientStatus[] = ['sending', 'deferred', 'scheduled', 'accepted'];
const ENDED_IN_ORDER: readonly RecipientStatus[] = ['bounced', 'failed', 'expired', 'suppressed', 'cancelled'];

/** Whether the recipient has no final outcome yet. */
export const isOpen = (status: RecipientStatus): boolean => OPEN_IN_ORDER.includes(status);

/** Status of a message with these recipients. `partial`: only some were delivered. */
export const messageStatus = (
  recipients: readonly { readonly status: RecipientStatus }[],
): { readonly status: RecipientStatus; readonly partial: boolean } => {
  const present = new Set(recipients.map(({ status }) => status));
  const open = OPEN_IN_ORDER.find((status) => present.has(status));
  if (open !== undefined) return { status: open, partial: false };
  if (present.has('delivered')) return { status: 'delivered', partial: present.size > 1 };
  return { status: ENDED_IN_ORDER.find((status) => present.has(status)) ?? 'failed', partial: false };
};

/** Whether an attempt may be sending to any of them now. It cannot be stopped, and no one else may send. */
export const isInFlight = (recipients: readonly Pick<Recipient, 'lease'>[], now: string): boolean =>
  recipients.some(({ lease }) => lease !== null && lease.until > now);

/** Attempts whose lease ended without an outcome, each with its recipients. */
export const lostAttempts = (
  recipients: readonly Recipient[],
  now: string,
): readonly { readonly attempt: number; readonly recipients: readonly Recipient[] }[] => {
  const lost = new Map<number, Recipient[]>();
  for (const recipient of recipients) {
    if (recipient.lease === null || recipient.lease.until > now) continue;
    const { attempt } = recipient.lease;
    lost.set(attempt, [...(lost.get(attempt) ?? []), recipient]);
  }
  return [...lost].map(([attempt, of]) => ({ attempt, recipients: of }));
};

/** The reason why a recipient ended, with a note if an attempt of unknown outcome may have reached it. */
export const withDoubt = (reason: string, { status, inDoubt }: Recipient): string =>
  status === 'sending' || inDoubt ? `${reason} after an attempt whose outcome is unknown` : reason;
