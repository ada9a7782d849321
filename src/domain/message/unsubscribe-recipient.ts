import type { MessageEvent } from '../kernel/events.ts';
import { isUnsubscribed, type Said, type Suppression } from '../suppression/suppression.ts';
import { type Message, numbered } from './message.ts';

type Unsubscribed = Extract<MessageEvent, { type: 'RecipientUnsubscribed' }>['data'];

export interface UnsubscribeRecipient extends Pick<Unsubscribed, 'recipientId' | 'method'> {
  /** Topic to unsubscribe from; null: all mail like the message. */
  readonly topicId: string | null;
  /** Current suppression of the recipient's address. */
  readonly suppression: Suppression;
  /** ISO 8601. */
  readonly now: string;
}

/**
 * Last unsubscription of a recipient through this message, from its topic or from all mail like it; null if there is
 * none.
 */
export const lastUnsubscription = (
  state: Message,
  { recipientId, topicId }: Pick<UnsubscribeRecipient, 'recipientId' | 'topicId'>,
): Said | null => {
  if (state.status === 'absent') return null;
  const recipient = state.recipients.find(({ id }) => id === recipientId);
  if (topicId === null) return recipient?.unsubscribed ?? null;
  return topicId === state.accepted.topic?.id ? (recipient?.leftTopic ?? null) : null;
};

/**
 * Whether a recipient has unsubscribed through this message and neither the recipient nor the sender has reversed it
 * since.
 */
export const hasUnsubscribed = (
  state: Message,
  { recipientId, topicId, suppression, now }: Omit<UnsubscribeRecipient, 'method'>,
): boolean => {
  const said = lastUnsubscription(state, { recipientId, topicId });
  if (state.status === 'absent' || said === null) return false;
  return isUnsubscribed(suppression, { stream: state.accepted.stream, topicId, said, now });
};

/**
 * Records an unsubscription, whatever the recipient's status. Repeating it has no effect unless it was reversed since.
 */
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
