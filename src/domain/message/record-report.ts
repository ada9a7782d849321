import type { BounceCategory } from '../bounce/categories.ts';
import type { MessageEvent } from '../kernel/events.ts';
import type { ReportDoubt, SmtpFacts } from './events.ts';
import { type ExistingMessage, type Message, numbered, type UnnumberedEvent } from './message.ts';
import type { Recipient } from './recipient.ts';

/**
 * A report about one recipient. `doubt`: reason why it has no effect. Absent: it is proved to be about this recipient.
 */
export type ReportedRecipient = { readonly recipientId: string; readonly doubt?: ReportDoubt } & (
  | {
      readonly kind: 'failure';
      readonly isPermanent: boolean;
      readonly category: BounceCategory;
      readonly smtp: SmtpFacts;
    }
  | { readonly kind: 'complaint' }
);

const REASON = 'a report says that it could not be delivered';

/** A recipient without an attempt, or with another final outcome, cannot bounce. */
const canBounce = (
  { status }: Recipient,
  { isPermanent }: Extract<ReportedRecipient, { readonly kind: 'failure' }>,
): boolean => status === 'delivered' || (isPermanent && (status === 'sending' || status === 'deferred'));

/** A recipient can complain only if a copy arrived, or may have arrived. */
const canComplain = ({ status, inDoubt, complained }: Recipient): boolean =>
  !complained && (status === 'delivered' || status === 'sending' || status === 'bounced' || inDoubt);

/** Records each kind once, so that repeated reports cannot fill the log. */
const notedOf = (
  about: { readonly messageId: string; readonly contentId: string; readonly recipientId: string },
  recipient: Recipient,
  reported: ReportedRecipient & { readonly doubt: ReportDoubt },
): readonly UnnumberedEvent[] => {
  const { kind: report, doubt } = reported;
  const isPossible = reported.kind === 'complaint' ? canComplain(recipient) : canBounce(recipient, reported);
  const isNoted = recipient.reportsNoted.some((each) => each.report === report && each.doubt === doubt);
  if (!isPossible || isNoted) return [];
  const said = reported.kind === 'failure' ? { smtp: reported.smtp, category: reported.category } : {};
  return [{ type: 'RecipientReportNoted', data: { ...about, report, doubt, ...said } }];
};

const eventsOf = (
  { accepted: { messageId, contentId }, attempts }: ExistingMessage,
  recipient: Recipient,
  reported: ReportedRecipient,
): readonly UnnumberedEvent[] => {
  const { recipientId, doubt } = reported;
  const about = { messageId, contentId, recipientId };
  if (doubt !== undefined) return notedOf(about, recipient, { ...reported, doubt });
  if (reported.kind === 'complaint') {
    return canComplain(recipient) ? [{ type: 'RecipientComplained', data: about }] : [];
  }
  if (!canBounce(recipient, reported)) return [];
  const { smtp, category } = reported;
  const late = recipient.status === 'delivered' ? ({ late: true } as const) : {};
  const data = { ...about, attempt: attempts, smtp, reason: REASON, category, ...late };
  return [{ type: 'RecipientBounced', data }];
};

/** Records reports about recipients, however late. Repeated and impossible reports are not recorded. */
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
