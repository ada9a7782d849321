import type { OutgoingMail, RecipientOutcome } from '../../../domain/mail-transport.ts';
import type { ServerVerdict } from '../send-on-session.ts';

/** A reply says more than that there was none; of two alike, the later is nearer to what comes next. */
const isBetter = (one: RecipientOutcome, before: RecipientOutcome | undefined): boolean =>
  before === undefined || one.code > 0 || before.code === 0;

/** What the servers of a domain said to one message, one after the other. */
export const createTally = (mail: OutgoingMail) => {
  const settled = new Map<string, RecipientOutcome>();
  const open = new Map<string, RecipientOutcome>();

  return {
    take: (verdict: ServerVerdict): void => {
      for (const outcome of verdict.settled) settled.set(outcome.recipientId, outcome);
      for (const outcome of verdict.open) {
        if (isBetter(outcome, open.get(outcome.recipientId))) open.set(outcome.recipientId, outcome);
      }
    },
    /** For those who are still to be sent to; null: nobody. */
    rest: (): OutgoingMail | null => {
      const to = mail.envelope.to.filter(({ recipientId }) => !settled.has(recipientId));
      return to.length === 0 ? null : { ...mail, envelope: { ...mail.envelope, to } };
    },
    /** Of those about whom anything was said. */
    outcomes: (): readonly RecipientOutcome[] =>
      mail.envelope.to.flatMap(({ recipientId }) => settled.get(recipientId) ?? open.get(recipientId) ?? []),
  };
};
