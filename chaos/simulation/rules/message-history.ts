import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';

/**
 * The allowed order of events in a message stream. It is written independently of the domain code and tracks only which
 * recipients are in which attempt and which have ended.
 */
export interface MessageHistory {
  /** Describes how the next event breaks the rules; null: it does not. */
  next(event: RecordedEvent<MessageEvent>): string | null;
}

/** Recipients of a message by what may happen to them next. */
interface MessageState {
  readonly open: Set<string>;
  /** Attempt number by recipient in flight. Attempts to different destinations run at the same time. */
  readonly inFlight: Map<string, number>;
  readonly ended: Set<string>;
  readonly unsubscribed: Set<string>;
  /** Recipients with at least one attempt. */
  readonly tried: Set<string>;
  attempt: number;
  sequence: number;
}

/** @param event the parts of the event that the rule uses. */
type Rule<Data> = (message: MessageState, event: { readonly data: Data; readonly revision: number }) => string | null;

const move = (ids: readonly string[], from: Pick<Set<string>, 'delete'>, to: Set<string>): boolean =>
  ids.every((id) => {
    to.add(id);
    return from.delete(id);
  });

interface OfAttempt {
  readonly attempt: number;
  readonly recipientIds: readonly string[];
}

const isClaimedBy = ({ inFlight }: MessageState, { attempt, recipientIds }: OfAttempt): boolean =>
  recipientIds.every((id) => inFlight.get(id) === attempt);

const outcome =
  (to: 'ended' | 'open'): Rule<{ readonly attempt: number; readonly recipientId: string }> =>
  (message, { data: { attempt, recipientId } }) => {
    const recipientIds = [recipientId];
    if (!isClaimedBy(message, { attempt, recipientIds })) return 'is about a recipient that it has not claimed';
    move(recipientIds, message.inFlight, message[to]);
    return null;
  };

/** Ends a recipient that has not ended, in any open status. */
const ending: Rule<{ readonly recipientId: string }> = (message, { data: { recipientId } }) => {
  const from = message.inFlight.has(recipientId) ? message.inFlight : message.open;
  return move([recipientId], from, message.ended) ? null : 'ends a recipient who had ended';
};

const endingUnsent: Rule<{ readonly recipientId: string }> = (message, { data: { recipientId } }) => {
  if (message.inFlight.has(recipientId)) return 'ends a recipient that is in flight';
  return move([recipientId], message.open, message.ended) ? null : 'ends a recipient who had ended';
};

const scheduling: Rule<{ readonly recipientIds: readonly string[] }> = (message, { data: { recipientIds } }) => {
  if (recipientIds.some((id) => message.tried.has(id))) return 'sets a time for a recipient after an attempt';
  return recipientIds.every((id) => message.open.has(id)) ? null : 'sets a time for a recipient who has ended';
};

const engagement: Rule<{ readonly recipientId: string }> = ({ tried }, { data: { recipientId } }) =>
  tried.has(recipientId) ? null : 'comes before any attempt';

type DataOf<Type extends MessageEvent['type']> = Extract<MessageEvent, { readonly type: Type }>['data'];

const RULES: { readonly [Type in MessageEvent['type']]: Rule<DataOf<Type>> } = {
  MessageAccepted: ({ open }, { data, revision }) => {
    for (const { id } of data.recipients) open.add(id);
    return revision === 0 ? null : 'is not the first';
  },
  MessageScheduled: scheduling,
  MessageRescheduled: scheduling,
  RecipientsHeld: ({ open }, { data }) =>
    data.recipientIds.every((id) => open.has(id)) ? null : 'keeps a recipient back that is in flight or has ended',
  AttemptStarted: (message, { data: { attempt, recipientIds } }) => {
    if (attempt !== message.attempt + 1) return `claims attempt ${attempt} after ${message.attempt}`;
    message.attempt = attempt;
    for (const id of recipientIds) {
      if (!message.open.delete(id)) return 'claims a recipient that is in flight or has ended';
      message.inFlight.set(id, attempt);
      message.tried.add(id);
    }
    return null;
  },
  AttemptOutcomeUnknown: (message, { data }) => {
    if (!isClaimedBy(message, data)) return 'is about a recipient that it has not claimed';
    move(data.recipientIds, message.inFlight, message.open);
    return null;
  },
  RecipientDelivered: outcome('ended'),
  RecipientDeferred: outcome('open'),
  RecipientBounced: outcome('ended'),
  RecipientExpired: endingUnsent,
  RecipientCancelled: endingUnsent,
  RecipientFailed: ending,
  RecipientSuppressed: ending,
  // Allowed in every state, because a copy may have arrived despite the recorded outcome.
  RecipientOpened: engagement,
  RecipientClicked: engagement,
  RecipientComplained: ({ ended }, { data }) => (ended.has(data.recipientId) ? null : 'comes before the delivery'),
  RecipientReportNoted: ({ tried }, { data }) =>
    tried.has(data.recipientId) ? null : 'is about a recipient to whom nothing was sent',
  RecipientsResent: ({ ended }, { data }) =>
    data.recipientIds.every((id) => ended.has(id)) ? null : 'sends again to a recipient who has not ended',
  RecipientUnsubscribed: ({ unsubscribed }, { data }) => {
    if (unsubscribed.has(data.recipientId)) return 'comes twice';
    unsubscribed.add(data.recipientId);
    return null;
  },
};

const countOf = ({ type, data }: MessageEvent): number => {
  if (type === 'RecipientsHeld' || type === 'RecipientReportNoted' || type === 'RecipientsResent') return 0;
  if ('recipientIds' in data) return data.recipientIds.length;
  return 'recipients' in data ? data.recipients.length : 1;
};

export const createMessageHistory = (): MessageHistory => {
  const message: MessageState = {
    open: new Set(),
    inFlight: new Map(),
    ended: new Set(),
    unsubscribed: new Set(),
    tried: new Set(),
    attempt: 0,
    sequence: 1,
  };
  let known = 0;

  return {
    next: (event) => {
      if (event.revision !== known) return `stands at revision ${event.revision}, and ${known} was to come`;
      if (known === 0 && event.type !== 'MessageAccepted') return 'comes before the acceptance';
      if (event.data.sequence !== message.sequence)
        return `is numbered ${event.data.sequence}, not ${message.sequence}`;
      known += 1;
      message.sequence += countOf(event);
      return (RULES[event.type] as Rule<MessageEvent['data']>)(message, event); // the rule is chosen by the event's type
    },
  };
};
