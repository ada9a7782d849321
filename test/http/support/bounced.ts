import { claimAttempt, recordAttempt } from '../../../src/commands/message/attempt.ts';
import { smtpReply } from '../../support/controls/message.ts';
import type { Service } from './service.ts';

/** Ends a message without a worker: these recipients, by index, are delivered, and the others bounce. */
export const bounce = async (
  { deps: { context } }: Pick<Service, 'deps'>,
  messageId: string,
  delivered: readonly number[] = [],
): Promise<readonly string[]> => {
  const claim = await claimAttempt(context, { messageId, leaseMs: 60_000, random: 0 });
  if (!claim.claimed) throw new Error(`message ${messageId} cannot be claimed`);
  const ids = claim.message.state.recipients.map(({ id }) => id);
  const outcomes = ids.map((recipientId, index) =>
    delivered.includes(index)
      ? { recipientId, outcome: 'delivered' as const, smtp: smtpReply() }
      : { recipientId, outcome: 'bounced' as const, smtp: smtpReply(550), reason: 'no such user' },
  );
  await recordAttempt(context, { message: claim.message, attempt: claim.attempt, outcomes, replies: [], random: 0.5 });
  return ids;
};
