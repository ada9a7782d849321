import { suppresses } from '../bounce/categories.ts';
import type { MessageEvent } from '../events.ts';
import type { RecordedEvent } from '../ports/event-store.ts';
import type { SuppressionReason, SuppressionScope } from './events.ts';

type Suppressing = Extract<
  MessageEvent,
  { type: 'RecipientBounced' | 'RecipientComplained' | 'RecipientUnsubscribed' }
>;

/** An event after which an address is to be sent less, or nothing. */
export type SuppressingEvent = RecordedEvent<Suppressing>;

/**
 * A bounce without a category, or of one that does not blame the address, suppresses nobody; nor does what somebody else
 * could have said.
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
 * What follows from it. Whoever complains wants nothing of the sender's, and an address that does not exist can have
 * nothing. Whoever unsubscribes from bulk mail still wants what is sent to him alone; whoever unsubscribes from that
 * wants no bulk mail either.
 */
export const suppressionFor = (
  { type }: Pick<Suppressing, 'type'>,
  stream: 'transactional' | 'bulk',
): { readonly reason: SuppressionReason; readonly scope: SuppressionScope } => {
  switch (type) {
    case 'RecipientBounced':
      return { reason: 'bounce', scope: 'all' };
    case 'RecipientComplained':
      return { reason: 'complaint', scope: 'all' };
    case 'RecipientUnsubscribed':
      return { reason: 'unsubscribe', scope: stream === 'bulk' ? 'bulk' : 'all' };
    default:
      return type satisfies never;
  }
};
