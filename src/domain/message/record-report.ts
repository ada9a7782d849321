import type { BounceCategory } from '../bounce/categories.ts';
import type { MessageEvent } from '../events.ts';
import type { SmtpFacts } from './events.ts';
import type { ExistingMessage, Message, Recipient } from './message.ts';
import { numbered, type UnnumberedEvent } from './numbered.ts';

/** What came back about one recipient. `shared`: others who had the same copy could have written it. */
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
 * Whoever never had an attempt cannot have been reported on, and of whoever has ended otherwise nothing is left to say.
 * Who had the same copy cannot keep another from getting his: whoever waits for another attempt goes on waiting.
 */
const canBounce = (
  { status }: Recipient,
  { isPermanent, shared }: Extract<ReportedRecipient, { readonly kind: 'failure' }>,
): boolean =>
  status === 'delivered' || (isPermanent && (status === 'sending' || (status === 'deferred' && shared !== true)));

/** It reached somebody, or may have. */
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

/**
 * Records what came back about recipients, however late. A second report of the same changes nothing, nor does one
 * about somebody who has ended otherwise.
 */
export const recordReport = (state: Message, reported: readonly ReportedRecipient[]): readonly MessageEvent[] => {
  if (state.status === 'absent') return [];
  // Of two words about one recipient the first counts.
  const first = new Map(reported.toReversed().map((each) => [each.recipientId, each]));
  return numbered(
    state,
    state.recipients.flatMap((recipient) => {
      const about = first.get(recipient.id);
      return about === undefined ? [] : eventsOf(state, recipient, about);
    }),
  );
};
