import type { BounceCategory } from '../bounce/categories.ts';
import type { Aggregate } from '../decider.ts';
import type { Environment } from '../environment.ts';
import type { MessageEvent } from '../events.ts';
import type { StreamName } from '../ports/event-store.ts';
import type { HoldReason, RecipientKind, SmtpFacts } from './events.ts';
import type { RecipientStatus } from './status.ts';

export interface Lease {
  readonly attempt: number;
  readonly until: string;
}

/** What keeps a recipient back who could be sent to. */
export interface Held {
  readonly reason: HoldReason;
  /** Whose release ends it: a domain, an organization, or the stream of a warm-up; null: nobody's does. */
  readonly heldBy: string | null;
  readonly since: string;
  /** When it is looked at again at the latest. */
  readonly until: string;
}

export interface Recipient {
  readonly id: string;
  readonly kind: RecipientKind;
  readonly domain: string;
  readonly status: RecipientStatus;
  readonly smtp: SmtpFacts | null;
  readonly reason: string | null;
  /** Of the last refusal; null: there was none, or nobody knows. */
  readonly category: BounceCategory | null;
  readonly nextAttemptAt: string | null;
  /** null: nothing keeps it back. It is as due as it was: whoever finds that nothing does any more may send. */
  readonly held: Held | null;
  /** The attempt that has it in hand: nobody else may send to it until that ends, or its lease does. */
  readonly lease: Lease | null;
  /** Attempts begun for it so far. */
  readonly attempts: number;
  /** The outcome of an attempt is unknown: a copy may have arrived, whatever came of later ones. */
  readonly inDoubt: boolean;
  readonly complained: boolean;
  /** When it did so last; null: it has not. */
  readonly unsubscribedAt: string | null;
  readonly updatedAt: string;
}

type Accepted = Extract<MessageEvent, { type: 'MessageAccepted' }>['data'];

export interface ExistingMessage {
  readonly status: 'accepted';
  readonly organizationId: string;
  readonly environment: Environment;
  readonly acceptedAt: string;
  /** As accepted; `recipients` below is how they stand now. */
  readonly accepted: Accepted;
  readonly recipients: readonly Recipient[];
  /** When it is to be sent: as asked for first, and as it stands now; null: at once. */
  readonly schedule: { readonly first: string; readonly current: string } | null;
  /** How long it is tried from when it is to be sent, as its sender asked. */
  readonly timeToLiveMs: number;
  /** When undelivered recipients expire: later than that by waits that do not count. */
  readonly expiresAt: string;
  /** Attempts begun so far, to whichever destination; numbers them. */
  readonly attempts: number;
  /** Number the next customer event will have. */
  readonly nextSequence: number;
}

export type Message = { readonly status: 'absent' } | ExistingMessage;

export const messageStream = (messageId: string): StreamName => `message-${messageId}`;

/** How many customer events a message event makes: one per recipient it concerns, none of what keeps them back. */
export const customerEventCount = ({ type, data }: MessageEvent): number => {
  switch (type) {
    case 'MessageAccepted':
      return data.recipients.length;
    case 'RecipientsHeld':
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

const change = (
  state: ExistingMessage,
  recipientIds: readonly string[],
  changes: Partial<Recipient>,
): ExistingMessage => ({
  ...state,
  recipients: state.recipients.map((recipient) =>
    recipientIds.includes(recipient.id) ? { ...recipient, ...changes } : recipient,
  ),
});

/** What an attempt came to, or something that ends it: it is in nobody's hands any more. */
const settle = (
  state: ExistingMessage,
  recipientIds: readonly string[],
  changes: Partial<Recipient>,
): ExistingMessage => change(state, recipientIds, { ...changes, lease: null, held: null });

type LaterEvent = Exclude<MessageEvent, { type: 'MessageAccepted' }>;

const evolveExisting = (state: ExistingMessage, { type, data }: LaterEvent, updatedAt: string): ExistingMessage => {
  switch (type) {
    case 'MessageScheduled':
    case 'MessageRescheduled':
      return scheduled(state, data, updatedAt);
    case 'RecipientsHeld': {
      const { recipientIds, reason, heldBy, until, expiresAt = state.expiresAt } = data;
      return change({ ...state, expiresAt }, recipientIds, { held: { reason, heldBy, since: updatedAt, until } });
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
      return settle(state, [recipientId], { status: 'delivered', smtp, reason: null, category: null, updatedAt });
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
    case 'RecipientComplained':
      return change(state, [data.recipientId], { complained: true, updatedAt });
    case 'RecipientUnsubscribed':
      return change(state, [data.recipientId], { unsubscribedAt: updatedAt, updatedAt });
    default:
      return type satisfies never;
  }
};

type Started = Extract<MessageEvent, { type: 'AttemptStarted' }>['data'];

const started = (
  state: ExistingMessage,
  { attempt, recipientIds, leaseUntil }: Started,
  updatedAt: string,
): ExistingMessage => ({
  ...state,
  attempts: attempt,
  recipients: state.recipients.map((recipient) =>
    recipientIds.includes(recipient.id)
      ? {
          ...recipient,
          ...{ status: 'sending', nextAttemptAt: null, lease: { attempt, until: leaseUntil }, updatedAt },
          attempts: recipient.attempts + 1,
          held: null,
        }
      : recipient,
  ),
});

const between = (from: string, to: string): number => Date.parse(to) - Date.parse(from);

type Schedule = Extract<MessageEvent, { type: 'MessageScheduled' }>['data'];

const scheduled = (
  state: ExistingMessage,
  { recipientIds, scheduledAt, expiresAt }: Schedule,
  updatedAt: string,
): ExistingMessage => {
  const schedule = { first: state.schedule?.first ?? scheduledAt, current: scheduledAt };
  const changes: Partial<Recipient> = { status: 'scheduled', nextAttemptAt: scheduledAt, held: null, updatedAt };
  const timeToLiveMs = between(scheduledAt, expiresAt);
  return change({ ...state, schedule, timeToLiveMs, expiresAt }, recipientIds, changes);
};

const ended = (
  state: ExistingMessage,
  { recipientId, reason }: { readonly recipientId: string; readonly reason: string },
  status: RecipientStatus,
  updatedAt: string,
): ExistingMessage => settle(state, [recipientId], { status, reason, nextAttemptAt: null, updatedAt });

export const message: Aggregate<Message, MessageEvent> = {
  category: 'message',
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, environment, occurredAt }) => {
    if (event.type === 'MessageAccepted') {
      return {
        status: 'accepted',
        organizationId,
        environment: environment ?? 'live',
        acceptedAt: occurredAt,
        accepted: event.data,
        recipients: event.data.recipients.map(({ id, kind, domain }) => ({
          ...{ id, kind, domain, status: 'accepted', smtp: null, reason: null, category: null },
          ...{ nextAttemptAt: null, held: null, lease: null, attempts: 0 },
          ...{ inDoubt: false, complained: false, unsubscribedAt: null },
          updatedAt: occurredAt,
        })),
        schedule: null,
        timeToLiveMs: between(occurredAt, event.data.expiresAt),
        expiresAt: event.data.expiresAt,
        attempts: 0,
        nextSequence: event.data.sequence + customerEventCount(event),
      };
    }
    if (state.status === 'absent') return state;
    const next = evolveExisting(state, event, occurredAt);
    return { ...next, nextSequence: state.nextSequence + customerEventCount(event) };
  },
};
