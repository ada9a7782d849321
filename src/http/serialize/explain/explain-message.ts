import type { ExistingMessage } from '../../../domain/message/message.ts';
import { RECIPIENT_STATUSES, type Recipient, type RecipientStatus } from '../../../domain/message/recipient.ts';
import { REFUSED } from '../../../domain/message/record-attempt.ts';
import type { ToldAnalysis } from '../../../domain/ports/contents.ts';
import type { WebhookDelivery } from '../../../domain/ports/webhook-deliveries.ts';
import type { VerificationMethod } from '../../../domain/sending-domain/events.ts';
import type { LoadedContents } from '../../../projections/events/serialize-events.ts';
import { explainEvent } from './explain-event.ts';
import { explainWaits, type Waiting } from './explain-waits.ts';
import { type DisabledWebhooks, explainWebhooks } from './explain-webhooks.ts';
import {
  actorOf,
  atTime,
  byWhom,
  createView,
  type ExplainedStep,
  type ExplainedWait,
  type Explanation,
  explained,
  FIRST_EVENTS,
  type Happening,
  listed,
  type StepFacts,
  type StepType,
  type View,
} from './explanation.ts';

/**
 * The whole explanation of a message (`GET /v1/messages/{id}/explain`): its request, its checks, what happened, what
 * it waits for, and its end in one sentence.
 */

/** What was known when the message was accepted; null is what cannot be told any more. */
export interface Circumstances {
  readonly keyName: string | null;
  readonly verification: { readonly method: VerificationMethod; readonly verifiedAt: string } | null;
  /** It had HTML, which is never accepted unchecked. */
  readonly hadHtml: boolean;
  readonly analysis: ToldAnalysis | null;
}

const PROVED: Readonly<Record<VerificationMethod, string>> = {
  dns: 'by its DNS',
  capture: 'without proof, because mail stayed on this machine',
};

const domainSentence = ({ message: { accepted, environment } }: View, { verification }: Circumstances): string => {
  const { fromDomain } = accepted;
  if (verification !== null) {
    const how = `${PROVED[verification.method]} (${atTime(verification.verifiedAt)})`;
    return `The domain ${fromDomain} may be sent from: it had been verified ${how}.`;
  }
  if (environment === 'test') return `The domain ${fromDomain} was not verified: a test key needs no proof.`;
  return `The domain ${fromDomain} was allowed to be sent from; its verification is not on record.`;
};

const keySentence = ({ message: { accepted, environment } }: View, { keyName }: Circumstances): string => {
  const name = keyName === null ? accepted.keyId : `"${keyName}" (${accepted.keyId})`;
  const simulated = environment === 'test' ? ': nothing leaves, what becomes of it is simulated' : '';
  return `API key ${name} is valid, may send, and belongs to the ${environment} environment${simulated}.`;
};

const SAFE_TO_REPEAT = 'with an Idempotency-Key, so that repeating the request sends nothing twice';
const UNSAFE_TO_REPEAT = 'without an Idempotency-Key, so that repeating the request sends another message';

/** What came before the acceptance: the request, the key, and the checks. */
export const explainRequest = (view: View, circumstances: Circumstances): readonly ExplainedStep[] => {
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
  const { analysis, hadHtml, keyName } = circumstances;
  const repeat = accepted.idempotent ? SAFE_TO_REPEAT : UNSAFE_TO_REPEAT;
  const named = requestId === null ? 'The request' : `Request ${requestId}`;
  return [
    step('requested', `${named} came from ${byWhom(actor)}, ${repeat}.`, {
      ...(requestId === null ? {} : { request_id: requestId }),
      idempotency_key_used: accepted.idempotent,
    }),
    step('key_checked', keySentence(view, circumstances), {
      api_key_id: accepted.keyId,
      ...(keyName === null ? {} : { api_key_name: keyName }),
    }),
    step('domain_checked', domainSentence(view, circumstances), { domain_id: accepted.domainId }),
    ...(hadHtml ? [step('html_checked', 'Its HTML was read and has no errors that mail programs stumble over.')] : []),
    ...(analysis === null ? [] : [step('analyzed', analysisSentence(analysis), analysisFacts(analysis))]),
  ];
};

const analysisSentence = ({ score, verdict, findings }: ToldAnalysis): string =>
  `Its contents were analyzed: ${score} of 100 points, ${findings.length} finding${findings.length === 1 ? '' : 's'}, verdict "${verdict}".`;

const analysisFacts = ({ score, verdict }: ToldAnalysis): StepFacts => ({ score, verdict });

/** What has become of one who is not waited for any more, in the plural and the singular alike. */
const ENDED: Readonly<Record<Exclude<RecipientStatus, 'accepted' | 'scheduled' | 'sending' | 'deferred'>, string>> = {
  delivered: 'delivered',
  bounced: 'refused for good',
  failed: 'failed',
  suppressed: 'suppressed',
  cancelled: 'cancelled',
  expired: 'expired',
};

const ENDINGS: ReadonlySet<Happening['type']> = new Set([
  'RecipientDelivered',
  'RecipientBounced',
  'RecipientExpired',
  'RecipientFailed',
  'RecipientSuppressed',
  'RecipientCancelled',
]);

const wordOf = (status: RecipientStatus): string => (status in ENDED ? ENDED[status as keyof typeof ENDED] : 'waiting');

/** `1 delivered, 2 waiting`. */
const counted = (recipients: readonly Recipient[]): readonly string[] => {
  const counts = new Map<string, number>();
  const inOrder = [...recipients].sort(
    (left, right) => RECIPIENT_STATUSES.indexOf(left.status) - RECIPIENT_STATUSES.indexOf(right.status),
  );
  for (const { status } of inOrder) counts.set(wordOf(status), (counts.get(wordOf(status)) ?? 0) + 1);
  return [...counts].map(([word, count]) => `${count} ${word}`);
};

const standing = (recipients: readonly Recipient[]): string => {
  const [only] = recipients;
  if (recipients.length === 1 && only !== undefined) return `Its only recipient is ${wordOf(only.status)}`;
  const counts = counted(recipients);
  return counts.length === 1
    ? `All of its ${recipients.length} recipients are ${counts[0]?.replace(/^\d+ /, '')}`
    : `Of its ${recipients.length} recipients, ${listed(counts)}`;
};

const marks = (recipients: readonly Recipient[]): string => {
  const complained = recipients.filter((each) => each.complained).length;
  const unsubscribed = recipients.filter((each) => each.unsubscribedAt !== null || each.leftTopicAt !== null).length;
  return [
    ...(complained === 0 ? [] : [`; ${complained} complained of it`]),
    ...(unsubscribed === 0 ? [] : [`; ${unsubscribed} unsubscribed`]),
  ].join('');
};

/** Whoever is waited for shortest; what may happen at any moment comes before what has a time. */
const soonest = (waits: readonly ExplainedWait[]): ExplainedWait | undefined =>
  [...waits].sort((left, right) => ((left.next_attempt_at ?? '') < (right.next_attempt_at ?? '') ? -1 : 1))[0];

/** One sentence: how it stands, and why, and what happens next. */
export const summarize = (view: View, waits: readonly ExplainedWait[]): string => {
  const { recipients } = view.message;
  const next = soonest(waits);
  if (next !== undefined) return `${standing(recipients)}${marks(recipients)}: ${next.sentence}`;
  const end = view.happenings.findLast(({ type }) => ENDINGS.has(type));
  const since = end === undefined ? '' : ` since ${atTime(end.metadata.occurredAt)}`;
  // That they were refused is said already.
  const reasons = recipients
    .filter(({ status }) => status !== 'delivered')
    .flatMap(({ reason }) => (reason === null || reason === REFUSED ? [] : reason));
  const why = reasons.length === 0 ? '' : ` (${listed([...new Set(reasons)].slice(0, 3))})`;
  return `${standing(recipients)}${why}${marks(recipients)}; it has its end${since}, and nothing more is tried.`;
};

const TOLD = {
  all: null,
  newest: 'Earlier webhook tries are left out: GET /v1/webhooks/{id}/deliveries lists them.',
  unavailable: 'What webhooks were told is left out: it cannot be read just now.',
} as const;

/** Everything that is known of a message. */
export interface Known extends Waiting {
  readonly message: ExistingMessage;
  /** All of its stream. */
  readonly happenings: readonly Happening[];
  /** At least those that `quotedIn` names; what is missing is gone. */
  readonly contents: LoadedContents;
  readonly circumstances: Circumstances;
  readonly deliveries: readonly WebhookDelivery[];
  /** Whether these are all there are, the newest, or could not be read. */
  readonly deliveriesTold: keyof typeof TOLD;
  readonly disabledWebhooks: DisabledWebhooks;
}

/** Tries to tell endpoints; the newest. */
const TRIES_MAX = 200;

/** What came in the log keeps its order; the tries are put between by their times. */
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
  const said = events === 0 ? null : `${events} events after the first ${FIRST_EVENTS} are left out: ${where}.`;
  const told = [said, tries].filter((sentence) => sentence !== null);
  return told.length === 0 ? null : told.join(' ');
};

/** The causal chain of a message, in plain sentences with the codes beside them. */
export const explainMessage = (known: Known): Explanation => {
  const { message, happenings } = known;
  const { messageId } = message.accepted;
  const view = createView(message, happenings, known.contents);
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
