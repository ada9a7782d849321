import type { CustomerEventFacts, CustomerEventType } from './customer-event-types.ts';
import type { MessageEvent } from './events.ts';

/** Type, recipient and facts of one customer event. */
export interface CustomerEventKind {
  readonly type: CustomerEventType;
  readonly recipientId: string | null;
  readonly facts: CustomerEventFacts;
}

type RecipientChange = Exclude<
  Extract<MessageEvent, { readonly data: { readonly recipientId: string } }>,
  { readonly type: 'RecipientReportNoted' }
>;

const TYPE_OF_CHANGE: Readonly<Record<RecipientChange['type'], CustomerEventType>> = {
  RecipientDelivered: 'message.delivered',
  RecipientDeferred: 'message.deferred',
  RecipientBounced: 'message.bounced',
  RecipientExpired: 'message.expired',
  RecipientFailed: 'message.failed',
  RecipientSuppressed: 'message.suppressed',
  RecipientCancelled: 'message.cancelled',
  RecipientOpened: 'message.opened',
  RecipientClicked: 'message.clicked',
  RecipientComplained: 'message.complained',
  RecipientUnsubscribed: 'message.unsubscribed',
};

const changeOf = ({ type, data }: RecipientChange): CustomerEventKind => {
  const { messageId: _m, contentId: _c, sequence: _s, recipientId, ...facts } = data;
  if (!('smtp' in facts)) return { type: TYPE_OF_CHANGE[type], recipientId, facts };
  const { replyRoot: _r, ...smtp } = facts.smtp;
  return { type: TYPE_OF_CHANGE[type], recipientId, facts: { ...facts, smtp } };
};

const scheduledKinds = (
  type: CustomerEventType,
  { recipientIds, scheduledAt }: { readonly recipientIds: readonly string[]; readonly scheduledAt: string },
): readonly CustomerEventKind[] => recipientIds.map((recipientId) => ({ type, recipientId, facts: { scheduledAt } }));

/** The customer events that a message event produces, in order. */
export const messageKinds = (event: MessageEvent): readonly CustomerEventKind[] => {
  const { type, data } = event;
  switch (type) {
    case 'MessageAccepted':
      return data.recipients.map(({ id }) => ({ type: 'message.accepted', recipientId: id, facts: {} }));
    case 'MessageScheduled':
      return scheduledKinds('message.scheduled', data);
    case 'MessageRescheduled':
      return scheduledKinds('message.rescheduled', data);
    case 'RecipientsHeld':
      return []; // a campaign would produce a million; the domain or organization gets one event instead
    case 'RecipientReportNoted':
      return []; // it has no effect
    case 'AttemptStarted':
      return data.recipientIds.map((recipientId) => ({
        type: 'message.sending',
        recipientId,
        facts: { attempt: data.attempt },
      }));
    case 'AttemptOutcomeUnknown': {
      const { attempt, nextAttemptAt } = data;
      const facts: CustomerEventFacts = { attempt, nextAttemptAt, isOutcomeUnknown: true };
      return data.recipientIds.map((recipientId) => ({ type: 'message.deferred', recipientId, facts }));
    }
    default:
      return [changeOf(event as RecipientChange)]; // all other types: the record above is complete
  }
};
