import type { MessageEvent } from '../events.ts';
import { isBeingSent, lostAttempt, withDoubt } from './lease.ts';
import type { ExistingMessage, Message, Recipient } from './message.ts';
import { numbered } from './numbered.ts';
import { nextAttemptAt } from './retry-schedule.ts';
import { isOpen } from './status.ts';

export interface StartAttempt {
  /** ISO 8601. */
  readonly now: string;
  readonly leaseUntil: string;
  /** In [0, 1). */
  readonly chance: number;
  /** The domain it was accepted for is gone. Absent: it is not. */
  readonly domainDeleted?: boolean;
}

/**
 * A first attempt that is lost says that a worker died, not that the other side wants us to wait; a message that loses
 * its worker again may be the reason, and takes the schedule's waits.
 */
const FIRST_LOSS_WAIT_SECONDS = 5;

const isDue = ({ status, nextAttemptAt: due }: Recipient, now: string): boolean =>
  status === 'accepted' || ((status === 'deferred' || status === 'scheduled') && (due === null || due <= now));

const loseAttempt = (state: ExistingMessage, attempt: number, command: StartAttempt): readonly MessageEvent[] => {
  const { expiresAt } = state;
  const due = nextAttemptAt(attempt, { ...command, expiresAt }, attempt === 1 ? FIRST_LOSS_WAIT_SECONDS : undefined);
  return numbered(state, [lostAttempt(state, attempt, due)]);
};

const TOO_LATE = 'the time to live ended before delivery';
const DOMAIN_DELETED = 'the domain that it was to be sent from was deleted';

const endUnsent = (
  state: ExistingMessage,
  type: 'RecipientExpired' | 'RecipientFailed',
  recipients: readonly Recipient[],
  reason: string,
): readonly MessageEvent[] => {
  const { messageId, contentId } = state.accepted;
  return numbered(
    state,
    recipients.map((recipient) => ({
      type,
      data: { messageId, contentId, recipientId: recipient.id, reason: withDoubt(reason, recipient) },
    })),
  );
};

/**
 * What a worker that holds this message may do now: claim an attempt, note that one was lost, let recipients expire or
 * fail, or (no events) nothing, because it is not due or in somebody else's hands.
 */
export const startAttempt = (state: Message, command: StartAttempt): readonly MessageEvent[] => {
  if (state.status === 'absent') return [];
  if (isBeingSent(state, command.now)) return [];
  if (state.lease !== null) return loseAttempt(state, state.lease.attempt, command);
  const due = state.recipients.filter((recipient) => isDue(recipient, command.now));
  if (due.length === 0) return [];
  if (state.expiresAt <= command.now) return endUnsent(state, 'RecipientExpired', due, TOO_LATE);
  if (command.domainDeleted === true) {
    // Those that are not due yet would wait in vain.
    const open = state.recipients.filter(({ status }) => isOpen(status));
    return endUnsent(state, 'RecipientFailed', open, DOMAIN_DELETED);
  }
  const { messageId, contentId } = state.accepted;
  const { leaseUntil } = command;
  const recipientIds = due.map(({ id }) => id);
  const claim = { messageId, contentId, attempt: state.attempts + 1, recipientIds, leaseUntil };
  return numbered(state, [{ type: 'AttemptStarted', data: claim }]);
};
