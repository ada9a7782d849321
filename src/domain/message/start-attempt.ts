import type { MessageEvent } from '../events.ts';
import type { ExistingMessage, Message, Recipient } from './message.ts';
import { numbered } from './numbered.ts';
import { nextAttemptAt } from './retry-schedule.ts';

export interface StartAttempt {
  /** ISO 8601. */
  readonly now: string;
  readonly leaseUntil: string;
  /** In [0, 1). */
  readonly chance: number;
}

/**
 * A first attempt that is lost says that a worker died, not that the other side wants us to wait; a message that loses
 * its worker again may be the reason, and takes the schedule's waits.
 */
const FIRST_LOSS_WAIT_SECONDS = 5;

const isDue = ({ status, nextAttemptAt: due }: Recipient, now: string): boolean =>
  status === 'accepted' || (status === 'deferred' && (due === null || due <= now));

/** The lease ended and nobody said what came of it: a copy may have arrived. */
const loseAttempt = (state: ExistingMessage, attempt: number, command: StartAttempt): readonly MessageEvent[] => {
  const { messageId, contentId, expiresAt } = state.accepted;
  const recipientIds = state.recipients.filter(({ status }) => status === 'sending').map(({ id }) => id);
  const due = nextAttemptAt(attempt, { ...command, expiresAt }, attempt === 1 ? FIRST_LOSS_WAIT_SECONDS : undefined);
  const data = { messageId, contentId, attempt, recipientIds, nextAttemptAt: due };
  return numbered(state, [{ type: 'AttemptOutcomeUnknown', data }]);
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
  const due = state.recipients.filter((recipient) => isDue(recipient, command.now)).map(({ id }) => id);
  if (due.length === 0) return [];
  const { messageId, contentId, expiresAt } = state.accepted;
  const about = { messageId, contentId };
  if (expiresAt <= command.now) {
    const reason = 'the time to live ended before delivery';
    return numbered(
      state,
      due.map((recipientId) => ({ type: 'RecipientExpired', data: { ...about, recipientId, reason } })),
    );
  }
  const { leaseUntil } = command;
  const claim = { ...about, attempt: state.attempts + 1, recipientIds: due, leaseUntil };
  return numbered(state, [{ type: 'AttemptStarted', data: claim }]);
};
