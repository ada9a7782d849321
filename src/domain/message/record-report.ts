import type { BounceCategory } from '../bounce/categories.ts';
import type { MessageEvent } from '../events.ts';
import type { SmtpFacts } from './events.ts';
import { type ExistingMessage, type Message, numbered, type UnnumberedEvent } from './message.ts';
import type { Recipient } from './recipient.ts';

/** A report about one recipient. `shared`: other recipients of the same copy could have caused it. */
export type ReportedRecipient = { readonly recipientId: string; readonly shared?: true } & (
  | {
      readonly kind: 'failure';
      readonly isPermanent: boolean;
      readonly category: BounceCategory;
      readonly smtp: SmtpFacts;
    }
  | { readonly kind: 'complaint' }
);

const REASON = 'a report says that it could not be delivered';

/**
 * A recipient without an attempt cannot bounce, nor one that has ended otherwise. A shared report does not end a recipient
 * that waits for another attempt: a co-recipient must not be able to prevent its delivery.
 */
const canBounce = (
  { status }: Recipient,
  { isPermanent, shared }: Extract<ReportedRecipient, { readonly kind: 'failure' }>,
): boolean =>
  status === 'delivered' || (isPermanent && (status === 'sending' || (status === 'deferred' && shared !== true)));

/** A copy arrived, or may have. */
const canComplain = ({ status, inDoubt, complained }: Recipient): boolean =>
  !complained && (status === 'delivered' || status === 'sending' || status === 'bounced' || inDoubt);

const eventsOf = (
  { accepted: { messageId, contentId }, attempts }: ExistingMessage,
  recipient: Recipient,
  reported: ReportedRecipient,
): readonly UnnumberedEvent[] => {
  const { recipientId } = reported;
  const about = { messageId, contentId, recipientId, ...(reported.shared === true ? { shared: true as const } : {}) };
  if (reported.kind === 'complaint') {
    return canComplain(recipient) ? [{ type: 'RecipientComplained', data: about }] : [];
  }
  if (!canBounce(recipient, reported)) return [];
  const { smtp, category } = reported;
  const late = recipient.status === 'delivered' ? ({ late: true } as const) : {};
  const data = { ...about, attempt: attempts, smtp, reason: REASON, category, ...late };
  return [{ type: 'RecipientBounced', data }];
};

/** Records reports about recipients, however late. Repeated reports, and those that cannot be true, change nothing. */
export const recordReport = (state: Message, reported: readonly ReportedRecipient[]): readonly MessageEvent[] => {
  if (state.status === 'absent') return [];
  // Only the first report about a recipient counts.
  const first = new Map(reported.toReversed().map((each) => [each.recipientId, each]));
  return numbered(
    state,
    state.recipients.flatMap((recipient) => {
      const about = first.get(recipient.id);
      return about === undefined ? [] : eventsOf(state, recipient, about);
    }),
  );
};
