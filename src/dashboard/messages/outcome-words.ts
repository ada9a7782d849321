import type { z } from 'zod';
import type { explanationSchema } from '../../http/resources/messages/explain.ts';
import type { SerializedListedMessage, SerializedMessage } from '../../http/resources/messages/message.ts';

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

/**
 * The state of a message and its word. `Partly delivered, 1 of 2`: the status `delivered` alone would hide that a recipient
 * does not have it.
 */
export const messageState = ({
  status,
  partial,
  recipients,
}: AnyMessage): { readonly state: AnyMessage['status'] | 'partly'; readonly word?: string } => {
  if (!partial) return { state: status };
  const delivered = recipients.filter((recipient) => recipient.status === 'delivered').length;
  return { state: 'partly', word: `Partly delivered, ${delivered} of ${recipients.length}` };
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
