import type { Aggregate } from '../decider.ts';
import type { Environment } from '../environment.ts';
import type { StreamName } from '../event-store.ts';
import type { MessageEvent } from '../events.ts';
import type { RecipientKind, SmtpFacts } from './events.ts';
import type { RecipientStatus } from './status.ts';

export interface Recipient {
  readonly id: string;
  readonly kind: RecipientKind;
  readonly domain: string;
  readonly status: RecipientStatus;
  readonly smtp: SmtpFacts | null;
  readonly reason: string | null;
  readonly nextAttemptAt: string | null;
  /** The outcome of an attempt is unknown: a copy may have arrived, whatever came of later ones. */
  readonly inDoubt: boolean;
  readonly complained: boolean;
  readonly unsubscribed: boolean;
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
  /** When undelivered recipients expire. */
  readonly expiresAt: string;
  /** Attempts begun so far. */
  readonly attempts: number;
  /** The attempt in hand: nobody else may send until it ends or its lease does. */
  readonly lease: { readonly attempt: number; readonly until: string } | null;
  /** Number the next customer event will have. */
  readonly nextSequence: number;
}

export type Message = { readonly status: 'absent' } | ExistingMessage;

export const messageStream = (messageId: string): StreamName => `message-${messageId}`;

/** How many customer events a message event makes: one per recipient it concerns. */
export const customerEventCount = ({ type, data }: MessageEvent): number => {
  switch (type) {
    case 'MessageAccepted':
      return data.recipients.length;
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

/** The lease ends with the last recipient's outcome. */
const released = (state: ExistingMessage): ExistingMessage =>
  state.recipients.some(({ status }) => status === 'sending') ? state : { ...state, lease: null };

type LaterEvent = Exclude<MessageEvent, { type: 'MessageAccepted' }>;

const evolveExisting = (state: ExistingMessage, { type, data }: LaterEvent, updatedAt: string): ExistingMessage => {
  switch (type) {
    case 'MessageScheduled':
    case 'MessageRescheduled':
      return scheduled(state, data, updatedAt);
    case 'AttemptStarted': {
      const lease = { attempt: data.attempt, until: data.leaseUntil };
      const claimed = { ...state, attempts: data.attempt, lease };
      return change(claimed, data.recipientIds, { status: 'sending', nextAttemptAt: null, updatedAt });
    }
    case 'AttemptOutcomeUnknown': {
      const { recipientIds, nextAttemptAt } = data;
      const reason = 'the outcome of the attempt is unknown';
      const changes: Partial<Recipient> = { status: 'deferred', nextAttemptAt, reason, inDoubt: true, updatedAt };
      return released(change(state, recipientIds, changes));
    }
    case 'RecipientDelivered':
      return released(
        change(state, [data.recipientId], { status: 'delivered', smtp: data.smtp, reason: null, updatedAt }),
      );
    case 'RecipientDeferred': {
      const { smtp, reason, nextAttemptAt } = data;
      return released(
        change(state, [data.recipientId], { status: 'deferred', smtp, reason, nextAttemptAt, updatedAt }),
      );
    }
    case 'RecipientBounced': {
      const { smtp, reason } = data;
      return released(change(state, [data.recipientId], { status: 'bounced', smtp, reason, updatedAt }));
    }
    case 'RecipientExpired':
      return released(ended(state, data, 'expired', updatedAt));
    case 'RecipientFailed':
      return released(ended(state, data, 'failed', updatedAt));
    case 'RecipientSuppressed':
      return released(ended(state, data, 'suppressed', updatedAt));
    case 'RecipientCancelled':
      return released(ended(state, data, 'cancelled', updatedAt));
    case 'RecipientComplained':
      return change(state, [data.recipientId], { complained: true, updatedAt });
    case 'RecipientUnsubscribed':
      return change(state, [data.recipientId], { unsubscribed: true, updatedAt });
    default:
      return type satisfies never;
  }
};

type Schedule = Extract<MessageEvent, { type: 'MessageScheduled' }>['data'];

const scheduled = (
  state: ExistingMessage,
  { recipientIds, scheduledAt, expiresAt }: Schedule,
  updatedAt: string,
): ExistingMessage => {
  const schedule = { first: state.schedule?.first ?? scheduledAt, current: scheduledAt };
  const changes: Partial<Recipient> = { status: 'scheduled', nextAttemptAt: scheduledAt, updatedAt };
  return change({ ...state, schedule, expiresAt }, recipientIds, changes);
};

const ended = (
  state: ExistingMessage,
  { recipientId, reason }: { readonly recipientId: string; readonly reason: string },
  status: RecipientStatus,
  updatedAt: string,
): ExistingMessage => change(state, [recipientId], { status, reason, nextAttemptAt: null, updatedAt });

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
          ...{ id, kind, domain, status: 'accepted', smtp: null, reason: null, nextAttemptAt: null },
          ...{ inDoubt: false, complained: false, unsubscribed: false },
          updatedAt: occurredAt,
        })),
        schedule: null,
        expiresAt: event.data.expiresAt,
        attempts: 0,
        lease: null,
        nextSequence: event.data.sequence + customerEventCount(event),
      };
    }
    if (state.status === 'absent') return state;
    const next = evolveExisting(state, event, occurredAt);
    return { ...next, nextSequence: state.nextSequence + customerEventCount(event) };
  },
};
