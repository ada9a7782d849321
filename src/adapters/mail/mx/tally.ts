import type { OutgoingMail, RecipientOutcome } from '../../../domain/ports/mail-transport.ts';
import type { ServerVerdict } from '../send-on-session.ts';

/** How much is known by an outcome: a server's reply, a server that was tried, a host that was not, or nothing at all. */
const weightOf = ({ code, address, mx }: RecipientOutcome): number => {
  if (code > 0) return 3;
  if (typeof address === 'string') return 2;
  return mx === null ? 0 : 1;
};

/** Of two alike, the later is nearer to what comes next. */
const isBetter = (one: RecipientOutcome, before: RecipientOutcome | undefined): boolean =>
  before === undefined || weightOf(one) >= weightOf(before);

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
