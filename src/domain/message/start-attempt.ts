import type { MessageEvent } from '../events.ts';
import { customerEventCount, type ExistingMessage, type Message, type Recipient } from './message.ts';
import { nextAttemptAt } from './retry-schedule.ts';

export interface StartAttempt {
  /** ISO 8601. */
  readonly now: string;
  readonly leaseUntil: string;
  /** In [0, 1). */
  readonly chance: number;
}

/** Gives each event the sequence number that follows from the ones before it. */
export const numbered = (
  state: ExistingMessage,
  events: readonly ((sequence: number) => MessageEvent)[],
): readonly MessageEvent[] => {
  let sequence = state.nextSequence;
  return events.map((make) => {
    const event = make(sequence);
    sequence += customerEventCount(event);
    return event;
  });
};

const isDue = ({ status, nextAttemptAt: due }: Recipient, now: string): boolean =>
  status === 'accepted' || (status === 'deferred' && (due === null || due <= now));

/** The lease ended and nobody said what came of it: a copy may have arrived. */
const loseAttempt = (state: ExistingMessage, attempt: number, { now, chance }: StartAttempt) => {
  const { messageId, contentId } = state.accepted;
  const recipientIds = state.recipients.filter(({ status }) => status === 'sending').map(({ id }) => id);
  const data = { messageId, contentId, attempt, recipientIds, nextAttemptAt: nextAttemptAt(attempt, now, chance) };
  return numbered(state, [(sequence) => ({ type: 'AttemptOutcomeUnknown', data: { ...data, sequence } })]);
};

/**
 * What a worker that holds this message may do now: claim an attempt, note that one was lost, let recipients expire, or
 * (no events) nothing, because it is not due or in somebody else's hands.
 */
export const startAttempt = (state: Message, command: StartAttempt): readonly MessageEvent[] => {
  if (state.status === 'absent') return [];
  if (state.lease !== null) {
    return state.lease.until > command.now ? [] : loseAttempt(state, state.lease.attempt, command);
  }
  const due = state.recipients.filter((recipient) => isDue(recipient, command.now));
  if (due.length === 0) return [];
  const { messageId, contentId, expiresAt } = state.accepted;
  if (expiresAt <= command.now) {
    const reason = 'the time to live ended before delivery';
    return numbered(
      state,
      due.map(({ id }) => (sequence) => ({
        type: 'RecipientExpired',
        data: { messageId, contentId, sequence, recipientId: id, reason },
      })),
    );
  }
  const { leaseUntil } = command;
  const claim = {
    messageId,
    contentId,
    attempt: state.attempts + 1,
    recipientIds: due.map(({ id }) => id),
    leaseUntil,
  };
  return numbered(state, [(sequence) => ({ type: 'AttemptStarted', data: { ...claim, sequence } })]);
};
