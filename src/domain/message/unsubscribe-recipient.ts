import type { MessageEvent } from '../events.ts';
import { isUnsubscribed } from '../suppression/is-unsubscribed.ts';
import type { Suppression } from '../suppression/suppression.ts';
import type { Message } from './message.ts';
import { numbered } from './numbered.ts';

type Unsubscribed = Extract<MessageEvent, { type: 'RecipientUnsubscribed' }>['data'];

export interface UnsubscribeRecipient extends Pick<Unsubscribed, 'recipientId' | 'method'> {
  /** What is known against his address. */
  readonly suppression: Suppression;
  /** ISO 8601. */
  readonly now: string;
}

/** Whether a recipient of the message has unsubscribed by it, and his word was not taken off the list since. */
export const hasUnsubscribed = (
  state: Message,
  { recipientId, suppression, now }: Omit<UnsubscribeRecipient, 'method'>,
): boolean => {
  if (state.status === 'absent') return false;
  const saidAt = state.recipients.find(({ id }) => id === recipientId)?.unsubscribedAt ?? null;
  return saidAt !== null && isUnsubscribed(suppression, { stream: state.accepted.stream, saidAt, now });
};

/** However the recipient stands, and once while his word counts: whoever is on the list no more may say it again. */
export const unsubscribeRecipient = (state: Message, command: UnsubscribeRecipient): readonly MessageEvent[] => {
  const { recipientId, method } = command;
  if (state.status === 'absent' || !state.recipients.some(({ id }) => id === recipientId)) return [];
  if (hasUnsubscribed(state, command)) return [];
  const { messageId, contentId } = state.accepted;
  return numbered(state, [{ type: 'RecipientUnsubscribed', data: { messageId, contentId, recipientId, method } }]);
};
