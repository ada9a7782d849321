import { type BounceCategory, suppresses } from '../../domain/bounce/categories.ts';
import type { SENDGRID_EVENTS } from '../../domain/webhook/sendgrid.ts';
import type { SerializedEvent, SerializedSmtp } from '../resources/events/serialize-events.ts';

/** Events in the format of SendGrid's Event Webhook. */

type Data = SerializedEvent['data'];

const MS_PER_SECOND = 1_000;

/** A reply as one line: `550 5.1.1 no such user`. Empty: there was none. */
export const responseOf = (smtp: SerializedSmtp | undefined): string =>
  [smtp?.code, smtp?.enhanced, smtp?.text].filter((part) => part !== null && part !== undefined).join(' ');

const replyOf = ({ smtp }: Data) => ({
  response: responseOf(smtp),
  ...(smtp?.address == null ? {} : { ip: smtp.address }),
  tls: smtp?.tls == null ? 0 : 1,
});

/** Their words for our categories. */
const CLASSES: Readonly<Partial<Record<BounceCategory, string>>> = {
  no_mailbox: 'Invalid Address',
  no_domain: 'Invalid Address',
  mailbox_disabled: 'Invalid Address',
  mailbox_full: 'Mailbox Unavailable',
  content_rejected: 'Content',
  too_large: 'Content',
  spam: 'Content',
  reputation: 'Reputation',
  rate_limited: 'Frequency or Volume Too High',
  network: 'Technical Failure',
  system: 'Technical Failure',
  protocol: 'Technical Failure',
};

const bounceOf = (data: Data) => {
  const { smtp, reason = '', category = 'unknown' } = data;
  const { response: _, ...connection } = replyOf(data);
  return {
    event: 'bounce',
    type: suppresses(category) ? 'bounce' : 'blocked',
    reason: responseOf(smtp) || reason,
    status: smtp?.enhanced ?? '',
    bounce_classification: CLASSES[category] ?? 'Unclassified',
    ...connection,
  };
};

const droppedOf = ({ reason = '' }: Data) => ({ event: 'dropped', reason });

/** Fields of their event for each of ours. */
const FIELDS: Readonly<Record<(typeof SENDGRID_EVENTS)[number], (data: Data) => object>> = {
  'message.accepted': () => ({ event: 'processed' }),
  'message.delivered': (data) => ({ event: 'delivered', ...replyOf(data) }),
  'message.deferred': (data) => ({ event: 'deferred', attempt: String(data.attempt ?? ''), ...replyOf(data) }),
  'message.bounced': bounceOf,
  'message.expired': ({ reason = '' }) => ({ event: 'bounce', type: 'blocked', reason, status: '' }),
  'message.failed': droppedOf,
  'message.suppressed': droppedOf,
  'message.opened': ({ machine = false }) => ({ event: 'open', sg_machine_open: machine }),
  'message.clicked': ({ url }) => ({ event: 'click', url: url ?? '' }),
  'message.complained': () => ({ event: 'spamreport' }),
  'message.unsubscribed': () => ({ event: 'unsubscribe' }),
};

const isTheirs = (type: string): type is keyof typeof FIELDS => Object.hasOwn(FIELDS, type);

/** One event; none for an event that they do not have, such as a ping. */
export const sendgridEvents = ({ id, type, timestamp, data }: SerializedEvent): readonly object[] => {
  if (!isTheirs(type)) return [];
  const categories = (data.tags ?? []).filter(({ name }) => name === 'category').map(({ value }) => value);
  return [
    {
      // Custom arguments are fields like the others, which take precedence.
      ...data.metadata,
      email: data.recipient?.address ?? '',
      timestamp: Math.floor(Date.parse(timestamp) / MS_PER_SECOND),
      ...(categories.length === 0 ? {} : { category: categories }),
      sg_event_id: id,
      sg_message_id: data.message_id,
      ...FIELDS[type](data),
    },
  ];
};
