import type { ReturnToken } from '../../domain/message/return-path.ts';
import type { CommandContext } from '../context.ts';
import { findReturned } from './find-returned.ts';
import type { ReportOutcome } from './record-report.ts';
import { recordUnsubscription } from './record-unsubscription.ts';

type Context = Pick<CommandContext, 'store' | 'secrets' | 'system'>;

/**
 * Records that a recipient wants no more mail: he has written to the address of his `List-Unsubscribe` (RFC 2369 §3.2).
 * Whatever he wrote, and whoever he says he is: nobody else was told the address.
 */
export const unsubscribeByMail = async (context: Context, token: ReturnToken): Promise<ReportOutcome> => {
  const returned = await findReturned(context, [token]);
  if (returned === null) return 'forged';
  const [place = -1, ...others] = returned.places;
  const { id: recipientId } = (others.length === 0 ? returned.message.state.recipients[place] : undefined) ?? {};
  if (recipientId === undefined) return 'unmatched';
  const linked = { message: returned.message, recipientId };
  const isNew = await recordUnsubscription(context, linked, { method: 'mail', request: null });
  return isNew ? 'unsubscribed' : 'unchanged';
};
