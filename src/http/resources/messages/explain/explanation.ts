import { type Actor, atTime, inWords, type Names as People, quoted } from '../../../../domain/audit/report/words.ts';
import type { BounceCategory } from '../../../../domain/bounce/categories.ts';
import type { RecordedEvent } from '../../../../domain/kernel/event-store.ts';
import type { MessageEvent } from '../../../../domain/kernel/events.ts';
import type { SmtpFacts } from '../../../../domain/message/events.ts';
import type { ExistingMessage } from '../../../../domain/message/message.ts';
import type { LoadedContents } from '../../../../domain/ports/contents.ts';
import type { ReplyStage } from '../../../../domain/ports/mail.ts';
import type { TlsPolicy } from '../../../../lib/smtp/smtp.ts';
import { type SerializedSmtp, serializeSmtp } from '../../events/serialize-events.ts';

/** The parts of an explanation, and the view of a message that it is built from. */

/** Types of steps. Clients can show the sentence of a type that they do not know. */
export const STEP_TYPES = [
  'requested',
  'key_checked',
  'domain_checked',
  'rendered',
  'html_checked',
  'analyzed',
  'accepted',
  'scheduled',
  'rescheduled',
  'held',
  'attempt_started',
  'outcome_unknown',
  'delivered',
  'deferred',
  'bounced',
  'expired',
  'failed',
  'suppressed',
  'cancelled',
  'opened',
  'clicked',
  'complained',
  'report_noted',
  'resent',
  'unsubscribed',
  'webhook_owed',
  'webhook_tried',
] as const;
export type StepType = (typeof STEP_TYPES)[number];

/** Why a recipient waits. */
export const WAIT_REASONS = [
  /** Scheduled for a later time. */
  'scheduled',
  /** Due, and no worker has claimed it yet. */
  'due_now',
  /** A worker is sending it. */
  'in_hand',
  /** A worker claimed it and recorded no outcome in time. */
  'attempt_lost',
  /** A copy may have arrived. */
  'outcome_unknown',
  /** Held by reputation or warm-up. */
  'held',
  /** Its destination is suspended. */
  'destination_suspended',
  /** Greylisting (RFC 6647). */
  'greylisted',
  /** The mail server refused it temporarily. */
  'told_to_wait',
  /** It could not be sent, and there was no reply. */
  'not_handed_over',
] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];

/** The address is null once the content has expired. */
interface ExplainedRecipient {
  readonly id: string;
  readonly address: string | null;
}

export interface ExplainedWait {
  readonly recipient: ExplainedRecipient;
  readonly reason: WaitReason;
  readonly sentence: string;
  /** Latest time of the next step; null: any moment. */
  readonly next_attempt_at: string | null;
}

/** The codes behind a sentence. */
export interface StepFacts {
  readonly request_id?: string;
  readonly api_key_id?: string;
  readonly api_key_name?: string;
  readonly member_id?: string;
  readonly member_name?: string;
  readonly domain_id?: string;
  readonly idempotency_key_used?: boolean;
  readonly template_id?: string;
  readonly template_version?: number;
  readonly score?: number;
  readonly verdict?: string;
  readonly stream?: string;
  readonly recipient_ids?: readonly string[];
  readonly attempt?: number;
  readonly destinations?: readonly string[];
  readonly lease_until?: string;
  readonly scheduled_at?: string;
  readonly expires_at?: string;
  readonly next_attempt_at?: string;
  readonly smtp?: SerializedSmtp;
  readonly reason?: string;
  readonly method?: string;
  readonly first?: boolean;
  readonly count?: number;
  readonly machine?: boolean;
  readonly client?: string;
  readonly network?: string;
  readonly url?: string | null;
  readonly topic_id?: string;
  readonly late?: boolean;
  readonly webhook_id?: string;
  readonly event_id?: string;
  readonly event_type?: string;
  readonly status?: number | null;
  readonly duration_ms?: number;
}

export interface ExplainedStep {
  readonly at: string;
  readonly actor: Actor;
  readonly type: StepType;
  readonly sentence: string;
  readonly recipient?: ExplainedRecipient;
  readonly facts: StepFacts;
}

/** The JSON of an explanation. */
export interface Explanation {
  readonly object: 'explanation';
  readonly message_id: string;
  /** The status, its reason and the next step. */
  readonly summary: string;
  readonly waiting_because: readonly ExplainedWait[];
  /** In the order in which they happened. */
  readonly steps: readonly ExplainedStep[];
  /** Omitted events, and where to find them; null: none. */
  readonly left_out: string | null;
}

export type RecordedMessageEvent = RecordedEvent<MessageEvent>;

/** Fifty recipients with three days of attempts have 650 events. That is too long to read and slow to build. */
export const FIRST_EVENTS = 100;
const LAST_EVENTS = 300;
/** Keeps the beginning and the end of a long history. */
export const explained = (happenings: readonly RecordedMessageEvent[]): readonly RecordedMessageEvent[] =>
  happenings.length <= FIRST_EVENTS + LAST_EVENTS
    ? happenings
    : [...happenings.slice(0, FIRST_EVENTS), ...happenings.slice(-LAST_EVENTS)];

const quotedBy = ({ data }: RecordedMessageEvent): readonly string[] => {
  if ('linkId' in data) return [data.linkId];
  const replyId = 'smtp' in data ? data.smtp?.replyId : undefined;
  return typeof replyId === 'string' ? [replyId] : [];
};

/** Contents to be loaded before a message can be explained. */
export const quotedIn = (
  { accepted, recipients }: ExistingMessage,
  happenings: readonly RecordedMessageEvent[],
): readonly string[] => {
  const last = recipients.flatMap(({ smtp }) => smtp?.replyId ?? []);
  return [...new Set([accepted.contentId, ...last, ...explained(happenings).flatMap(quotedBy)])];
};

/** A message as its explanation sees it. */
export interface View {
  readonly message: ExistingMessage;
  readonly happenings: readonly RecordedMessageEvent[];
  readonly people: People;
  recipientOf(id: string): ExplainedRecipient;
  /** Some recipients in words: addresses while they are kept, ids after that. */
  nameOf(ids: readonly string[]): string;
  /** Distinct domains of these recipients. */
  domainsOf(ids: readonly string[]): readonly string[];
  smtpOf(facts: SmtpFacts): SerializedSmtp;
  /** Address of a link; null: it has expired. @param linkId of its contents. */
  urlOf(linkId: string): string | null;
  /** Whether it was delivered to the recipient before the event of this number. */
  wasDelivered(recipientId: string, sequence: number): boolean;
  /** `Bounced for ada@example.net`. @param word a verb in the past tense, with its preposition. */
  opening(word: string, ids: readonly string[]): string;
  /** A summary: without texts of replies and without the security of connections, which the steps tell. */
  readonly isBrief: boolean;
}

/**
 * @param contents heads of the message and of the replies that are quoted; what is missing is gone.
 * @param people who acted on the message.
 */
export const createView = (
  message: ExistingMessage,
  happenings: readonly RecordedMessageEvent[],
  { contents, people }: { readonly contents: LoadedContents; readonly people: People },
): View => {
  const head = contents.get(message.accepted.contentId);
  const addresses = new Map(
    head?.kind === 'message' ? head.recipients.map(({ id, address }) => [id, address] as const) : [],
  );
  const domains = new Map(message.recipients.map(({ id, domain }) => [id, domain]));
  const delivered = new Map<string, number>();
  for (const { type, data } of happenings) {
    if (type === 'RecipientDelivered') delivered.set(data.recipientId, data.sequence);
  }
  const nameOf = (ids: readonly string[]): string => inWords(ids.map((id) => addresses.get(id) ?? `recipient ${id}`));
  return {
    message,
    happenings,
    people,
    isBrief: false,
    opening: (word, ids) => `${word} ${nameOf(ids)}`,
    recipientOf: (id) => ({ id, address: addresses.get(id) ?? null }),
    nameOf,
    domainsOf: (ids) => [...new Set(ids.map((id) => domains.get(id) ?? ''))].filter((domain) => domain !== ''),
    smtpOf: (facts) => serializeSmtp(facts, contents),
    urlOf: (linkId) => {
      const link = contents.get(linkId);
      return link?.kind === 'link' ? link.url : null;
    },
    wasDelivered: (recipientId, sequence) => (delivered.get(recipientId) ?? Number.POSITIVE_INFINITY) < sequence,
  };
};

/** The same view, quoting codes of replies without their texts: a text is quoted once, in its step. */
export const withoutReplyTexts = (view: View): View => ({
  ...view,
  smtpOf: (facts) => ({ ...view.smtpOf(facts), text: null }),
});

/** The same for a summary, which leaves out how the connection was secured. @param opening words before the reason. */
export const briefView = (view: View, opening: View['opening']): View => ({
  ...withoutReplyTexts(view),
  isBrief: true,
  opening,
});

/** Describes a mail server's reply, its time and the security of the connection in words. */

const WHERE: Readonly<Record<ReplyStage, string>> = {
  connect: 'on connecting',
  session: 'before the message was offered',
  mail: 'in reply to the sender',
  recipient: 'in reply to the recipient',
  content: 'in reply to the content',
};

const HELD_TO: Readonly<Record<TlsPolicy, string>> = {
  opportunistic: 'encrypted (opportunistic TLS)',
  required: 'encrypted, as the settings of this service require',
  'mta-sts': 'encrypted and its certificate checked, as the policy of its domain requires (MTA-STS)',
  dane: 'encrypted and its certificate checked, as its DNS requires (DANE)',
};

/** `451 4.7.1 "Try again later"`; the text only while it is kept. */
export const saidOf = ({ code, enhanced, text }: SerializedSmtp): string =>
  [...(code === 0 ? [] : [String(code)]), enhanced, text === null ? null : quoted(text)]
    .filter((part) => part !== null)
    .join(' ');

/** The same in parentheses, with the command that it answered. Empty without a reply. */
export const quoteOf = (smtp: SerializedSmtp): string => {
  const said = saidOf(smtp);
  if (said === '') return '';
  // Every acceptance answers the content, and a code alone is for a summary.
  const isPlain = smtp.stage === null || smtp.text === null || smtp.code < 400;
  return isPlain ? ` (${said})` : ` (${said}, ${WHERE[smtp.stage]})`;
};

/** The meaning of a reply of this category, as it follows "mx.example.net says that". */
const MEANINGS: Readonly<Record<BounceCategory, string | null>> = {
  no_mailbox: 'the mailbox does not exist',
  no_domain: 'the domain does not exist',
  mailbox_disabled: 'the mailbox is disabled',
  mailbox_full: 'the mailbox is full',
  too_large: 'the message is too large',
  content_rejected: 'it does not accept this content',
  spam: 'the message looks like spam',
  policy: 'a policy of the recipient forbids it',
  reputation: 'the reputation of the sender is too low',
  authentication: 'SPF, DKIM or DMARC failed',
  greylisted: 'it greylists unknown senders',
  rate_limited: 'it received too much mail at once',
  sender_rejected: 'it does not accept this sender',
  relay_denied: 'it does not accept mail for this address',
  system: 'it has a problem of its own',
  network: 'it cannot reach the mailbox',
  protocol: 'it did not understand the transmission',
  unknown: null,
};

/** `mx.example.net says that the mailbox does not exist (550 5.1.1 "No such user", in reply to the recipient).` */
export const rejectionOf = (
  view: View,
  smtp: SerializedSmtp,
  { category, otherwise }: { readonly category: BounceCategory | null | undefined; readonly otherwise: string },
): string => {
  const meaning = MEANINGS[category ?? 'unknown'];
  return `${speakerOf(view, smtp)} ${meaning === null ? otherwise : `says that ${meaning}`}${quoteOf(smtp)}.`;
};

type DeferralData = Extract<MessageEvent, { readonly type: 'RecipientDeferred' }>['data'];

/** Why a recipient was deferred. Code 0: no server replied. */
export const deferral = (
  { recipientId, reason, smtp: facts }: DeferralData,
  view: View,
  category: BounceCategory | null | undefined,
): string => {
  const smtp = view.smtpOf(facts);
  const why =
    smtp.code === 0
      ? `${reason}${quoteOf(smtp)}.`
      : rejectionOf(view, smtp, { category, otherwise: 'asked to try again later' });
  return `${view.opening('Deferred for', [recipientId])}: ${why}`;
};

/** The server that replied. In the test environment nothing is sent, so it is the simulation. */
export const speakerOf = ({ message }: View, { mx, address }: SerializedSmtp): string => {
  if (message.environment === 'test') return 'the test environment';
  if (mx === null) return 'the mail server';
  return address === null || address === mx ? mx : `${mx} (${address})`;
};

/** How the connection was secured, as a sentence; nothing where there was none. */
export const securityOf = ({ message, isBrief }: View, { code, tls, cipher, policy }: SerializedSmtp): string => {
  if (isBrief || message.environment === 'test' || code === 0) return '';
  if (tls === null) return ' The connection was not encrypted.';
  const how = policy === null ? 'encrypted' : HELD_TO[policy];
  return ` The connection was ${how}, by ${cipher === null ? tls : `${tls} with ${cipher}`}.`;
};

/** The next step after a wait. */
export const nextOf = (nextAttemptAt: string, expiresAt: string): string =>
  nextAttemptAt < expiresAt
    ? `Next attempt at ${atTime(nextAttemptAt)}.`
    : `It expires at ${atTime(expiresAt)}, before the next attempt.`;
