import type { z } from 'zod';
import type { explanationSchema } from '../../http/resources/messages/explain.ts';
import type { SerializedListedMessage, SerializedMessage } from '../../http/resources/messages/message.ts';
import type { SerializedSearchResult } from '../../http/resources/search.ts';

/** Words about outcomes that several screens of messages share. */

type AnyMessage = Pick<SerializedListedMessage | SerializedMessage, 'status' | 'partial' | 'recipients'>;
type AnyRecipient = SerializedListedMessage['recipients'][number];

const MARKS = ['opened', 'clicked', 'complained', 'unsubscribed'] as const;
export type RecipientOutcome = AnyRecipient['status'] | (typeof MARKS)[number];

/** The status of a recipient, and what the recipient did with the message. */
export const outcomesOf = (recipient: AnyRecipient): readonly RecipientOutcome[] => [
  recipient.status,
  ...MARKS.filter((mark) => recipient[mark]),
];

interface MessageState {
  readonly state: AnyMessage['status'] | 'partly';
  readonly word?: string;
}

type CountedMessage = Pick<
  NonNullable<SerializedSearchResult['message']>,
  'status' | 'partial' | 'recipients' | 'delivered'
>;

/** The state of a message whose recipients are counted. */
export const countedState = ({ status, partial, recipients, delivered }: CountedMessage): MessageState =>
  partial ? { state: 'partly', word: `Partly delivered, ${delivered} of ${recipients}` } : { state: status };

/**
 * The state of a message and its word. `Partly delivered, 1 of 2`: the status `delivered` alone would hide that a recipient
 * does not have it.
 */
export const messageState = ({ status, partial, recipients }: AnyMessage): MessageState => {
  const delivered = recipients.filter((recipient) => recipient.status === 'delivered').length;
  return countedState({ status, partial, delivered, recipients: recipients.length });
};

/** Outcomes of recipients, as statistics count them. */
export const OUTCOMES = {
  waiting: 'Waiting',
  delivered: 'Delivered',
  deferred: 'Deferred at least once',
  bounced: 'Bounced',
  failed: 'Failed',
  expired: 'Expired',
  suppressed: 'Suppressed',
  cancelled: 'Cancelled',
  opened: 'Opened',
  clicked: 'Clicked',
  complained: 'Complained',
  unsubscribed: 'Unsubscribed',
  accepted: 'Accepted',
} as const;
export type Outcome = keyof typeof OUTCOMES;

export const isOutcome = (text: string | undefined): text is Outcome =>
  text !== undefined && Object.hasOwn(OUTCOMES, text);

/** Filters of the time at which a recipient had the outcome. */
export const OUTCOME_TIMES: readonly string[] = ['outcome_since', 'outcome_until'];

/** True if the outcome has a time of its own, by which messages can be found. */
export const isTimed = (outcome: string | null): boolean =>
  isOutcome(outcome ?? undefined) && outcome !== 'accepted' && outcome !== 'waiting';

/** Plain descriptions of the bounce classes. */
export const BOUNCE_REASONS: Readonly<Record<string, string>> = {
  no_mailbox: 'The mailbox does not exist',
  no_domain: 'The domain does not exist',
  mailbox_disabled: 'The mailbox is disabled',
  mailbox_full: 'The mailbox is full',
  too_large: 'The message is too large',
  content_rejected: 'Rejected for its content',
  spam: 'Rejected as spam',
  policy: 'Rejected by the recipient’s policy',
  reputation: 'Rejected for the sender’s reputation',
  authentication: 'SPF, DKIM or DMARC failed',
  greylisted: 'Asked to retry later',
  rate_limited: 'Too much mail at once',
  sender_rejected: 'The sender was rejected',
  relay_denied: 'The server does not accept its mail',
  system: 'Error on the recipient’s server',
  network: 'The server could not be reached',
  protocol: 'SMTP protocol error',
};

type Step = z.infer<typeof explanationSchema>['steps'][number];

/** An explanation quotes at most this many characters of a reply. Too many here: a reply with a `)` ends the cut late. */
const QUOTED_MAX = 200;

/** The sentence of a step without the reply in parentheses: the timeline shows the reply below it, in full. */
export const withoutReply = ({ sentence, facts: { smtp } }: Step): string => {
  const codes = [smtp?.code === 0 ? null : smtp?.code, smtp?.enhanced].filter((one) => one != null).join(' ');
  const start = codes === '' ? -1 : sentence.indexOf(` (${codes}`);
  if (start < 0) return sentence;
  const quotedLength = Math.min(smtp?.text?.replaceAll(/\s+/g, ' ').trim().length ?? 0, QUOTED_MAX);
  const end = sentence.indexOf(')', start + ` (${codes} "`.length + quotedLength - (smtp?.text == null ? 2 : 0));
  return end < 0 ? sentence : sentence.slice(0, start) + sentence.slice(end + 1);
};
