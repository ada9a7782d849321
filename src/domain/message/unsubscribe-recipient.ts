import type { MessageEvent } from '../events.ts';
import type { Message } from './message.ts';
import { numbered } from './numbered.ts';

type Unsubscribed = Extract<MessageEvent, { type: 'RecipientUnsubscribed' }>['data'];

export type UnsubscribeRecipient = Pick<Unsubscribed, 'recipientId' | 'method'>;

/** However the recipient stands, and once: whoever has unsubscribed has. */
export const unsubscribeRecipient = (
  state: Message,
  { recipientId, method }: UnsubscribeRecipient,
): readonly MessageEvent[] => {
  if (state.status === 'absent') return [];
  const recipient = state.recipients.find(({ id }) => id === recipientId);
  if (recipient === undefined || recipient.unsubscribed) return [];
  const { messageId, contentId } = state.accepted;
  return numbered(state, [{ type: 'RecipientUnsubscribed', data: { messageId, contentId, recipientId, method } }]);
};
