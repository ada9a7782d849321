import type { Finding } from '../../../../domain/analysis/analysis.ts';
import { actorOf, atTime, listed, type Names as People } from '../../../../domain/audit/report/words.ts';
import { isId } from '../../../../domain/kernel/ids.ts';
import {
  type ExistingMessage,
  RECIPIENT_STATUSES,
  type Recipient,
  type RecipientStatus,
} from '../../../../domain/message/message.ts';
import type { LoadedContents, ToldAnalysis } from '../../../../domain/ports/contents.ts';
import type { WebhookDelivery, WebhookTry } from '../../../../domain/ports/webhooks.ts';
import type { VerificationMethod } from '../../../../domain/sending-domain/events.ts';
import { explainEvent, personOf, SEVERAL_SUPPRESSED, SUPPRESSED } from './events.ts';
import {
  briefView,
  createView,
  type ExplainedStep,
  type ExplainedWait,
  type Explanation,
  explained,
  FIRST_EVENTS,
  type RecordedMessageEvent,
  type StepFacts,
  type StepType,
  type View,
} from './explanation.ts';
import { explainWaits, type WaitFacts } from './waits.ts';

/** Describes the steps before acceptance: the request, its sender and the checks. */

/** Facts from the time of acceptance; null: no longer known. */
export interface Circumstances {
  readonly keyName: string | null;
  readonly verification: { readonly method: VerificationMethod; readonly verifiedAt: string } | null;
  /** Alias of the template that it was rendered from; null: no template or no alias. */
  readonly templateAlias: string | null;
  /** True if it had HTML, which is always checked. */
  readonly hadHtml: boolean;
  readonly analysis: ToldAnalysis | null;
  /** About the html, of the analysis or of the check. */
  readonly findings: readonly Finding[];
}

const PROVED: Readonly<Record<VerificationMethod, string>> = {
  dns: 'by its DNS records',
  capture: 'automatically: mail is captured on this machine',
};

const domainSentence = ({ message: { accepted, environment } }: View, { verification }: Circumstances): string => {
  const { fromDomain } = accepted;
  if (verification !== null) {
    return `Domain ${fromDomain} was verified at ${atTime(verification.verifiedAt)} ${PROVED[verification.method]}.`;
  }
  if (environment === 'test') return `Domain ${fromDomain} is not verified. Test keys can send from it anyway.`;
  return `Domain ${fromDomain} was allowed to send. Its verification is not on record.`;
};

/** Members have no key: `keyId` is then the id of the member. */
const isMember = ({ accepted }: ExistingMessage): boolean => isId('mbr', accepted.keyId);

const keySentence = ({ message, people }: View, { keyName }: Circumstances): string => {
  const { accepted, environment } = message;
  const name = keyName === null ? accepted.keyId : `"${keyName}" (${accepted.keyId})`;
  const where = environment === 'test' ? 'Test environment: nothing is sent and the outcome is simulated.' : '';
  const who = isMember(message) ? (people.get(accepted.keyId) ?? `Member ${accepted.keyId}`) : `API key ${name}`;
  const may = isMember(message) ? 'is a member with permission to send' : 'is valid and has permission to send';
  return `${who} ${may}. ${where}`.trimEnd();
};

const senderFacts = ({ message, people }: View, keyName: string | null): StepFacts => {
  const { keyId } = message.accepted;
  const memberName = people.get(keyId);
  if (isMember(message)) return { member_id: keyId, ...(memberName === undefined ? {} : { member_name: memberName }) };
  return { api_key_id: keyId, ...(keyName === null ? {} : { api_key_name: keyName }) };
};

const templateSteps = (
  { message: { accepted } }: View,
  { templateAlias }: Circumstances,
): readonly { readonly sentence: string; readonly facts: StepFacts }[] => {
  const { template } = accepted;
  if (template === undefined) return [];
  const { templateId, version } = template;
  const name = templateAlias === null ? templateId : `"${templateAlias}" (${templateId})`;
  return [
    {
      sentence: `Rendered from version ${version} of template ${name}.`,
      facts: { template_id: templateId, template_version: version },
    },
  ];
};

const SAFE_TO_REPEAT = 'with an Idempotency-Key. Repeating the request sends nothing twice';
const UNSAFE_TO_REPEAT = 'without an Idempotency-Key. Repeating the request sends another message';

/** The steps before acceptance: the request, the key and the checks. */
const explainRequest = (view: View, circumstances: Circumstances): readonly ExplainedStep[] => {
  const [first] = view.happenings;
  if (first === undefined) return [];
  const { accepted } = view.message;
  const { occurredAt: at, actor, requestId } = first.metadata;
  const step = (type: StepType, sentence: string, facts: StepFacts = {}): ExplainedStep => ({
    at,
    actor: actorOf(actor),
    type,
    sentence,
    facts,
  });
  const { analysis, findings, hadHtml, keyName } = circumstances;
  const repeat = accepted.idempotent ? SAFE_TO_REPEAT : UNSAFE_TO_REPEAT;
  const named = requestId === null ? 'The request' : `Request ${requestId}`;
  return [
    step('requested', `${named} came from ${personOf(actor, view.people)} ${repeat}.`, {
      ...(requestId === null ? {} : { request_id: requestId }),
      idempotency_key_used: accepted.idempotent,
    }),
    step('key_checked', keySentence(view, circumstances), senderFacts(view, keyName)),
    step('domain_checked', domainSentence(view, circumstances), { domain_id: accepted.domainId }),
    ...templateSteps(view, circumstances).map((one) => step('rendered', one.sentence, one.facts)),
    ...(hadHtml ? [step('html_checked', htmlSentence(findings))] : []),
    ...(analysis === null ? [] : [step('analyzed', analysisSentence(analysis), analysisFacts(analysis))]),
  ];
};

/** Quotes nothing of the html: members who see no contents read it. */
const htmlSentence = (findings: readonly Finding[]): string => {
  const first = findings.find(({ rule }) => rule === 'html-invalid');
  if (first === undefined) return 'The HTML was checked and is valid.';
  return `The HTML is not valid and was accepted unchanged: see line ${first.line}, column ${first.column}.`;
};

const analysisSentence = ({ score, verdict, findings }: ToldAnalysis): string =>
  `Content analysis: ${score} of 100 points, ${findings.length} finding${findings.length === 1 ? '' : 's'}, verdict "${verdict}".`;

const analysisFacts = ({ score, verdict }: ToldAnalysis): StepFacts => ({ score, verdict });

/** Endpoints that get nothing until they are enabled or adopted. */
type DisabledWebhooks = ReadonlySet<string>;

const POSTER = actorOf('worker:post-webhooks');

const answered = (webhookId: string, { status, durationMs }: WebhookTry): string =>
  status === null
    ? `no response after ${Math.round(durationMs)} ms (GET /v1/webhooks/${webhookId}/deliveries says why)`
    : `response ${status} after ${Math.round(durationMs)} ms`;

const nextOf = ({ dueAt, webhookId }: WebhookDelivery, disabled: DisabledWebhooks): string => {
  if (disabled.has(webhookId)) return 'It waits until the endpoint is enabled again.';
  return dueAt === null ? '' : `Next attempt at ${atTime(dueAt.toISOString())}.`;
};

const afterLast = (delivery: WebhookDelivery, disabled: DisabledWebhooks): string => {
  switch (delivery.state) {
    case 'delivered':
      return '';
    case 'failed':
      return 'It is not retried. You can replay it.';
    case 'pending':
      return nextOf(delivery, disabled);
    default:
      return delivery.state satisfies never;
  }
};

const aboutWhom = ({ event }: WebhookDelivery, view: View): string =>
  event.recipientId === null ? '' : ` for ${view.nameOf([event.recipientId])}`;

const stepsOf = (delivery: WebhookDelivery, view: View, disabled: DisabledWebhooks): readonly ExplainedStep[] => {
  const { webhookId, event, tries, createdAt, dueAt } = delivery;
  const facts = { webhook_id: webhookId, event_id: event.id, event_type: event.type };
  const recipient = event.recipientId === null ? {} : { recipient: view.recipientOf(event.recipientId) };
  const next = delivery.state === 'pending' && dueAt !== null ? { next_attempt_at: dueAt.toISOString() } : {};
  const what = `${event.type}${aboutWhom(delivery, view)}`;
  if (tries.length === 0) {
    const sentence = `Waiting to post ${what} to endpoint ${webhookId}. ${afterLast(delivery, disabled)}`.trimEnd();
    const about = { at: createdAt.toISOString(), actor: POSTER, type: 'webhook_owed', sentence } as const;
    return [{ ...about, ...recipient, facts: { ...facts, ...next } }];
  }
  return tries.map((tried, index): ExplainedStep => {
    const isLast = index === tries.length - 1;
    const then = isLast ? ` ${afterLast(delivery, disabled)}` : '';
    const sentence = `Posted ${what} to endpoint ${webhookId}: ${answered(webhookId, tried)}.${then}`.trimEnd();
    const took = { attempt: index + 1, status: tried.status, duration_ms: Math.round(tried.durationMs) };
    const about = { at: tried.at.toISOString(), actor: POSTER, type: 'webhook_tried', sentence } as const;
    return { ...about, ...recipient, facts: { ...facts, ...took, ...(isLast ? next : {}) } };
  });
};

/** Webhook attempts for this message's events, oldest first. */
const explainWebhooks = (
  deliveries: readonly WebhookDelivery[],
  view: View,
  disabled: DisabledWebhooks,
): readonly ExplainedStep[] =>
  deliveries
    .flatMap((delivery) => stepsOf(delivery, view, disabled))
    .sort((left, right) => (left.at === right.at ? 0 : left.at < right.at ? -1 : 1));

/**
 * Explains a message (`GET /v1/messages/{id}/explain`): its request, checks, events and waits, with a one-sentence
 * summary.
 */

/** Words for a status that fit "1 bounced" and "All 2 recipients bounced". */
const WORDS: Readonly<Partial<Record<RecipientStatus, string>>> = {
  delivered: 'delivered',
  bounced: 'bounced',
  failed: 'failed',
  suppressed: 'suppressed',
  cancelled: 'cancelled',
  expired: 'expired',
};

const ENDINGS = [
  'RecipientDelivered',
  'RecipientBounced',
  'RecipientExpired',
  'RecipientFailed',
  'RecipientSuppressed',
  'RecipientCancelled',
] as const;
type Ending = Extract<RecordedMessageEvent, { readonly type: (typeof ENDINGS)[number] }>;

const isEnding = (event: RecordedMessageEvent): event is Ending => ENDINGS.some((type) => type === event.type);

/** `1 delivered, 2 waiting`, in the order of `RECIPIENT_STATUSES`. */
const countStatuses = (recipients: readonly Recipient[]): readonly string[] => {
  const counts = new Map<string, number>();
  for (const status of RECIPIENT_STATUSES) {
    const count = recipients.filter((each) => each.status === status).length;
    const word = WORDS[status] ?? 'waiting';
    if (count > 0) counts.set(word, (counts.get(word) ?? 0) + count);
  }
  return [...counts].map(([word, count]) => `${count} ${word}`);
};

const statusOfAll = (recipients: readonly Recipient[]): string => {
  const counts = countStatuses(recipients);
  return counts.length === 1
    ? `All ${recipients.length} recipients: ${counts[0]?.replace(/^\d+ /, '')}`
    : `${recipients.length} recipients: ${listed(counts)}`;
};

const countReactions = (recipients: readonly Recipient[]): string => {
  const complained = recipients.filter((each) => each.complained).length;
  const unsubscribed = recipients.filter((each) => each.unsubscribed !== null || each.leftTopic !== null).length;
  return [
    ...(complained === 0 ? [] : [` ${complained} reported it as spam.`]),
    ...(unsubscribed === 0 ? [] : [` ${unsubscribed} unsubscribed.`]),
  ].join('');
};

/** The wait that ends first; one without a time comes before one with a time. */
const soonest = (waits: readonly ExplainedWait[]): ExplainedWait | undefined =>
  [...waits].sort((left, right) => ((left.next_attempt_at ?? '') < (right.next_attempt_at ?? '') ? -1 : 1))[0];

/** `Bounced at 2026-11-28 13:42:10 UTC: mx.example.net says that the mailbox does not exist (550 5.1.1). …` */
const summarizeOne = (view: View, end: Ending): string => {
  const { complained, unsubscribed, leftTopic } = view.message.recipients[0] ?? {};
  const reaction = [
    ...(complained === true ? [' The recipient reported it as spam.'] : []),
    ...((unsubscribed ?? leftTopic ?? null) === null ? [] : [' The recipient unsubscribed.']),
  ].join('');
  const when = ` at ${atTime(end.metadata.occurredAt)}`;
  const brief = briefView(view, (word) => `${word.replace(/ (?:to|for)$/, '')}${when}`);
  return `${explainEvent(end, brief).sentence}${reaction}`;
};

/** More would hide the point; the steps have all of them. */
const REASONS_MAX = 3;

/** Why recipients do not have it: `Bounced for a@example.net and b@example.net: …`, one sentence for each reason. */
const reasonsOf = (view: View): readonly string[] => {
  const ends = new Map(view.happenings.filter(isEnding).map((end) => [end.data.recipientId, end]));
  const sentenceOf = (end: Ending, opening: (word: string) => string): string =>
    explainEvent(end, briefView(view, opening)).sentence;
  const alike = Map.groupBy(
    [...ends.values()].filter(({ type }) => type !== 'RecipientDelivered'),
    (end) => sentenceOf(end, (word) => word),
  );
  return [...alike.values()].slice(0, REASONS_MAX).flatMap(([end, ...others]) => {
    if (end === undefined) return [];
    const ids = [end, ...others].map(({ data }) => data.recipientId);
    const sentence = sentenceOf(end, (word) => view.opening(word, ids));
    return others.length === 0 ? sentence : sentence.replace(SUPPRESSED, SEVERAL_SUPPRESSED);
  });
};

/** The outcome with its reason, or what it waits for and until when. */
const summarize = (view: View, waits: readonly ExplainedWait[]): string => {
  const { recipients } = view.message;
  const next = soonest(waits);
  const isOne = recipients.length === 1;
  if (next !== undefined)
    return isOne ? next.sentence : `${statusOfAll(recipients)}.${countReactions(recipients)} ${next.sentence}`;
  const end = view.happenings.findLast(isEnding);
  if (isOne && end !== undefined) return summarizeOne(view, end);
  const reasons = reasonsOf(view);
  const when = end === undefined ? [] : [`Last outcome at ${atTime(end.metadata.occurredAt)}.`];
  const details = reasons.length > 0 ? reasons : when;
  return [`${statusOfAll(recipients)}.${countReactions(recipients)}`, ...details].join(' ');
};

const TOLD = {
  all: null,
  newest: 'Earlier webhook attempts are omitted: GET /v1/webhooks/{id}/deliveries lists them.',
  unavailable: 'Webhook attempts are omitted: they cannot be read right now.',
} as const;

/** Everything that is known of a message. */
export interface MessageFacts extends WaitFacts {
  readonly message: ExistingMessage;
  /** All of its stream. */
  readonly happenings: readonly RecordedMessageEvent[];
  /** At least the contents that `quotedIn` names. Missing ones have been removed. */
  readonly contents: LoadedContents;
  /** People who acted on it. */
  readonly people: People;
  readonly circumstances: Circumstances;
  readonly deliveries: readonly WebhookDelivery[];
  /** Whether these are all there are, the newest, or could not be read. */
  readonly deliveriesTold: keyof typeof TOLD;
  readonly disabledWebhooks: DisabledWebhooks;
}

/** The newest webhook attempts. */
const TRIES_MAX = 200;

/** Events keep the order of the log; webhook attempts are inserted by time. */
const merged = (events: readonly ExplainedStep[], tries: readonly ExplainedStep[]): readonly ExplainedStep[] => {
  const steps: ExplainedStep[] = [];
  let told = 0;
  for (const step of events) {
    for (let tried = tries[told]; tried !== undefined && tried.at < step.at; tried = tries[told]) {
      steps.push(tried);
      told += 1;
    }
    steps.push(step);
  }
  return [...steps, ...tries.slice(told)];
};

const leftOut = (events: number, tries: string | null, messageId: string): string | null => {
  const where = `GET /v1/messages/${messageId}/events lists them`;
  const said = events === 0 ? null : `${events} events after the first ${FIRST_EVENTS} are omitted: ${where}.`;
  const told = [said, tries].filter((sentence) => sentence !== null);
  return told.length === 0 ? null : told.join(' ');
};

/** Explains a message in plain sentences, with the codes behind them. */
export const explainMessage = (known: MessageFacts): Explanation => {
  const { message, happenings } = known;
  const { messageId } = message.accepted;
  const view = createView(message, happenings, known);
  const waits = explainWaits(view, known);
  const shown = explained(happenings);
  const tries = explainWebhooks(known.deliveries, view, known.disabledWebhooks);
  const events = shown.map((each) => explainEvent(each, view));
  const told = tries.length > TRIES_MAX ? 'newest' : known.deliveriesTold;
  return {
    object: 'explanation',
    message_id: messageId,
    summary: summarize(view, waits),
    waiting_because: waits,
    steps: merged([...explainRequest(view, known.circumstances), ...events], tries.slice(-TRIES_MAX)),
    left_out: leftOut(happenings.length - shown.length, TOLD[told], messageId),
  };
};
