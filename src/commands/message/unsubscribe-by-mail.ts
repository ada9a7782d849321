import { type Message, message, messageStream } from '../../domain/message/message.ts';
import type { ReturnToken } from '../../domain/message/return-path.ts';
import { unsubscribeRecipient as decide } from '../../domain/message/unsubscribe-recipient.ts';
import { type CommandContext, eventContext } from '../context.ts';
import { execute } from '../execute.ts';
import { findReturned } from './find-returned.ts';
import { recipientOrigin } from './recipient-origin.ts';
import type { ReportOutcome } from './record-report.ts';

type Context = Pick<CommandContext, 'store' | 'secrets' | 'system'>;

/**
 * Records that a recipient wants no more mail: he has written to the address of his `List-Unsubscribe` (RFC 2369 §3.2).
 * Whatever he wrote, and whoever he says he is: nobody else was told the address.
 */
export const unsubscribeByMail = async (context: Context, token: ReturnToken): Promise<ReportOutcome> => {
  const returned = await findReturned(context, [token]);
  if (returned === null) return 'forged';
  const { state } = returned.message;
  const [place = -1, ...others] = returned.places;
  const { id: recipientId } = (others.length === 0 ? state.recipients[place] : undefined) ?? {};
  if (recipientId === undefined) return 'unmatched';
  const { events } = await execute(context, {
    aggregate: message,
    stream: messageStream(state.accepted.messageId),
    context: eventContext(recipientOrigin(state, recipientId, null), context.system.now().toISOString()),
    decide: (before: Message) => decide(before, { recipientId, method: 'mail' }),
    known: returned.message,
  });
  return events.length === 0 ? 'unchanged' : 'unsubscribed';
};
