import type { ExistingMessage } from '../../../domain/message/message.ts';
import { RECIPIENT_STATUSES, type Recipient, type RecipientStatus } from '../../../domain/message/recipient.ts';
import { REFUSED } from '../../../domain/message/record-attempt.ts';
import type { WebhookDelivery } from '../../../domain/ports/webhook-deliveries.ts';
import type { LoadedContents } from '../../../projections/events/serialize-events.ts';
import type { People } from './explain-actor.ts';
import { explainEvent } from './explain-event.ts';
import { type Circumstances, explainRequest } from './explain-request.ts';
import { explainWaits, type WaitFacts } from './explain-waits.ts';
import { type DisabledWebhooks, explainWebhooks } from './explain-webhooks.ts';
import {
  atTime,
  createView,
  type ExplainedStep,
  type ExplainedWait,
  type Explanation,
  explained,
  FIRST_EVENTS,
  listed,
  type RecordedMessageEvent,
  type View,
} from './explanation.ts';

/**
 * Explains a message (`GET /v1/messages/{id}/explain`): its request, checks, events and waits, with a one-sentence
 * summary.
 */

/** Final statuses in words that fit singular and plural. */
const ENDED: Readonly<Record<Exclude<RecipientStatus, 'accepted' | 'scheduled' | 'sending' | 'deferred'>, string>> = {
  delivered: 'delivered',
  bounced: 'permanently refused',
  failed: 'failed',
  suppressed: 'suppressed',
  cancelled: 'cancelled',
  expired: 'expired',
};

const ENDINGS: ReadonlySet<RecordedMessageEvent['type']> = new Set([
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

const statusOfAll = (recipients: readonly Recipient[]): string => {
  const [only] = recipients;
  if (recipients.length === 1 && only !== undefined) return `Its only recipient is ${wordOf(only.status)}`;
  const counts = counted(recipients);
  return counts.length === 1
    ? `All of its ${recipients.length} recipients are ${counts[0]?.replace(/^\d+ /, '')}`
    : `Of its ${recipients.length} recipients, ${listed(counts)}`;
};

const marks = (recipients: readonly Recipient[]): string => {
  const complained = recipients.filter((each) => each.complained).length;
  const unsubscribed = recipients.filter((each) => each.unsubscribed !== null || each.leftTopic !== null).length;
  return [
    ...(complained === 0 ? [] : [`; ${complained} complained`]),
    ...(unsubscribed === 0 ? [] : [`; ${unsubscribed} unsubscribed`]),
  ].join('');
};

/** The wait that ends first; one without a time comes before one with a time. */
const soonest = (waits: readonly ExplainedWait[]): ExplainedWait | undefined =>
  [...waits].sort((left, right) => ((left.next_attempt_at ?? '') < (right.next_attempt_at ?? '') ? -1 : 1))[0];

/** One sentence: the status, its reason, and the next step. */
export const summarize = (view: View, waits: readonly ExplainedWait[]): string => {
  const { recipients } = view.message;
  const next = soonest(waits);
  if (next !== undefined) return `${statusOfAll(recipients)}${marks(recipients)}: ${next.sentence}`;
  const end = view.happenings.findLast(({ type }) => ENDINGS.has(type));
  const since = end === undefined ? '' : ` since ${atTime(end.metadata.occurredAt)}`;
  // The status already says that they were refused.
  const reasons = recipients
    .filter(({ status }) => status !== 'delivered')
    .flatMap(({ reason }) => (reason === null || reason === REFUSED ? [] : reason));
  const why = reasons.length === 0 ? '' : ` (${listed([...new Set(reasons)].slice(0, 3))})`;
  return `${statusOfAll(recipients)}${why}${marks(recipients)}; complete${since}.`;
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
