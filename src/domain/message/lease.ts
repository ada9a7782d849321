import type { ExistingMessage, Recipient } from './message.ts';
import type { UnnumberedEvent } from './numbered.ts';

/** Somebody may be handing it over at this moment: what is under way cannot be called back, and nobody else may send. */
export const isBeingSent = ({ lease }: ExistingMessage, now: string): boolean => lease !== null && lease.until > now;

/** The lease ended and nobody said what came of it: a copy may have arrived. */
export const lostAttempt = (
  { accepted: { messageId, contentId }, recipients }: ExistingMessage,
  attempt: number,
  nextAttemptAt: string,
): UnnumberedEvent => {
  const recipientIds = recipients.filter(({ status }) => status === 'sending').map(({ id }) => id);
  return { type: 'AttemptOutcomeUnknown', data: { messageId, contentId, attempt, recipientIds, nextAttemptAt } };
};

/** Why a recipient ends unsent, or not quite: an attempt that was lost, just now or earlier, may have reached him. */
export const withDoubt = (reason: string, { status, inDoubt }: Recipient): string =>
  status === 'sending' || inDoubt ? `${reason} after an attempt whose outcome is unknown` : reason;
