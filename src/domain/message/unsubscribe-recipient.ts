import type { MessageEvent } from '../events.ts';
import { isUnsubscribed, type Said, type Suppression } from '../suppression/suppression.ts';
import { type Message, numbered } from './message.ts';

type Unsubscribed = Extract<MessageEvent, { type: 'RecipientUnsubscribed' }>['data'];

export interface UnsubscribeRecipient extends Pick<Unsubscribed, 'recipientId' | 'method'> {
  /** From it alone; null: from all mail like the message. */
  readonly topicId: string | null;
  /** Of the recipient's address. */
  readonly suppression: Suppression;
  /** ISO 8601. */
  readonly now: string;
}

/** The last unsubscription of a recipient by this message, from its topic or from all mail like it; null: there is none. */
export const lastUnsubscription = (
  state: Message,
  { recipientId, topicId }: Pick<UnsubscribeRecipient, 'recipientId' | 'topicId'>,
): Said | null => {
  if (state.status === 'absent') return null;
  const recipient = state.recipients.find(({ id }) => id === recipientId);
  if (topicId === null) return recipient?.unsubscribed ?? null;
  return topicId === state.accepted.topic?.id ? (recipient?.leftTopic ?? null) : null;
};

/** Whether a recipient has unsubscribed by this message, and neither it nor the sender took that back since. */
export const hasUnsubscribed = (
  state: Message,
  { recipientId, topicId, suppression, now }: Omit<UnsubscribeRecipient, 'method'>,
): boolean => {
  const said = lastUnsubscription(state, { recipientId, topicId });
  if (state.status === 'absent' || said === null) return false;
  return isUnsubscribed(suppression, { stream: state.accepted.stream, topicId, said, now });
};

/** Whatever the recipient's status. Repeating it changes nothing, unless it was taken back since. */
export const unsubscribeRecipient = (state: Message, command: UnsubscribeRecipient): readonly MessageEvent[] => {
  const { recipientId, method, topicId } = command;
  if (state.status === 'absent' || !state.recipients.some(({ id }) => id === recipientId)) return [];
  if (hasUnsubscribed(state, command)) return [];
  const { messageId, contentId } = state.accepted;
  const from = topicId === null ? {} : { topicId };
  return numbered(state, [
    { type: 'RecipientUnsubscribed', data: { messageId, contentId, recipientId, method, ...from } },
  ]);
};
