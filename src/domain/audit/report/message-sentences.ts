import type { MessageEvent } from '../../kernel/events.ts';
import type { SmtpFacts } from '../../message/events.ts';
import type { Recipient, RecipientStatus } from '../../message/message.ts';
import {
  atTime,
  byWhom,
  type Described,
  inWords,
  type LeafEvent,
  type Names,
  organizationFacts,
  quoted,
} from './words.ts';

/**
 * Events of a message as sentences, derived from leaves. The service and the offline verifier share them. Addresses, replies and links are
 * not in the log: they come from `names`, by the id of the recipient, the reply or the link.
 */

type Type = MessageEvent['type'];
type Accepted = Extract<MessageEvent, { readonly type: 'MessageAccepted' }>['data'];

/** Words in braces are those of `wordsOf`, or fields of the event. One entry for each type: a missing one does not compile. */
const SENTENCES: Readonly<Record<Type, string>> = {
  MessageAccepted: 'Accepted for {who} as {stream} mail. {again}Delivery is attempted until {expiresAt}.',
  MessageScheduled: 'Scheduled by {by} for {scheduledAt}, for {who}. Delivery is attempted until {expiresAt}.',
  MessageRescheduled: 'Rescheduled by {by} for {scheduledAt}, for {who}. Delivery is attempted until {expiresAt}.',
  RecipientsHeld: 'Held for {who}: {reason}. The next check is at {until} at the latest.',
  AttemptStarted: 'Attempt {attempt} started for {who}. If there is no result by {leaseUntil}, it is retried.',
  AttemptOutcomeUnknown:
    'The outcome of attempt {attempt} for {who} is unknown: a copy may have arrived. Next attempt at {nextAttemptAt}.',
  RecipientDelivered: 'Delivered to {who}: {reply}',
  RecipientDeferred: 'Deferred for {who}: {reply} Next attempt at {nextAttemptAt}.',
  RecipientBounced: 'Bounced{late} for {who}: {reply}',
  RecipientExpired: 'Expired for {who}: {reason}.',
  RecipientFailed: 'Failed for {who}: {reason}.',
  RecipientSuppressed: 'Not sent to {who}: {reason}.',
  RecipientCancelled: 'Cancelled for {who} by {by}: {reason}.',
  RecipientOpened: 'Opened by {reader}{times}.',
  RecipientClicked: 'Link {url} followed by {reader}{times}.',
  RecipientComplained: '{who} reported it as spam.',
  RecipientReportNoted: 'A report of a {report} for {who} changed nothing: {doubt}.',
  RecipientsResent: 'Sent again to {who} by {by}, as {resentAs}.',
  RecipientUnsubscribed: '{who} unsubscribed{topic}, by {method}.',
};

/** A code as words. */
const spaced = (code: unknown): string => String(code).replaceAll('_', ' ');

/** Fields that some type of event of a message has. */
interface Fields {
  readonly recipients?: Accepted['recipients'];
  readonly recipientIds?: readonly string[];
  readonly recipientId?: string;
  readonly smtp?: Partial<SmtpFacts>;
  readonly reason?: string;
  readonly category?: string;
  readonly late?: true;
  readonly machine?: string;
  readonly count?: number;
  readonly link?: number;
  readonly linkId?: string;
  readonly topicId?: string;
  readonly resendOf?: string;
}

/** How the connection was secured. In the test environment nothing is sent, and a report of a bounce does not say. */
const securityOf = ({ smtp, late }: Fields, isTest: boolean): string => {
  if (isTest || late === true) return '';
  return smtp?.tls === null ? ', without encryption' : `, over ${smtp?.tls}`;
};

/** Code 0: no server replied. */
const replyOf = (data: Fields, isTest: boolean, names: Names): string => {
  const { smtp = {}, reason, category } = data;
  const { code = 0, enhanced, replyId, mx } = smtp;
  const why = category === undefined ? '' : `${spaced(category)}, `;
  if (code === 0) return `${why}${reason}.`;
  const text = names.get(replyId ?? '');
  const speaker = isTest ? 'the test environment' : (mx ?? 'the mail server');
  const said = [code, enhanced, text && quoted(text)].filter(Boolean).join(' ');
  return `${why}${speaker} replied ${said}${securityOf(data, isTest)}.`;
};

const wordsOf = (
  data: Fields,
  { actor, environment }: LeafEvent['metadata'],
  names: Names,
): Readonly<Record<string, string>> => {
  const ids = data.recipientIds ?? data.recipients?.map(({ id }) => id) ?? [String(data.recipientId)];
  const who = inWords(ids.map((id) => names.get(id) ?? `recipient ${id}`));
  const { machine, count = 1, topicId, resendOf } = data;
  return {
    who,
    by: byWhom(actor, names),
    reply: replyOf(data, environment === 'test', names),
    reader: machine === undefined ? who : `a machine (${spaced(machine)}) for ${who}`,
    times: count === 1 ? '' : `, ${count} times within a minute`,
    url: names.get(data.linkId ?? '') ?? `number ${Number(data.link) + 1}`,
    late: data.late === true ? ' after delivery' : '',
    topic: topicId === undefined ? '' : ` from topic ${topicId}`,
    again: resendOf === undefined ? '' : `It sends ${resendOf} again. `,
  };
};

const TIME = /At$|ntil$/;

const sentenceOf = ({ type, data, metadata }: LeafEvent, names: Names): string => {
  const words = wordsOf(data, metadata, names);
  const wordFor = (name: string): string =>
    words[name] ?? (TIME.test(name) ? atTime(String(data[name])) : spaced(data[name]));
  return SENTENCES[type as Type].replaceAll(/\{(\w+)\}/g, (_, name: string) => wordFor(name));
};

/** Status of a recipient after an event. Other events leave it as it is (`domain/message/message.ts`). */
const STATES: Readonly<Partial<Record<Type, RecipientStatus>>> = {
  MessageScheduled: 'scheduled',
  MessageRescheduled: 'scheduled',
  AttemptStarted: 'sending',
  AttemptOutcomeUnknown: 'deferred',
  RecipientDelivered: 'delivered',
  RecipientDeferred: 'deferred',
  RecipientBounced: 'bounced',
  RecipientExpired: 'expired',
  RecipientFailed: 'failed',
  RecipientSuppressed: 'suppressed',
  RecipientCancelled: 'cancelled',
};

const statusOf = (leaves: readonly LeafEvent[], { id }: Pick<Recipient, 'id'>): RecipientStatus => {
  const concerns = ({ recipientId, recipientIds }: Fields): boolean =>
    recipientId === id || recipientIds?.includes(id) === true;
  const states = leaves.flatMap(({ type, data }) => (concerns(data) ? (STATES[type as Type] ?? []) : []));
  return states.at(-1) ?? 'accepted';
};

/**
 * @param leaves oldest first: all of the message, and those that name its organization.
 * @param names of people, and addresses, replies and links by id.
 */
export const describeMessage = (leaves: readonly LeafEvent[], messageId: string, names: Names): Described => {
  const own = leaves.filter(({ data }) => data.messageId === messageId);
  const accepted = own.find(({ type }) => type === 'MessageAccepted') as LeafEvent; // the first of each message
  const { recipients, internetMessageId, fromDomain } = accepted.data as Accepted; // as the codec has checked
  return {
    title: `What happened to message ${messageId}`,
    facts: [
      ...organizationFacts(leaves),
      { name: 'Message', value: messageId },
      { name: 'Message-ID', value: internetMessageId },
      { name: 'Sent by', value: `${byWhom(accepted.metadata.actor, names)}, from domain ${fromDomain}` },
      ...recipients.map((one) => ({
        name: `To ${names.get(one.id) ?? `recipient ${one.id}`}`,
        value: statusOf(own, one),
      })),
    ],
    sentenceOf: (event) => sentenceOf(event, names),
  };
};
