import type { BounceCategory } from '../bounce/categories.ts';
import type { MessageEvent } from '../events.ts';
import type { SmtpFacts } from './events.ts';
import type { ExistingMessage, Message } from './message.ts';
import { numbered, type UnnumberedEvent } from './numbered.ts';
import { replyWaitSeconds } from './reply-waits.ts';
import { nextAttemptAt } from './retry-schedule.ts';

/** Why a recipient bounced whom a server refused; its own words are in the reply. */
export const REFUSED = 'the other side refused it for good';

/** What one attempt came to for one recipient. */
export type AttemptOutcome = {
  readonly recipientId: string;
  /** Which destination it tells something of (`mail-transport.ts`); not recorded. */
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
      /** The wait that is to be, whatever was said. */
      readonly retryAfterSeconds?: number;
      /** The wait that the text of the reply names. */
      readonly askedSeconds?: number;
    }
  | { readonly outcome: 'suppressed' | 'failed'; readonly reason: string }
  /** The final dot may have left, and no answer came. */
  | { readonly outcome: 'unknown' }
);

export interface RecordAttempt {
  readonly attempt: number;
  readonly outcomes: readonly AttemptOutcome[];
  /** ISO 8601. */
  readonly now: string;
  /** In [0, 1). */
  readonly chance: number;
}

const categoryOf = ({ category }: { readonly category?: BounceCategory }): { readonly category?: BounceCategory } =>
  category === undefined ? {} : { category };

/** The wait that is to be, else the one that the reply means; undefined: the schedule's. */
const waitOf = (made: number, outcome: AttemptOutcome, chance: number): number | undefined => {
  if (outcome.outcome !== 'deferred') return undefined;
  return outcome.retryAfterSeconds ?? replyWaitSeconds(made, outcome, chance);
};

/** Counts what was tried for this recipient: attempts at other destinations are no reason to wait longer. */
const dueAfter = (
  { recipients, expiresAt }: ExistingMessage,
  outcome: AttemptOutcome,
  command: RecordAttempt,
): string => {
  const made = recipients.find(({ id }) => id === outcome.recipientId)?.attempts ?? command.attempt;
  return nextAttemptAt(made, { ...command, expiresAt }, waitOf(made, outcome, command.chance));
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
      const { smtp, reason } = outcome;
      const due = dueAfter(state, outcome, command);
      const data = { ...about, recipientId, attempt, smtp, reason, nextAttemptAt: due, ...categoryOf(outcome) };
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
      const data = { ...about, attempt, recipientIds: [recipientId], nextAttemptAt: due };
      return [{ type: 'AttemptOutcomeUnknown', data }];
    }
    default:
      return outcome satisfies never;
  }
};

/** Records outcomes of the attempt in hand; an attempt that is no longer in hand changes nothing (its lease was lost). */
export const recordAttempt = (state: Message, command: RecordAttempt): readonly MessageEvent[] => {
  if (state.status === 'absent') return [];
  const inHand = new Set(
    state.recipients.filter(({ lease }) => lease?.attempt === command.attempt).map(({ id }) => id),
  );
  // Of two outcomes for one recipient the first counts: it has ended then.
  const outcomes = command.outcomes.filter(({ recipientId }) => inHand.delete(recipientId));
  return numbered(
    state,
    outcomes.flatMap((outcome) => eventsOf(state, command, outcome)),
  );
};
