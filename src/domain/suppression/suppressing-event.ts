import { suppresses } from '../bounce/reply-words.ts';
import type { RecordedEvent } from '../kernel/event-store.ts';
import type { MessageEvent } from '../kernel/events.ts';
import type { SuppressionReason, SuppressionScope } from './events.ts';

type Suppressing = Extract<
  MessageEvent,
  { type: 'RecipientBounced' | 'RecipientComplained' | 'RecipientUnsubscribed' }
>;

/** An event that suppresses an address. */
export type SuppressingEvent = RecordedEvent<Suppressing>;

/**
 * A bounce suppresses only if its category blames the address. A report that any of several recipients could have
 * caused never suppresses.
 */
export const isSuppressing = (event: RecordedEvent): event is SuppressingEvent => {
  switch (event.type) {
    case 'RecipientBounced':
      return event.data.shared !== true && event.data.category !== undefined && suppresses(event.data.category);
    case 'RecipientComplained':
      return event.data.shared !== true;
    case 'RecipientUnsubscribed':
      return true;
    default:
      return false;
  }
};

/**
 * The suppression that an event causes. A bounce or complaint suppresses all mail. Unsubscribing from bulk mail still
 * allows transactional mail; unsubscribing from transactional mail ends bulk mail too. Unsubscribing from a topic ends
 * only that topic.
 */
export const suppressionFor = (
  { type, data }: Pick<Suppressing, 'type' | 'data'>,
  stream: 'transactional' | 'bulk',
): { readonly reason: SuppressionReason; readonly scope: SuppressionScope; readonly topicId?: string } => {
  switch (type) {
    case 'RecipientBounced':
      return { reason: 'bounce', scope: 'all' };
    case 'RecipientComplained':
      return { reason: 'complaint', scope: 'all' };
    case 'RecipientUnsubscribed': {
      const topicId = 'topicId' in data ? data.topicId : undefined;
      if (topicId !== undefined) return { reason: 'unsubscribe', scope: 'topic', topicId };
      return { reason: 'unsubscribe', scope: stream === 'bulk' ? 'bulk' : 'all' };
    }
    default:
      return type satisfies never;
  }
};
