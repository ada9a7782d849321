import type { MessageEvent } from '../events.ts';
import type { SmtpFacts } from './events.ts';
import type { ExistingMessage, Message } from './message.ts';
import { nextAttemptAt } from './retry-schedule.ts';
import { numbered } from './start-attempt.ts';

/** What one attempt came to for one recipient. */
export type AttemptOutcome =
  | {
      readonly recipientId: string;
      readonly outcome: 'delivered';
      readonly smtp: SmtpFacts;
      readonly complained?: boolean;
    }
  | {
      readonly recipientId: string;
      readonly outcome: 'deferred' | 'bounced';
      readonly smtp: SmtpFacts;
      readonly reason: string;
    }
  | { readonly recipientId: string; readonly outcome: 'suppressed' | 'failed'; readonly reason: string }
  /** The final dot may have left, and no answer came. */
  | { readonly recipientId: string; readonly outcome: 'unknown' };

export interface RecordAttempt {
  readonly attempt: number;
  readonly outcomes: readonly AttemptOutcome[];
  /** ISO 8601. */
  readonly now: string;
  /** In [0, 1). */
  readonly chance: number;
}

type MakeEvent = (sequence: number) => MessageEvent;

const eventsOf = (
  state: ExistingMessage,
  { attempt, now, chance }: RecordAttempt,
  outcome: AttemptOutcome,
): MakeEvent[] => {
  const { messageId, contentId } = state.accepted;
  const { recipientId } = outcome;
  const about = { messageId, contentId, recipientId };
  switch (outcome.outcome) {
    case 'delivered': {
      const { smtp } = outcome;
      const delivered: MakeEvent = (sequence) => ({
        type: 'RecipientDelivered',
        data: { ...about, sequence, attempt, smtp },
      });
      const complained: MakeEvent = (sequence) => ({
        type: 'RecipientComplained',
        data: { ...about, sequence },
      });
      return outcome.complained === true ? [delivered, complained] : [delivered];
    }
    case 'deferred': {
      const due = nextAttemptAt(attempt, now, chance);
      const data = { ...about, attempt, smtp: outcome.smtp, reason: outcome.reason, nextAttemptAt: due };
      return [(sequence) => ({ type: 'RecipientDeferred', data: { ...data, sequence } })];
    }
    case 'bounced': {
      const data = { ...about, attempt, smtp: outcome.smtp, reason: outcome.reason };
      return [(sequence) => ({ type: 'RecipientBounced', data: { ...data, sequence } })];
    }
    case 'suppressed':
      return [
        (sequence) => ({
          type: 'RecipientSuppressed',
          data: { ...about, sequence, reason: outcome.reason },
        }),
      ];
    case 'failed':
      return [(sequence) => ({ type: 'RecipientFailed', data: { ...about, sequence, reason: outcome.reason } })];
    case 'unknown': {
      const data = {
        messageId,
        attempt,
        recipientIds: [recipientId],
        nextAttemptAt: nextAttemptAt(attempt, now, chance),
      };
      return [(sequence) => ({ type: 'AttemptOutcomeUnknown', data: { ...data, sequence } })];
    }
    default:
      return outcome satisfies never;
  }
};

/** Records outcomes of the attempt in hand; an attempt that is no longer in hand changes nothing (its lease was lost). */
export const recordAttempt = (state: Message, command: RecordAttempt): readonly MessageEvent[] => {
  if (state.status === 'absent' || state.lease?.attempt !== command.attempt) return [];
  const inHand = new Set(state.recipients.filter(({ status }) => status === 'sending').map(({ id }) => id));
  const outcomes = command.outcomes.filter(({ recipientId }) => inHand.has(recipientId));
  return numbered(
    state,
    outcomes.flatMap((outcome) => eventsOf(state, command, outcome)),
  );
};
