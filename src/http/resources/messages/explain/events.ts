import type { MessageEvent } from '../../../../domain/kernel/events.ts';
import type { SmtpFacts } from '../../../../domain/message/events.ts';
import type { ClientFamily, MachineReason } from '../../../../domain/tracking/tracking.ts';
import {
  actorOf,
  atTime,
  byWhom,
  type ExplainedStep,
  listed,
  nextOf,
  quoteOf,
  type RecordedMessageEvent,
  type StepFacts,
  type StepType,
  saidOf,
  securityOf,
  speakerOf,
  type View,
  whereOf,
} from './explanation.ts';
import { explainHold } from './waits.ts';

/** Describes openings and clicks in sentences: by people, or by machines with the reason for that classification. */

type OpenedData = Extract<MessageEvent, { readonly type: 'RecipientOpened' }>['data'];
type ClickedData = Extract<MessageEvent, { readonly type: 'RecipientClicked' }>['data'];

interface StepDescription {
  readonly type: StepType;
  readonly sentence: string;
  readonly facts: StepFacts;
}

const BECAUSE: Readonly<Record<MachineReason, string>> = {
  apple_privacy_proxy: "Apple's privacy proxy loads every image, whether or not the mail is looked at",
  image_proxy: 'the mailbox provider loads images for its users, when and as often as it likes',
  scanner: 'the program, or its network, is one of those that look through mail',
  head_request: 'it asked for the headers alone',
  every_link: 'it followed every link at once',
  at_delivery: 'it came sooner after delivery than a person can',
};

const PROGRAMS: Readonly<Partial<Record<ClientFamily, string>>> = {
  apple_mail: 'Apple Mail',
  outlook: 'Outlook',
  thunderbird: 'Thunderbird',
  gmail: 'Gmail',
  yahoo_mail: 'Yahoo Mail',
  samsung_mail: 'Samsung Email',
  edge: 'Edge',
  firefox: 'Firefox',
  chrome: 'Chrome',
  safari: 'Safari',
};

const timesOf = ({ count, first }: OpenedData): string => {
  const often = count === 1 ? '' : ` ${count === 2 ? 'twice' : `${count} times`} within a minute`;
  return `${often}${first === true && count === 1 ? ', for the first time' : ''}`;
};

const programOf = ({ client }: OpenedData): string => {
  const program = PROGRAMS[client];
  return program === undefined ? '' : ` (with ${program})`;
};

const factsOf = ({ first, count, machine, client, network }: OpenedData): StepFacts => ({
  first: first === true,
  count,
  machine: machine !== undefined,
  client,
  network,
  ...(machine === undefined ? {} : { reason: machine }),
});

const explainOpened = (data: OpenedData, view: View): StepDescription => {
  const who = view.nameOf([data.recipientId]);
  const times = timesOf(data);
  const sentence =
    data.machine === undefined
      ? `${who} opened it${times}${programOf(data)}.`
      : `A machine opened the mail of ${who}${times}: ${BECAUSE[data.machine]}.`;
  return { type: 'opened', sentence, facts: factsOf(data) };
};

const explainClicked = (data: ClickedData, view: View): StepDescription => {
  const who = view.nameOf([data.recipientId]);
  const url = view.urlOf(data.linkId);
  const where = url === null ? `number ${data.link + 1}` : url;
  const times = timesOf(data);
  const sentence =
    data.machine === undefined
      ? `${who} followed a link${times}: ${where}${programOf(data)}.`
      : `A machine followed a link in the mail of ${who}${times}, to ${where}: ${BECAUSE[data.machine]}.`;
  return { type: 'clicked', sentence, facts: { ...factsOf(data), url } };
};

/** An event of a message as a sentence, with what the mail server replied. */

type Of<Type> = Extract<MessageEvent, { readonly type: Type }>['data'];

type Tell<Data> = (data: Data, view: View, actor: string) => StepDescription;

const UNSUBSCRIBED_BY: Readonly<Record<Of<'RecipientUnsubscribed'>['method'], string>> = {
  one_click: 'with the button of the mail program',
  page: 'on the page that the link leads to',
  mail: 'by mail to the address that the mail program was given',
};

const replyFacts = (view: View, { attempt, smtp }: { readonly attempt: number; readonly smtp: SmtpFacts }) => ({
  attempt,
  smtp: view.smtpOf(smtp),
});

const scheduling = (
  type: 'scheduled' | 'rescheduled',
  { recipientIds, scheduledAt, expiresAt }: Of<'MessageScheduled'>,
  opening: string,
): StepDescription => ({
  type,
  sentence: `${opening} ${atTime(scheduledAt)}; delivery is tried until ${atTime(expiresAt)}.`,
  facts: { recipient_ids: recipientIds, scheduled_at: scheduledAt, expires_at: expiresAt },
});

const ending =
  (type: StepType, word: string): Tell<Of<'RecipientFailed'>> =>
  ({ recipientId, reason }, view) => ({
    type,
    sentence: `${view.nameOf([recipientId])} ${word}: ${reason}.`,
    facts: { reason },
  });

const deferred: Tell<Of<'RecipientDeferred'>> = (data, view) => {
  const { recipientId, nextAttemptAt, reason } = data;
  const facts = replyFacts(view, data);
  const { smtp } = facts;
  const who = view.nameOf([recipientId]);
  const said = saidOf(smtp);
  const what =
    smtp.code === 0
      ? `It could not be sent to ${who}: ${reason}${said === '' ? '' : ` (${said})`}.`
      : `${speakerOf(view, smtp)} temporarily refused it for ${who}${whereOf(smtp)}${quoteOf(smtp)}.`;
  return {
    type: 'deferred',
    sentence: `${what} ${nextOf(nextAttemptAt, view.message.expiresAt)}${securityOf(view, smtp)}`,
    facts: { ...facts, reason, next_attempt_at: nextAttemptAt },
  };
};

const sharedOf = ({ shared }: { readonly shared?: true | undefined }): string =>
  shared === true ? ' Other addresses of the domain could have sent it, so the address is not suppressed.' : '';

/** Code 0: no server was asked, because the address cannot receive mail. */
const bouncedSentence = (data: Of<'RecipientBounced'>, view: View, late: boolean): string => {
  const smtp = view.smtpOf(data.smtp);
  const who = view.nameOf([data.recipientId]);
  const said = saidOf(smtp);
  const why = said === '' ? data.reason : said;
  if (late) {
    return `A report says that it could not be delivered to ${who} after all: ${why}.${sharedOf(data)}`;
  }
  if (smtp.code === 0) return `${who} cannot receive it and is not tried again: ${why}.`;
  const refused = `${speakerOf(view, smtp)} permanently refused it for ${who}${whereOf(smtp)}${quoteOf(smtp)}.`;
  return `${refused} It is not tried again.${securityOf(view, smtp)}`;
};

/** Explains a report that changed nothing. */
const notedSentence = ({ recipientId, report, doubt, smtp }: Of<'RecipientReportNoted'>, view: View): string => {
  const who = view.nameOf([recipientId]);
  const said = smtp === undefined ? '' : saidOf(view.smtpOf(smtp));
  const why = said === '' ? '' : `: ${said}`;
  if (doubt === 'address_behind') {
    return `A report says that an address behind ${who} could not be reached${why}. Others behind it may have received it, so nothing changes.`;
  }
  const what = report === 'complaint' ? `${who} reported it as spam` : `it could not be delivered to ${who}${why}`;
  return `A report says that ${what}. Another recipient of the same copy could have sent the report, so nothing changes.`;
};

/** One entry per event type; a missing one does not compile. */
const TELLING: { readonly [Type in MessageEvent['type']]: Tell<Of<Type>> } = {
  MessageAccepted: ({ recipients, stream, expiresAt }, view) => {
    const ids = recipients.map(({ id }) => id);
    return {
      type: 'accepted',
      sentence: `It was accepted for ${view.nameOf(ids)}, as ${stream} mail; delivery is tried until ${atTime(expiresAt)}.`,
      facts: { recipient_ids: ids, stream, expires_at: expiresAt },
    };
  },
  MessageScheduled: (data) => scheduling('scheduled', data, 'It was scheduled for'),
  MessageRescheduled: (data, { people }, actor) =>
    scheduling('rescheduled', data, `It was rescheduled by ${byWhom(actor, people)} for`),
  RecipientsHeld: ({ recipientIds, until, ...held }, view) => ({
    type: 'held',
    sentence: `It is held for ${view.nameOf(recipientIds)}: ${explainHold({ ...held, until }, view.message.expiresAt)}`,
    facts: { recipient_ids: recipientIds, reason: held.reason, next_attempt_at: until },
  }),
  AttemptStarted: ({ attempt, recipientIds, leaseUntil }, view) => {
    const destinations = view.domainsOf(recipientIds);
    return {
      type: 'attempt_started',
      sentence: `Attempt ${attempt} began, for ${view.nameOf(recipientIds)} (${listed(destinations.slice(0, 3))}${
        destinations.length > 3 ? ' and others' : ''
      }). Without an outcome by ${atTime(leaseUntil)} it is checked again.`,
      facts: { attempt, recipient_ids: recipientIds, destinations, lease_until: leaseUntil },
    };
  },
  AttemptOutcomeUnknown: ({ attempt, recipientIds, nextAttemptAt }, view) => ({
    type: 'outcome_unknown',
    sentence:
      `The outcome of attempt ${attempt} for ${view.nameOf(recipientIds)} is unknown: the message may have been sent, but no ` +
      `reply was recorded. A later attempt has the same Message-ID, so that a second copy can be recognized. ` +
      nextOf(nextAttemptAt, view.message.expiresAt),
    facts: { attempt, recipient_ids: recipientIds, next_attempt_at: nextAttemptAt },
  }),
  RecipientDelivered: (data, view) => {
    const facts = replyFacts(view, data);
    const { smtp } = facts;
    const taken = `${speakerOf(view, smtp)} accepted it for ${view.nameOf([data.recipientId])}${quoteOf(smtp)}.`;
    return { type: 'delivered', sentence: `${taken}${securityOf(view, smtp)}`, facts };
  },
  RecipientDeferred: deferred,
  RecipientBounced: (data, view) => {
    // Without `late` the history tells.
    const late = data.late ?? view.wasDelivered(data.recipientId, data.sequence);
    const facts = { ...replyFacts(view, data), reason: data.reason, late };
    return { type: 'bounced', sentence: bouncedSentence(data, view, late), facts };
  },
  RecipientExpired: ending('expired', 'expired'),
  RecipientFailed: ending('failed', 'cannot be sent to'),
  RecipientSuppressed: ending('suppressed', 'is suppressed'),
  RecipientCancelled: (data, view, actor) => {
    const told = ending('cancelled', 'was cancelled')(data, view, actor);
    return { ...told, sentence: told.sentence.replace(/\.$/, ` (by ${byWhom(actor, view.people)}).`) };
  },
  RecipientOpened: explainOpened,
  RecipientClicked: explainClicked,
  RecipientComplained: (data, view) => ({
    type: 'complained',
    sentence: `${view.nameOf([data.recipientId])} reported it as spam.${sharedOf(data)}`,
    facts: {},
  }),
  RecipientReportNoted: (data, view) => ({
    type: 'report_noted',
    sentence: notedSentence(data, view),
    facts: data.smtp === undefined ? {} : { smtp: view.smtpOf(data.smtp) },
  }),
  RecipientUnsubscribed: ({ recipientId, method, topicId }, view) => {
    const from = topicId === undefined ? '' : ` from topic ${topicId}`;
    return {
      type: 'unsubscribed',
      sentence: `${view.nameOf([recipientId])} unsubscribed${from}, ${UNSUBSCRIBED_BY[method]}.`,
      facts: topicId === undefined ? { method } : { method, topic_id: topicId },
    };
  },
};

/** The step that an event of the message is. */
export const explainEvent = ({ type, data, metadata }: RecordedMessageEvent, view: View): ExplainedStep => {
  const tell = TELLING[type] as Tell<MessageEvent['data']>; // the line of this very type
  const { actor, occurredAt } = metadata;
  return {
    at: occurredAt,
    actor: actorOf(actor),
    ...tell(data, view, actor),
    ...('recipientId' in data ? { recipient: view.recipientOf(data.recipientId) } : {}),
  };
};
