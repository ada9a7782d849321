import type { LoadedContents } from '../../shown-event.ts';
import type { WebhookDelivery } from '../../webhook-deliveries.ts';
import type { ExistingMessage } from '../message.ts';
import { explainEvent } from './explain-event.ts';
import { type Circumstances, explainRequest } from './explain-request.ts';
import { explainWaits, type Waiting } from './explain-waits.ts';
import { type DisabledWebhooks, explainWebhooks } from './explain-webhooks.ts';
import type { ExplainedStep, Explanation } from './explanation.ts';
import { summarize } from './summarize.ts';
import { createView, type Happening } from './view.ts';

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

/** Fifty recipients with three days of attempts have 650 events: more than that is not read by anybody, nor quickly. */
const FIRST_EVENTS = 100;
const LAST_EVENTS = 300;
/** Tries to tell endpoints; the newest. */
const TRIES_MAX = 200;

/** Of a long life the beginning and the end. */
export const explained = (happenings: readonly Happening[]): readonly Happening[] =>
  happenings.length <= FIRST_EVENTS + LAST_EVENTS
    ? happenings
    : [...happenings.slice(0, FIRST_EVENTS), ...happenings.slice(-LAST_EVENTS)];

const replyIn = ({ data }: Happening): readonly string[] =>
  'smtp' in data && data.smtp.replyId !== null ? [data.smtp.replyId] : [];

/** Contents to be loaded before a message can be explained. */
export const quotedIn = (
  { accepted, recipients }: ExistingMessage,
  happenings: readonly Happening[],
): readonly string[] => {
  const last = recipients.flatMap(({ smtp }) => smtp?.replyId ?? []);
  return [...new Set([accepted.contentId, ...last, ...explained(happenings).flatMap(replyIn)])];
};

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
