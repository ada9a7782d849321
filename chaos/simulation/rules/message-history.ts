import type { RecordedEvent } from '../../../src/domain/event-store.ts';
import type { MessageEvent } from '../../../src/domain/events.ts';

/**
 * What may follow what in the stream of a message, said a second time and in other words than the domain says it: it
 * knows of no state but which recipients are in hand, and which have ended.
 */
export interface MessageHistory {
  /** What the next event breaks, one phrase; null: nothing. */
  next(event: RecordedEvent<MessageEvent>): string | null;
}

/** Recipients of a message by what may happen to them. */
interface Standing {
  readonly open: Set<string>;
  readonly inHand: Set<string>;
  readonly ended: Set<string>;
  readonly unsubscribed: Set<string>;
  attempt: number;
  sequence: number;
}

/** @param event as far as the rule looks at it. */
type Rule<Data> = (standing: Standing, event: { readonly data: Data; readonly revision: number }) => string | null;

const move = (ids: readonly string[], from: Set<string>, to: Set<string>): boolean =>
  ids.every((id) => {
    to.add(id);
    return from.delete(id);
  });

const outcome =
  (to: 'ended' | 'open'): Rule<{ readonly attempt: number; readonly recipientId: string }> =>
  (standing, { data: { attempt, recipientId } }) => {
    if (attempt !== standing.attempt) return `is about attempt ${attempt}, and ${standing.attempt} is the last`;
    return move([recipientId], standing.inHand, standing[to]) ? null : 'is about a recipient who is not in hand';
  };

/** Whoever has not ended, wherever he stands. */
const ending: Rule<{ readonly recipientId: string }> = (standing, { data: { recipientId } }) => {
  const from = standing.inHand.has(recipientId) ? standing.inHand : standing.open;
  return move([recipientId], from, standing.ended) ? null : 'ends a recipient who had ended';
};

const endingUnsent: Rule<{ readonly recipientId: string }> = (standing, { data: { recipientId } }) => {
  if (standing.inHand.size > 0) return 'ends a recipient while an attempt is in hand';
  return move([recipientId], standing.open, standing.ended) ? null : 'ends a recipient who had ended';
};

const scheduling: Rule<{ readonly recipientIds: readonly string[] }> = (standing, { data: { recipientIds } }) => {
  if (standing.attempt > 0) return 'sets a time after an attempt';
  return recipientIds.every((id) => standing.open.has(id)) ? null : 'sets a time for a recipient who has ended';
};

type DataOf<Type extends MessageEvent['type']> = Extract<MessageEvent, { readonly type: Type }>['data'];

const RULES: { readonly [Type in MessageEvent['type']]: Rule<DataOf<Type>> } = {
  MessageAccepted: ({ open }, { data, revision }) => {
    for (const { id } of data.recipients) open.add(id);
    return revision === 0 ? null : 'is not the first';
  },
  MessageScheduled: scheduling,
  MessageRescheduled: scheduling,
  AttemptStarted: (standing, { data: { attempt, recipientIds } }) => {
    if (standing.inHand.size > 0) return 'claims what is in hand';
    if (attempt !== standing.attempt + 1) return `claims attempt ${attempt} after ${standing.attempt}`;
    standing.attempt = attempt;
    return move(recipientIds, standing.open, standing.inHand) ? null : 'claims a recipient who has ended';
  },
  AttemptOutcomeUnknown: (standing, { data: { attempt, recipientIds } }) => {
    if (attempt !== standing.attempt) return `is about attempt ${attempt}, and ${standing.attempt} is the last`;
    return move(recipientIds, standing.inHand, standing.open) ? null : 'is about a recipient who is not in hand';
  },
  RecipientDelivered: outcome('ended'),
  RecipientDeferred: outcome('open'),
  RecipientBounced: outcome('ended'),
  RecipientExpired: endingUnsent,
  RecipientCancelled: endingUnsent,
  RecipientFailed: ending,
  RecipientSuppressed: ending,
  RecipientComplained: ({ ended }, { data }) => (ended.has(data.recipientId) ? null : 'comes before the delivery'),
  RecipientUnsubscribed: ({ unsubscribed }, { data }) => {
    if (unsubscribed.has(data.recipientId)) return 'comes twice';
    unsubscribed.add(data.recipientId);
    return null;
  },
};

const countOf = ({ data }: MessageEvent): number => {
  if ('recipientIds' in data) return data.recipientIds.length;
  return 'recipients' in data ? data.recipients.length : 1;
};

export const createMessageHistory = (): MessageHistory => {
  const standing: Standing = {
    ...{ open: new Set(), inHand: new Set(), ended: new Set(), unsubscribed: new Set() },
    ...{ attempt: 0, sequence: 1 },
  };
  let known = 0;

  return {
    next: (event) => {
      if (event.revision !== known) return `stands at revision ${event.revision}, and ${known} was to come`;
      if (known === 0 && event.type !== 'MessageAccepted') return 'comes before the acceptance';
      if (event.data.sequence !== standing.sequence)
        return `is numbered ${event.data.sequence}, not ${standing.sequence}`;
      known += 1;
      standing.sequence += countOf(event);
      return (RULES[event.type] as Rule<MessageEvent['data']>)(standing, event); // of this very type
    },
  };
};
