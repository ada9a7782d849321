import { type BounceCategory, suppresses } from '../../domain/bounce/categories.ts';
import { type RESEND_TYPES, resendTypeOf } from '../../domain/webhook/resend.ts';
import type { EventOfMessage } from '../resources/events/serialize-events.ts';
import { responseOf } from './sendgrid-events.ts';
import { mailboxText } from './translate.ts';

/** Events in the format of Resend's webhooks. */

type Data = EventOfMessage['event']['data'];

/** Their words for our categories. */
const SUB_TYPES: Readonly<Partial<Record<BounceCategory, string>>> = {
  no_mailbox: 'NoEmail',
  no_domain: 'NoEmail',
  mailbox_full: 'MailboxFull',
  too_large: 'MessageTooLarge',
  content_rejected: 'ContentRejected',
  spam: 'ContentRejected',
};

/** Receivers suppress an address for `Permanent`. */
const bounceOf = ({ smtp, reason = '', category = 'unknown' }: Data) => ({
  message: responseOf(smtp) || reason,
  type: suppresses(category) ? 'Permanent' : 'Transient',
  subType: SUB_TYPES[category] ?? 'General',
});

/** Fields beside those of all events. */
const FIELDS: Readonly<Partial<Record<keyof typeof RESEND_TYPES, (data: Data, at: string) => object>>> = {
  'email.bounced': (data) => ({ bounce: bounceOf(data) }),
  'email.failed': ({ reason = '' }) => ({ failed: { reason } }),
  'email.suppressed': ({ reason = '' }) => ({ suppressed: { message: reason, type: 'OnAccountSuppressionList' } }),
  'email.clicked': ({ url }, timestamp) => ({ click: { link: url ?? '', timestamp } }),
};

/** One event. Its recipient is the only one in `to`. An event that they do not have, such as a ping, keeps its type. */
export const resendEvent = ({ event, head }: EventOfMessage): object => {
  const { type, timestamp, data } = event;
  const theirs = resendTypeOf(type);
  if (theirs === undefined) return { type, created_at: timestamp, data: {} };
  return {
    type: theirs,
    created_at: timestamp,
    data: {
      email_id: data.message_id,
      from: head === null ? '' : mailboxText(head.from.address, head.from.name),
      to: [data.recipient?.address ?? ''],
      subject: head?.subject ?? '',
      tags: Object.fromEntries((data.tags ?? []).map(({ name, value }) => [name, value])),
      ...FIELDS[theirs]?.(data, timestamp),
    },
  };
};
