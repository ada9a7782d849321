import type { MessageEvent } from '../events.ts';
import type { HoldReason } from './events.ts';
import { lostAttempt, lostLeases, withDoubt } from './lease.ts';
import type { ExistingMessage, Message, Recipient } from './message.ts';
import { numbered, type UnnumberedEvent } from './numbered.ts';
import { prolonged } from './prolonged.ts';
import { nextAttemptAt } from './retry-schedule.ts';
import { isOpen } from './status.ts';

/** Why a message has to wait though it is due. */
export interface Hold {
  readonly reason: HoldReason;
  /** Whose release ends it: a domain, an organization, or the stream of a warm-up; null: nobody's does. */
  readonly heldBy: string | null;
  /** After which it is looked at again, whatever happens. */
  readonly waitSeconds: number;
  /** The time to live does not run meanwhile (`prolonged.ts`). Absent: it does. */
  readonly outsideTimeToLive?: true;
}

export interface StartAttempt {
  /** Domain of the recipients that are meant: one attempt goes to one destination. Absent: all of them, by one server. */
  readonly destination?: string | undefined;
  /** ISO 8601. */
  readonly now: string;
  readonly leaseUntil: string;
  /** In [0, 1). */
  readonly chance: number;
  /** The domain it was accepted for is gone. Absent: it is not. */
  readonly domainDeleted?: boolean;
  /** It does not leave now; none is claimed. Absent: it does. */
  readonly held?: Hold | null;
  /** Recipients that are to be sent nothing, with the reason in a sentence. Absent: none. */
  readonly suppressed?: ReadonlyMap<string, string>;
}

/**
 * A first attempt that is lost says that a worker died, not that the other side wants us to wait; a message that loses
 * its worker again may be the reason, and takes the schedule's waits.
 */
const FIRST_LOSS_WAIT_SECONDS = 5;

const isDue = ({ status, nextAttemptAt: due }: Recipient, now: string): boolean =>
  status === 'accepted' || ((status === 'deferred' || status === 'scheduled') && (due === null || due <= now));

const loseAttempts = (
  state: ExistingMessage,
  lost: ReturnType<typeof lostLeases>,
  command: StartAttempt,
): readonly MessageEvent[] => {
  const { expiresAt } = state;
  return numbered(
    state,
    lost.map(({ attempt, recipients }) => {
      const made = Math.max(...recipients.map(({ attempts }) => attempts));
      const wait = made === 1 ? FIRST_LOSS_WAIT_SECONDS : undefined;
      return lostAttempt(state, {
        attempt,
        recipients,
        nextAttemptAt: nextAttemptAt(made, { ...command, expiresAt }, wait),
      });
    }),
  );
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

/** Whoever is held already, and for the same, stays so: a look at what is held costs the log nothing. */
const isNewTo = ({ held }: Recipient, { reason, heldBy }: Hold, now: string): boolean =>
  held === null || held.until <= now || held.reason !== reason || held.heldBy !== heldBy;

const hold = (
  state: ExistingMessage,
  recipients: readonly Recipient[],
  held: Hold,
  command: StartAttempt,
): readonly UnnumberedEvent[] => {
  const recipientIds = recipients.filter((recipient) => isNewTo(recipient, held, command.now)).map(({ id }) => id);
  if (recipientIds.length === 0) return [];
  const { messageId, contentId } = state.accepted;
  const { attempts } = state;
  const { reason, heldBy, waitSeconds, outsideTimeToLive } = held;
  const expiresAt =
    outsideTimeToLive === true ? prolonged(state, { reason, seconds: waitSeconds, now: command.now }) : state.expiresAt;
  const until = nextAttemptAt(attempts, { ...command, expiresAt }, waitSeconds);
  const later = expiresAt === state.expiresAt ? {} : { expiresAt };
  return [{ type: 'RecipientsHeld', data: { messageId, contentId, recipientIds, reason, heldBy, until, ...later } }];
};

const meantBy = ({ recipients }: ExistingMessage, { destination }: Pick<StartAttempt, 'destination'>) =>
  recipients.filter(({ domain }) => destination === undefined || domain === destination);

/** Whom an attempt would be claimed for if nothing held it: nobody while an earlier one is lost, or all is over. */
export const claimable = (
  state: ExistingMessage,
  command: Pick<StartAttempt, 'destination' | 'now' | 'domainDeleted' | 'suppressed'>,
): readonly Recipient[] => {
  const { now, domainDeleted, suppressed } = command;
  const meant = meantBy(state, command);
  const isOver = state.expiresAt <= now || domainDeleted === true;
  if (isOver || lostLeases(meant, now).length > 0) return [];
  return meant.filter((recipient) => isDue(recipient, now) && suppressed?.has(recipient.id) !== true);
};

/** Claims the attempt for those who may be sent something; the others end here, whatever becomes of the rest. */
const claimUnsuppressed = (
  state: ExistingMessage,
  due: readonly Recipient[],
  command: StartAttempt,
): readonly MessageEvent[] => {
  const { suppressed, leaseUntil, held } = command;
  const { messageId, contentId } = state.accepted;
  const about = { messageId, contentId };
  const ended = due.flatMap((recipient): readonly UnnumberedEvent[] => {
    const reason = suppressed?.get(recipient.id);
    if (reason === undefined) return [];
    return [
      {
        type: 'RecipientSuppressed',
        data: { ...about, recipientId: recipient.id, reason: withDoubt(reason, recipient) },
      },
    ];
  });
  const wanted = due.filter(({ id }) => suppressed?.has(id) !== true);
  if (held) return numbered(state, [...ended, ...hold(state, wanted, held, command)]);
  const recipientIds = wanted.map(({ id }) => id);
  const claim = { ...about, attempt: state.attempts + 1, recipientIds, leaseUntil };
  return numbered(state, recipientIds.length === 0 ? ended : [...ended, { type: 'AttemptStarted', data: claim }]);
};

/**
 * What a worker that holds this message may do now: claim an attempt, note that one was lost, let recipients expire or
 * fail, or (no events) nothing, because it is not due or in somebody else's hands.
 */
export const startAttempt = (state: Message, command: StartAttempt): readonly MessageEvent[] => {
  if (state.status === 'absent') return [];
  const { now } = command;
  const meant = meantBy(state, command);
  const lost = lostLeases(meant, now);
  if (lost.length > 0) return loseAttempts(state, lost, command);
  const due = meant.filter((recipient) => isDue(recipient, now));
  if (due.length === 0) return [];
  if (state.expiresAt <= now) return endUnsent(state, 'RecipientExpired', due, TOO_LATE);
  if (command.domainDeleted === true) {
    // Those that are not due yet would wait in vain; those in somebody's hands have his outcome.
    const open = meant.filter(({ status, lease }) => isOpen(status) && lease === null);
    return endUnsent(state, 'RecipientFailed', open, DOMAIN_DELETED);
  }
  return claimUnsuppressed(state, due, command);
};
