import type { BounceCategory } from '../bounce/categories.ts';
import type { MessageEvent } from '../kernel/events.ts';
import type { HoldReason, SmtpFacts } from './events.ts';
import {
  type ExistingMessage,
  isInFlight,
  isOpen,
  lostAttempts,
  type Message,
  outcomeUnknown,
  type Recipient,
  type UnnumberedEvent,
  withDoubt,
  withSequence,
} from './message.ts';
import { extendedExpiry, nextAttemptAt, replyWaitSeconds } from './retry-schedule.ts';

/** Decides what a worker may do with a message now: claim an attempt, hold its recipients, or end them unsent. */

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
  /** True if the domain from which the message was accepted has been deleted: every open recipient is cancelled. */
  readonly domainDeleted?: boolean;
  /** Lost attempts are left alone, because their workers may be about to record the outcomes. */
  readonly leavesLost?: boolean;
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
const OWN_FAULT = 'the service could not send it before its time to live ended';
const DOMAIN_DELETED = 'the sending domain was deleted';

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
  return withSequence(
    state,
    lost.map((attempt) => {
      const made = Math.max(...attempt.recipients.map(({ attempts }) => attempts));
      const waitSeconds = made === 1 ? FIRST_LOSS_WAIT_SECONDS : undefined;
      return outcomeUnknown(state, attempt, nextAttemptAt(made, { ...command, expiresAt }, waitSeconds));
    }),
  );
};

const endingEvent = (
  { accepted: { messageId, contentId } }: ExistingMessage,
  type: 'RecipientCancelled' | 'RecipientExpired' | 'RecipientFailed' | 'RecipientSuppressed',
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
    return reason === undefined ? [] : [endingEvent(state, 'RecipientSuppressed', recipient, reason)];
  });
  const wanted = due.filter(({ id }) => suppressed?.has(id) !== true);
  if (held) return [...suppressions, ...hold(state, wanted, held, command)];
  if (wanted.length === 0) return suppressions;
  const recipientIds = wanted.map(({ id }) => id);
  const started = { messageId, contentId, attempt: state.attempts + 1, recipientIds, leaseUntil };
  return [...suppressions, { type: 'AttemptStarted', data: started }];
};

/** Recipients whose last attempt failed because of this service have failed, and are free. */
const endOfTimeToLive = (state: ExistingMessage, recipient: Recipient): UnnumberedEvent =>
  recipient.isOwnFault
    ? endingEvent(state, 'RecipientFailed', recipient, OWN_FAULT)
    : endingEvent(state, 'RecipientExpired', recipient, TOO_LATE);

/**
 * Cancels the open ones of these recipients. Lost attempts are recorded, just as the next attempt would record them.
 * @param recipients none is in flight.
 */
export const cancelRecipients = (
  state: ExistingMessage,
  recipients: readonly Recipient[],
  { reason, now }: { readonly reason: string; readonly now: string },
): readonly MessageEvent[] =>
  withSequence(state, [
    ...lostAttempts(recipients, now).map((lost) => outcomeUnknown(state, lost, now)),
    ...recipients
      .filter(({ status }) => isOpen(status))
      .map((recipient) => endingEvent(state, 'RecipientCancelled', recipient, reason)),
  ]);

/**
 * Takes one step: cancels recipients, records lost attempts, lets recipients expire or fail, or claims an attempt. Emits
 * nothing if nothing is due or another attempt is in flight.
 */
export const claimAttempt = (state: Message, command: ClaimAttempt): readonly MessageEvent[] => {
  if (state.status === 'absent') return [];
  const { now } = command;
  const recipients = recipientsAt(state, command);
  const lost = lostAttempts(recipients, now);
  if (lost.length > 0 && command.leavesLost === true) return [];
  if (command.domainDeleted === true) {
    // Those in flight get the outcome of their attempt.
    const free = recipients.filter((recipient) => !isInFlight([recipient], now));
    return cancelRecipients(state, free, { reason: DOMAIN_DELETED, now });
  }
  if (lost.length > 0) return recordLost(state, lost, command);
  const due = recipients.filter((recipient) => isDue(recipient, now));
  if (due.length === 0) return [];
  return withSequence(
    state,
    state.expiresAt <= now ? due.map((recipient) => endOfTimeToLive(state, recipient)) : claim(state, due, command),
  );
};

/** Reason stored when a server rejects a recipient. The server's own words are in the reply. */
export const REFUSED = 'the mail server rejected it permanently';

/** Outcome of one attempt for one recipient. */
export type AttemptOutcome = {
  readonly recipientId: string;
  /** Destination to which the outcome is feedback (`ports/mail.ts`). Not recorded. */
  readonly destination?: string | null;
} & (
  | { readonly outcome: 'delivered'; readonly smtp: SmtpFacts; readonly complained?: boolean }
  | {
      readonly outcome: 'bounced';
      readonly smtp: SmtpFacts;
      readonly reason: string;
      readonly category?: BounceCategory;
    }
  | {
      readonly outcome: 'deferred';
      readonly smtp: SmtpFacts;
      readonly reason: string;
      readonly category?: BounceCategory;
      /** Overrides the wait that the reply asks for. */
      readonly retryAfterSeconds?: number;
      /** Present if this service is to blame, not the destination. */
      readonly ownFault?: true;
      /** The wait named in the reply's text. */
      readonly askedSeconds?: number;
    }
  | { readonly outcome: 'suppressed' | 'failed'; readonly reason: string }
  /** The final dot may have been sent, but no reply came. */
  | { readonly outcome: 'unknown' }
);

interface RecordAttempt {
  readonly attempt: number;
  readonly outcomes: readonly AttemptOutcome[];
  /** ISO 8601. */
  readonly now: string;
  /** In [0, 1). */
  readonly random: number;
}

const categoryOf = ({ category }: { readonly category?: BounceCategory }): { readonly category?: BounceCategory } =>
  category === undefined ? {} : { category };

/** Returns undefined if the schedule applies. */
const waitOf = (made: number, outcome: AttemptOutcome, random: number): number | undefined => {
  if (outcome.outcome !== 'deferred') return undefined;
  return outcome.retryAfterSeconds ?? replyWaitSeconds(made, outcome, random);
};

/** Counts only attempts for this recipient: those at other destinations are no reason to wait longer. */
const dueAfter = (
  { recipients, expiresAt }: ExistingMessage,
  outcome: AttemptOutcome,
  command: RecordAttempt,
): string => {
  const made = recipients.find(({ id }) => id === outcome.recipientId)?.attempts ?? command.attempt;
  return nextAttemptAt(made, { ...command, expiresAt }, waitOf(made, outcome, command.random));
};

const eventsOf = (
  state: ExistingMessage,
  command: RecordAttempt,
  outcome: AttemptOutcome,
): readonly UnnumberedEvent[] => {
  const { recipientId } = outcome;
  const { attempt } = command;
  const { messageId, contentId } = state.accepted;
  const about = { messageId, contentId };
  switch (outcome.outcome) {
    case 'delivered': {
      const delivered = { ...about, recipientId, attempt, smtp: outcome.smtp };
      const complained = outcome.complained === true ? [{ ...about, recipientId }] : [];
      return [
        { type: 'RecipientDelivered', data: delivered },
        ...complained.map((data): UnnumberedEvent => ({ type: 'RecipientComplained', data })),
      ];
    }
    case 'deferred': {
      const { smtp, reason, ownFault } = outcome;
      const nextAt = { nextAttemptAt: dueAfter(state, outcome, command) };
      const fault = ownFault === true ? { ownFault } : {};
      const data = { ...about, recipientId, attempt, smtp, reason, ...nextAt, ...categoryOf(outcome), ...fault };
      return [{ type: 'RecipientDeferred', data }];
    }
    case 'bounced': {
      const { smtp, reason } = outcome;
      const data = { ...about, recipientId, attempt, smtp, reason, ...categoryOf(outcome) };
      return [{ type: 'RecipientBounced', data }];
    }
    case 'suppressed':
      return [{ type: 'RecipientSuppressed', data: { ...about, recipientId, reason: outcome.reason } }];
    case 'failed':
      return [{ type: 'RecipientFailed', data: { ...about, recipientId, reason: outcome.reason } }];
    case 'unknown': {
      const due = dueAfter(state, outcome, command);
      return [outcomeUnknown(state, { attempt, recipients: [{ id: recipientId }] }, due)];
    }
    default:
      return outcome satisfies never;
  }
};

/** Records the outcomes of an attempt in flight. An attempt whose lease was lost has no effect. */
export const recordAttempt = (state: Message, command: RecordAttempt): readonly MessageEvent[] => {
  if (state.status === 'absent') return [];
  const inFlight = new Set(
    state.recipients.filter(({ lease }) => lease?.attempt === command.attempt).map(({ id }) => id),
  );
  // Only the first outcome of a recipient counts, because it ends the attempt.
  const outcomes = command.outcomes.filter(({ recipientId }) => inFlight.delete(recipientId));
  return withSequence(
    state,
    outcomes.flatMap((outcome) => eventsOf(state, command, outcome)),
  );
};

/** Domain to which test keys send mail whose outcome they choose: `<fate>[+label]@sandbox.outbox.test`. */
export const SANDBOX_DOMAIN = 'sandbox.outbox.test';

export const SANDBOX_FATES = ['delivered', 'bounced', 'deferred', 'complained', 'suppressed'] as const;
type SandboxFate = (typeof SANDBOX_FATES)[number];

export interface SandboxAddress {
  readonly fate: SandboxFate;
  /** Wait from an address such as `deferred+60s`. */
  readonly retryAfterSeconds: number | null;
}

const SHAPE = /^([a-z]+)(?:\+(.*))?@sandbox\.outbox\.test$/;
const WAIT = /^(\d{1,5})s$/;

/** @returns the outcome that the address forces; null for an ordinary address, which is `delivered`. */
export const sandboxAddress = (address: string): SandboxAddress | null => {
  const match = SHAPE.exec(address.toLowerCase());
  const fate = SANDBOX_FATES.find((candidate) => candidate === match?.[1]);
  const wait = WAIT.exec(match?.[2] ?? '')?.[1];
  return fate === undefined ? null : { fate, retryAfterSeconds: wait === undefined ? null : Number(wait) };
};
