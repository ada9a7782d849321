import type { MessageEvent } from '../events.ts';
import { isUnsubscribed, type Suppression } from '../suppression/suppression.ts';
import { type Message, numbered } from './message.ts';

type Unsubscribed = Extract<MessageEvent, { type: 'RecipientUnsubscribed' }>['data'];

export interface UnsubscribeRecipient extends Pick<Unsubscribed, 'recipientId' | 'method'> {
  /** Of the recipient's address. */
  readonly suppression: Suppression;
  /** ISO 8601. */
  readonly now: string;
}

/** Whether a recipient has unsubscribed by this message, and was not taken off the suppression list since. */
export const hasUnsubscribed = (
  state: Message,
  { recipientId, suppression, now }: Omit<UnsubscribeRecipient, 'method'>,
): boolean => {
  if (state.status === 'absent') return false;
  const saidAt = state.recipients.find(({ id }) => id === recipientId)?.unsubscribedAt ?? null;
  return saidAt !== null && isUnsubscribed(suppression, { stream: state.accepted.stream, saidAt, now });
};

/** Whatever the recipient's status. Repeating it changes nothing, unless the address was taken off the list since. */
export const unsubscribeRecipient = (state: Message, command: UnsubscribeRecipient): readonly MessageEvent[] => {
  const { recipientId, method } = command;
  if (state.status === 'absent' || !state.recipients.some(({ id }) => id === recipientId)) return [];
  if (hasUnsubscribed(state, command)) return [];
  const { messageId, contentId } = state.accepted;
  return numbered(state, [{ type: 'RecipientUnsubscribed', data: { messageId, contentId, recipientId, method } }]);
};
