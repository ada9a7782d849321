/** Decides what a worker may do with a message now: claim an attempt, hold its recipients, or end them unsent. */
import type { MessageEvent } from '../kernel/events.ts';
import type { HoldReason } from './events.ts';
import { type ExistingMessage, type Message, numbered, outcomeUnknown, type UnnumberedEvent } from './message.ts';
import { isOpen, lostAttempts, type Recipient, withDoubt } from './recipient.ts';
import { extendedExpiry, nextAttemptAt } from './retry-schedule.ts';

/** Reason why a due message must wait. */
export interface Hold {
  readonly reason: HoldReason;
  /** Holder whose release ends the hold, as in `RecipientsHeld`; null if only time does. */
  readonly heldBy: string | null;
  /** Time after which the message is checked again in any case. */
  readonly waitSeconds: number;
  /** Present if the time to live is suspended during the hold. */
  readonly outsideTimeToLive?: true;
}

export interface ClaimAttempt {
  /** Recipient domain, because an attempt goes to one destination. Absent: all recipients, through one server. */
  readonly destination?: string | undefined;
  /** ISO 8601. */
  readonly now: string;
  readonly leaseUntil: string;
  /** In [0, 1). */
  readonly random: number;
  /** True if the domain from which the message was accepted has been deleted. */
  readonly domainDeleted?: boolean;
  /** Hold on the message: no recipient is claimed. Absent or null: none. */
  readonly held?: Hold | null;
  /** Recipients that must not be sent to, each with the reason as a sentence. Absent: none. */
  readonly suppressed?: ReadonlyMap<string, string>;
}

/**
 * Wait after a first lost attempt: a worker died, which does not mean that the destination needs a pause. A message
 * that loses its worker again may be the cause, so it waits according to the schedule.
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

/** Whether the hold differs from the current one. Checking held mail repeatedly must not add events to the log. */
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

/** Recipients that an attempt would claim if the message were not held. */
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

/** Ends the suppressed recipients, then claims the attempt for the others or holds them. */
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
 * Takes one step: records lost attempts, lets recipients expire or fail, or claims an attempt. Emits nothing if nothing
 * is due or another attempt is in flight.
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
    // Recipients that are not due yet would wait needlessly. Those in flight get the outcome of their attempt.
    const open = recipients.filter(({ status, lease }) => isOpen(status) && lease === null);
    return numbered(
      state,
      open.map((recipient) => ended(state, 'RecipientFailed', recipient, DOMAIN_DELETED)),
    );
  }
  return numbered(state, claim(state, due, command));
};
