/** Decides what a worker may do with a message now: claim an attempt, hold its recipients, or end them unsent. */
import type { MessageEvent } from '../events.ts';
import type { HoldReason } from './events.ts';
import { type ExistingMessage, type Message, numbered, outcomeUnknown, type UnnumberedEvent } from './message.ts';
import { isOpen, lostAttempts, type Recipient, withDoubt } from './recipient.ts';
import { extendedExpiry, nextAttemptAt } from './retry-schedule.ts';

/** Why a message waits though it is due. */
export interface Hold {
  readonly reason: HoldReason;
  /** Holder whose release ends it, as in `RecipientsHeld`; null: only time does. */
  readonly heldBy: string | null;
  /** After which the message is looked at again, whatever happens. */
  readonly waitSeconds: number;
  /** The time to live does not run meanwhile. Absent: it does. */
  readonly outsideTimeToLive?: true;
}

export interface ClaimAttempt {
  /** Recipient domain: one attempt goes to one destination. Absent: all recipients, by one server. */
  readonly destination?: string | undefined;
  /** ISO 8601. */
  readonly now: string;
  readonly leaseUntil: string;
  /** In [0, 1). */
  readonly random: number;
  /** The domain that the message was accepted for is deleted. Absent: it is not. */
  readonly domainDeleted?: boolean;
  /** Keeps the message back: no recipient is claimed. Absent: nothing does. */
  readonly held?: Hold | null;
  /** Recipients that must not be sent to, with the reason in a sentence. Absent: none. */
  readonly suppressed?: ReadonlyMap<string, string>;
}

/**
 * After a first lost attempt: a worker died, which does not mean that the destination wants us to wait. A message that
 * loses its worker again may be the cause, and takes the schedule's waits.
 */
const FIRST_LOSS_WAIT_SECONDS = 5;

const TOO_LATE = 'the time to live ended before delivery';
const DOMAIN_DELETED = 'the domain that it was to be sent from was deleted';

const isDue = ({ status, nextAttemptAt: due }: Recipient, now: string): boolean =>
  status === 'accepted' || ((status === 'deferred' || status === 'scheduled') && (due === null || due <= now));

const recipientsAt = ({ recipients }: ExistingMessage, { destination }: Pick<ClaimAttempt, 'destination'>) =>
  recipients.filter(({ domain }) => destination === undefined || domain === destination);

const recordLost = (
  state: ExistingMessage,
  lost: ReturnType<typeof lostAttempts>,
  command: ClaimAttempt,
): readonly MessageEvent[] => {
  const { expiresAt } = state;
  return numbered(
    state,
    lost.map((attempt) => {
      const made = Math.max(...attempt.recipients.map(({ attempts }) => attempts));
      const waitSeconds = made === 1 ? FIRST_LOSS_WAIT_SECONDS : undefined;
      return outcomeUnknown(state, attempt, nextAttemptAt(made, { ...command, expiresAt }, waitSeconds));
    }),
  );
};

const ended = (
  { accepted: { messageId, contentId } }: ExistingMessage,
  type: 'RecipientExpired' | 'RecipientFailed' | 'RecipientSuppressed',
  recipient: Recipient,
  reason: string,
): UnnumberedEvent => ({
  type,
  data: { messageId, contentId, recipientId: recipient.id, reason: withDoubt(reason, recipient) },
});

/** A recipient that is held for the same reason already stays as it is: looking at held mail costs the log nothing. */
const isNewHold = ({ held }: Recipient, { reason, heldBy }: Hold, now: string): boolean =>
  held === null || held.until <= now || held.reason !== reason || held.heldBy !== heldBy;

const hold = (
  state: ExistingMessage,
  recipients: readonly Recipient[],
  held: Hold,
  command: ClaimAttempt,
): readonly UnnumberedEvent[] => {
  const { now } = command;
  const recipientIds = recipients.filter((recipient) => isNewHold(recipient, held, now)).map(({ id }) => id);
  if (recipientIds.length === 0) return [];
  const { messageId, contentId } = state.accepted;
  const { reason, heldBy, waitSeconds, outsideTimeToLive } = held;
  const expiresAt =
    outsideTimeToLive === true ? extendedExpiry(state, { reason, seconds: waitSeconds, now }) : state.expiresAt;
  const until = nextAttemptAt(state.attempts, { ...command, expiresAt }, waitSeconds);
  const extended = expiresAt === state.expiresAt ? {} : { expiresAt };
  return [{ type: 'RecipientsHeld', data: { messageId, contentId, recipientIds, reason, heldBy, until, ...extended } }];
};

/** Recipients that an attempt would be claimed for if nothing held the message. */
export const claimable = (
  state: ExistingMessage,
  command: Pick<ClaimAttempt, 'destination' | 'now' | 'domainDeleted' | 'suppressed'>,
): readonly Recipient[] => {
  const { now, domainDeleted, suppressed } = command;
  const recipients = recipientsAt(state, command);
  const isOver = state.expiresAt <= now || domainDeleted === true;
  if (isOver || lostAttempts(recipients, now).length > 0) return [];
  return recipients.filter((recipient) => isDue(recipient, now) && suppressed?.has(recipient.id) !== true);
};

/** Ends the suppressed recipients, and claims the attempt for the others or holds them. */
const claim = (
  state: ExistingMessage,
  due: readonly Recipient[],
  command: ClaimAttempt,
): readonly UnnumberedEvent[] => {
  const { suppressed, leaseUntil, held } = command;
  const { messageId, contentId } = state.accepted;
  const suppressions = due.flatMap((recipient) => {
    const reason = suppressed?.get(recipient.id);
    return reason === undefined ? [] : [ended(state, 'RecipientSuppressed', recipient, reason)];
  });
  const wanted = due.filter(({ id }) => suppressed?.has(id) !== true);
  if (held) return [...suppressions, ...hold(state, wanted, held, command)];
  if (wanted.length === 0) return suppressions;
  const recipientIds = wanted.map(({ id }) => id);
  const started = { messageId, contentId, attempt: state.attempts + 1, recipientIds, leaseUntil };
  return [...suppressions, { type: 'AttemptStarted', data: started }];
};

/**
 * One step: records lost attempts, lets recipients expire or fail, or claims an attempt. No events: nothing is due, or
 * another attempt is in flight.
 */
export const claimAttempt = (state: Message, command: ClaimAttempt): readonly MessageEvent[] => {
  if (state.status === 'absent') return [];
  const { now } = command;
  const recipients = recipientsAt(state, command);
  const lost = lostAttempts(recipients, now);
  if (lost.length > 0) return recordLost(state, lost, command);
  const due = recipients.filter((recipient) => isDue(recipient, now));
  if (due.length === 0) return [];
  if (state.expiresAt <= now) {
    return numbered(
      state,
      due.map((recipient) => ended(state, 'RecipientExpired', recipient, TOO_LATE)),
    );
  }
  if (command.domainDeleted === true) {
    // Recipients that are not due yet would wait in vain. Those in flight get the outcome of their attempt.
    const open = recipients.filter(({ status, lease }) => isOpen(status) && lease === null);
    return numbered(
      state,
      open.map((recipient) => ended(state, 'RecipientFailed', recipient, DOMAIN_DELETED)),
    );
  }
  return numbered(state, claim(state, due, command));
};
