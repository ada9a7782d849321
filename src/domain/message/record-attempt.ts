import type { BounceCategory } from '../bounce/categories.ts';
import type { MessageEvent } from '../kernel/events.ts';
import type { SmtpFacts } from './events.ts';
import { type ExistingMessage, type Message, numbered, outcomeUnknown, type UnnumberedEvent } from './message.ts';
import { nextAttemptAt, replyWaitSeconds } from './retry-schedule.ts';

/** Reason stored when a server rejects a recipient. The server's own words are in the reply. */
export const REFUSED = 'the other side refused it for good';

/** Outcome of one attempt for one recipient. */
export type AttemptOutcome = {
  readonly recipientId: string;
  /** Destination to which the outcome is feedback (`mail-transport.ts`). Not recorded. */
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
      /** The wait named in the reply's text. */
      readonly askedSeconds?: number;
    }
  | { readonly outcome: 'suppressed' | 'failed'; readonly reason: string }
  /** The final dot may have been sent, but no reply came. */
  | { readonly outcome: 'unknown' }
);

export interface RecordAttempt {
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
  return numbered(
    state,
    outcomes.flatMap((outcome) => eventsOf(state, command, outcome)),
  );
};
