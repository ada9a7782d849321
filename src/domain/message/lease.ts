import type { ExistingMessage, Recipient } from './message.ts';
import type { UnnumberedEvent } from './numbered.ts';

/** Somebody may be handing it over to him at this moment: what is under way cannot be called back, and nobody else may send. */
export const isInHand = ({ lease }: Pick<Recipient, 'lease'>, now: string): boolean =>
  lease !== null && lease.until > now;

/** The same of any of its recipients. */
export const isBeingSent = ({ recipients }: ExistingMessage, now: string): boolean =>
  recipients.some((recipient) => isInHand(recipient, now));

/** Recipients whose attempt's lease has ended, and nobody said what came of it, by the attempt. */
export const lostLeases = (
  recipients: readonly Recipient[],
  now: string,
): readonly { readonly attempt: number; readonly recipients: readonly Recipient[] }[] => {
  const lost = new Map<number, Recipient[]>();
  for (const recipient of recipients) {
    if (recipient.lease === null || recipient.lease.until > now) continue;
    const { attempt } = recipient.lease;
    lost.set(attempt, [...(lost.get(attempt) ?? []), recipient]);
  }
  return [...lost].map(([attempt, of]) => ({ attempt, recipients: of }));
};

export interface LostAttempt {
  readonly attempt: number;
  readonly recipients: readonly Recipient[];
  readonly nextAttemptAt: string;
}

/** A copy may have arrived, or not. */
export const lostAttempt = (
  { accepted: { messageId, contentId } }: ExistingMessage,
  { attempt, recipients, nextAttemptAt }: LostAttempt,
): UnnumberedEvent => {
  const recipientIds = recipients.map(({ id }) => id);
  return { type: 'AttemptOutcomeUnknown', data: { messageId, contentId, attempt, recipientIds, nextAttemptAt } };
};

/** Why a recipient ends unsent, or not quite: an attempt that was lost, just now or earlier, may have reached him. */
export const withDoubt = (reason: string, { status, inDoubt }: Recipient): string =>
  status === 'sending' || inDoubt ? `${reason} after an attempt whose outcome is unknown` : reason;
