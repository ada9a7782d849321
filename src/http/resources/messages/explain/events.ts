import { actorOf, atTime, byWhom, listed } from '../../../../domain/audit/report/words.ts';
import { type BounceCategory, suppresses } from '../../../../domain/bounce/categories.ts';
import type { MessageEvent } from '../../../../domain/kernel/events.ts';
import { CANCELLED_BY_SENDER } from '../../../../domain/message/accept-message.ts';
import type { SmtpFacts } from '../../../../domain/message/events.ts';
import type { ClientFamily, MachineReason } from '../../../../domain/tracking/tracking.ts';
import {
  deferral,
  type ExplainedStep,
  nextOf,
  quoteOf,
  type RecordedMessageEvent,
  rejectionOf,
  type StepFacts,
  type StepType,
  saidOf,
  securityOf,
  speakerOf,
  type View,
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
  head_request: 'it requested only the headers',
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
  one_click: 'with the unsubscribe button of the mail program',
  page: 'on the unsubscribe page',
  mail: 'by mail to the unsubscribe address',
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
  sentence: `${opening} ${atTime(scheduledAt)}. Delivery is attempted until ${atTime(expiresAt)}.`,
  facts: { recipient_ids: recipientIds, scheduled_at: scheduledAt, expires_at: expiresAt },
});

/** The actor by name, or else by kind and id: the step contains the id in any case. */
export const personOf = (actor: string, people: View['people']): string =>
  people.get(actorOf(actor).id ?? '') ?? byWhom(actor, people);

/** Ends `Cancelled for ada@example.net by Ben`: the sentence says so itself where the sender cancelled. */
const afterCancelled = (reason: string): string =>
  reason.startsWith(CANCELLED_BY_SENDER)
    ? reason.slice(CANCELLED_BY_SENDER.length)
    : `: ${reason.replace(/^cancelled: /, '')}`;

const ending =
  (type: StepType, word: string, next = ''): Tell<Of<'RecipientFailed'>> =>
  ({ recipientId, reason }, view) => ({
    type,
    sentence: `${view.opening(word, [recipientId])}: ${reason}.${next}`,
    facts: { reason },
  });

const deferred: Tell<Of<'RecipientDeferred'>> = (data, view) => {
  const { nextAttemptAt, reason } = data;
  const facts = replyFacts(view, data);
  const { smtp } = facts;
  return {
    type: 'deferred',
    sentence: `${deferral(data, view, data.category)} ${nextOf(nextAttemptAt, view.message.expiresAt)}${securityOf(view, smtp)}`,
    facts: { ...facts, reason, next_attempt_at: nextAttemptAt },
  };
};

const sharedOf = ({ shared }: { readonly shared?: true | undefined }): string =>
  shared === true ? ' Another recipient could have sent the report, so the address is not suppressed.' : '';

/** The next step after a bounce of this category. The reply says what is wrong, but not who can change it. */
const REMEDIES: Readonly<Partial<Record<BounceCategory, string>>> = {
  mailbox_full: 'Send it again later, or reach the recipient in another way.',
  too_large: 'Send a smaller message, with links instead of attachments.',
  content_rejected: 'Change the content: POST /v1/messages/analyze checks it.',
  spam: 'Change the content: POST /v1/messages/analyze checks it.',
  policy: "Ask the recipient's administrator to allow your mail.",
  reputation: 'Check the reputation of your domain before you send more.',
  authentication: 'Check the DNS records of your sending domain.',
  sender_rejected: 'Check the From address and the DNS records of its domain.',
  relay_denied: 'Check the domain of the address and its MX records.',
};

/** Ends the sentence about one recipient, and about several. */
export const SUPPRESSED = ' The address is now suppressed.';
export const SEVERAL_SUPPRESSED = ' These addresses are now suppressed.';

const afterBounce = ({ category, shared }: Of<'RecipientBounced'>): string => {
  if (shared === true) return sharedOf({ shared });
  if (category !== undefined && suppresses(category)) return SUPPRESSED;
  const remedy = category === undefined ? undefined : REMEDIES[category];
  return remedy === undefined ? ' It is not retried.' : ` It is not retried. ${remedy}`;
};

/** Code 0: no server was asked, because the address cannot receive mail. */
const bouncedSentence = (data: Of<'RecipientBounced'>, view: View, late: boolean): string => {
  const smtp = view.smtpOf(data.smtp);
  const next = afterBounce(data);
  const opening = view.opening(late ? 'Bounced after delivery for' : 'Bounced for', [data.recipientId]);
  if (late) {
    const said = saidOf(smtp);
    return `${opening}: a report says that it could not be delivered (${said === '' ? data.reason : said}).${next}`;
  }
  const { category } = data;
  const why =
    smtp.code === 0
      ? `${data.reason}${quoteOf(smtp)}.`
      : rejectionOf(view, smtp, { category, otherwise: 'rejected it permanently' });
  return `${opening}: ${why}${next}${securityOf(view, smtp)}`;
};

/** Explains a report that changed nothing. */
const notedSentence = ({ recipientId, report, doubt, smtp }: Of<'RecipientReportNoted'>, view: View): string => {
  const who = view.nameOf([recipientId]);
  const said = smtp === undefined ? '' : saidOf(view.smtpOf(smtp));
  const why = said === '' ? '' : `: ${said}`;
  if (doubt === 'address_behind') {
    return `A report says that an address behind ${who} could not be reached${why}. Others behind it may have received the message, so the status does not change.`;
  }
  const what = report === 'complaint' ? `${who} reported it as spam` : `it could not be delivered to ${who}${why}`;
  return `A report says that ${what}. Another recipient of the same copy could have sent the report, so the status does not change.`;
};

/** One entry per event type; a missing one does not compile. */
const TELLING: { readonly [Type in MessageEvent['type']]: Tell<Of<Type>> } = {
  MessageAccepted: ({ recipients, stream, expiresAt, resendOf }, view) => {
    const again = resendOf === undefined ? '' : ` It sends ${resendOf} again.`;
    const ids = recipients.map(({ id }) => id);
    return {
      type: 'accepted',
      sentence: `Accepted for ${view.nameOf(ids)} as ${stream} mail.${again} Delivery is attempted until ${atTime(expiresAt)}.`,
      facts: {
        recipient_ids: ids,
        stream,
        expires_at: expiresAt,
        ...(resendOf === undefined ? {} : { resend_of: resendOf }),
      },
    };
  },
  MessageScheduled: (data) => scheduling('scheduled', data, 'Scheduled for'),
  MessageRescheduled: (data, { people }, actor) =>
    scheduling('rescheduled', data, `Rescheduled by ${personOf(actor, people)} for`),
  RecipientsHeld: ({ recipientIds, until, ...held }, view) => ({
    type: 'held',
    sentence: `Held for ${view.nameOf(recipientIds)}: ${explainHold({ ...held, until }, view.message.expiresAt)}`,
    facts: { recipient_ids: recipientIds, reason: held.reason, next_attempt_at: until },
  }),
  AttemptStarted: ({ attempt, recipientIds, leaseUntil }, view) => {
    const destinations = view.domainsOf(recipientIds);
    return {
      type: 'attempt_started',
      sentence: `Attempt ${attempt} started for ${view.nameOf(recipientIds)} (${listed(destinations.slice(0, 3))}${
        destinations.length > 3 ? ' and others' : ''
      }). If there is no result by ${atTime(leaseUntil)}, it is retried.`,
      facts: { attempt, recipient_ids: recipientIds, destinations, lease_until: leaseUntil },
    };
  },
  AttemptOutcomeUnknown: ({ attempt, recipientIds, nextAttemptAt }, view) => ({
    type: 'outcome_unknown',
    sentence:
      `The outcome of attempt ${attempt} for ${view.nameOf(recipientIds)} is unknown: the message may have been sent, but no ` +
      `reply was recorded. The next attempt has the same Message-ID, so mail systems can recognize a second copy. ` +
      nextOf(nextAttemptAt, view.message.expiresAt),
    facts: { attempt, recipient_ids: recipientIds, next_attempt_at: nextAttemptAt },
  }),
  RecipientDelivered: (data, view) => {
    const facts = replyFacts(view, data);
    const { smtp } = facts;
    const opening = view.opening('Delivered to', [data.recipientId]);
    const sentence = `${opening}: ${speakerOf(view, smtp)} accepted it${quoteOf(smtp)}.${securityOf(view, smtp)}`;
    return { type: 'delivered', sentence, facts };
  },
  RecipientDeferred: deferred,
  RecipientBounced: (data, view) => {
    // Without `late` the history tells.
    const late = data.late ?? view.wasDelivered(data.recipientId, data.sequence);
    const facts = { ...replyFacts(view, data), reason: data.reason, late };
    return { type: 'bounced', sentence: bouncedSentence(data, view, late), facts };
  },
  RecipientExpired: ending('expired', 'Expired for'),
  RecipientFailed: ending('failed', 'Failed for'),
  RecipientSuppressed: ending('suppressed', 'Not sent to', ' Remove the suppression to send to this address again.'),
  RecipientCancelled: ({ recipientId, reason }, view, actor) => {
    const who = personOf(actor, view.people);
    const sentence = `${view.opening('Cancelled for', [recipientId])} by ${who}${afterCancelled(reason)}.`;
    return { type: 'cancelled', sentence, facts: { reason } };
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
  RecipientsResent: ({ recipientIds, resentAs }, { nameOf, people }, actor) => ({
    type: 'resent',
    sentence: `Sent again to ${nameOf(recipientIds)} by ${personOf(actor, people)}, as ${resentAs}.`,
    facts: { recipient_ids: recipientIds, resent_as: resentAs },
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
