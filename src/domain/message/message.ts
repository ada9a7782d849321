/** A message: its state, and how each event changes it. */
import type { Aggregate } from '../aggregate.ts';
import type { Environment } from '../environment.ts';
import type { MessageEvent } from '../events.ts';
import { CATEGORIES } from '../streams.ts';
import type { Said } from '../suppression/suppression.ts';
import { acceptedRecipient, type Recipient, type RecipientEngagement, type RecipientStatus } from './recipient.ts';

type DataOf<Type extends MessageEvent['type']> = Extract<MessageEvent, { readonly type: Type }>['data'];

export interface ExistingMessage {
  readonly status: 'accepted';
  readonly organizationId: string;
  readonly environment: Environment;
  readonly acceptedAt: string;
  /** As accepted; `recipients` below is their current state. */
  readonly accepted: DataOf<'MessageAccepted'>;
  readonly recipients: readonly Recipient[];
  /** When it is to be sent: as first requested, and as last rescheduled; null: at once. */
  readonly schedule: { readonly first: string; readonly current: string } | null;
  /** How long delivery is attempted, from the time at which it is to be sent. */
  readonly timeToLiveMs: number;
  /** When undelivered recipients expire. Later than the time to live alone says if holds have extended it. */
  readonly expiresAt: string;
  /** Attempts begun so far, to any destination; numbers them. */
  readonly attempts: number;
  /** Sequence number of the next customer event. */
  readonly nextSequence: number;
}

export type Message = { readonly status: 'absent' } | ExistingMessage;

/** How many customer events a message event makes: one per recipient it concerns, none if it leaves all of them as they are. */
export const customerEventCount = ({ type, data }: MessageEvent): number => {
  switch (type) {
    case 'MessageAccepted':
      return data.recipients.length;
    case 'RecipientsHeld':
    case 'RecipientReportNoted':
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

/** A message event whose sequence number is not known yet. */
export type UnnumberedEvent = WithoutSequence<MessageEvent>;

/** Gives each event the sequence number that follows from the events before it. */
export const numbered = (
  { nextSequence }: Pick<ExistingMessage, 'nextSequence'>,
  events: readonly UnnumberedEvent[],
): readonly MessageEvent[] => {
  let sequence = nextSequence;
  return events.map(({ type, data }) => {
    const event = { type, data: { ...data, sequence } } as MessageEvent; // the omitted field is back
    sequence += customerEventCount(event);
    return event;
  });
};

/** Records that the outcome of an attempt is unknown: a copy may have arrived, or not. */
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

/** Ends the attempt in flight, if there is one, and the hold. */
const settle = (
  state: ExistingMessage,
  recipientIds: readonly string[],
  changes: Partial<Recipient>,
): ExistingMessage => changeRecipients(state, recipientIds, () => ({ ...changes, lease: null, held: null }));

const millisecondsBetween = (from: string, to: string): number => Date.parse(to) - Date.parse(from);

const scheduled = (
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

const started = (
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
    updatedAt,
  }));

const ended = (
  state: ExistingMessage,
  { recipientId, reason }: DataOf<'RecipientExpired'>,
  status: RecipientStatus,
  updatedAt: string,
): ExistingMessage => settle(state, [recipientId], { status, reason, nextAttemptAt: null, updatedAt });

/** What a recipient did leaves the message's own changes, and the time of the last, as they are. */
const engaged = (
  state: ExistingMessage,
  { recipientId }: DataOf<'RecipientOpened'>,
  mark: Exclude<keyof RecipientEngagement, 'events'>,
  at: string,
): ExistingMessage =>
  changeRecipients(state, [recipientId], ({ engagement }) => ({
    engagement: { ...engagement, [mark]: engagement[mark] ?? at, events: engagement.events + 1 },
  }));

type LaterEvent = Exclude<MessageEvent, { readonly type: 'MessageAccepted' }>;

const evolveExisting = (
  state: ExistingMessage,
  { type, data }: LaterEvent,
  { at: updatedAt, position }: Said,
): ExistingMessage => {
  switch (type) {
    case 'MessageScheduled':
    case 'MessageRescheduled':
      return scheduled(state, data, updatedAt);
    case 'RecipientsHeld': {
      const { recipientIds, reason, heldBy, until, expiresAt = state.expiresAt } = data;
      const held = { reason, heldBy, since: updatedAt, until };
      return changeRecipients({ ...state, expiresAt }, recipientIds, () => ({ held }));
    }
    case 'AttemptStarted':
      return started(state, data, updatedAt);
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
      return settle(state, [recipientId], { status: 'deferred', smtp, reason, category, nextAttemptAt, updatedAt });
    }
    case 'RecipientBounced': {
      const { recipientId, smtp, reason, category = null } = data;
      const changes = { status: 'bounced', smtp, reason, category, nextAttemptAt: null, updatedAt } as const;
      return settle(state, [recipientId], changes);
    }
    case 'RecipientExpired':
      return ended(state, data, 'expired', updatedAt);
    case 'RecipientFailed':
      return ended(state, data, 'failed', updatedAt);
    case 'RecipientSuppressed':
      return ended(state, data, 'suppressed', updatedAt);
    case 'RecipientCancelled':
      return ended(state, data, 'cancelled', updatedAt);
    case 'RecipientOpened':
      return engaged(state, data, data.machine === undefined ? 'openedAt' : 'machineOpenedAt', updatedAt);
    case 'RecipientClicked':
      return engaged(state, data, data.machine === undefined ? 'clickedAt' : 'machineClickedAt', updatedAt);
    case 'RecipientComplained':
      return changeRecipients(state, [data.recipientId], () => ({ complained: true, updatedAt }));
    case 'RecipientReportNoted': {
      const { recipientId, report, doubt } = data;
      return changeRecipients(state, [recipientId], ({ reportsNoted }) => ({
        reportsNoted: [...reportsNoted, { report, doubt }],
      }));
    }
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
