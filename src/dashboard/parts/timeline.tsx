import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SerializedMessage } from '../../http/schemas/message.ts';
import { withParameters } from '../data/location.ts';
import { duration, inZone, useTimes } from '../data/time.ts';
import { Icon, Mark } from './icons.tsx';
import { isOf } from './lanes.tsx';
import type { Explanation } from './peek.tsx';
import { STATES, type State } from './shapes.ts';
import { Empty } from './states.tsx';

type Step = Explanation['steps'][number];
type Smtp = NonNullable<Step['facts']['smtp']>;

const stateOf = (type: string): State | null => {
  if (type === 'attempt_started') return 'sending';
  return Object.hasOwn(STATES, type) ? (type as State) : null;
};

const POLICIES: Readonly<Record<string, string>> = {
  dane: 'DANE verified',
  mta_sts: 'MTA-STS enforced',
};

/** Empty: the connection was not encrypted. */
const transportOf = ({ tls, cipher, policy }: Smtp): string =>
  tls === null
    ? ''
    : [tls, cipher, policy === null ? null : (POLICIES[policy] ?? policy)].filter((one) => one !== null).join(', ');

/** The verbatim reply of a mail server. */
const SmtpReply = ({ smtp, state }: { readonly smtp: Smtp; readonly state: State }): JSX.Element => {
  const { code, enhanced, text, mx, address, stage } = smtp;
  const transport = transportOf(smtp);
  return (
    <div class={`reply ${STATES[state].tone}`}>
      <pre>
        <b>{[code === 0 ? 'No reply' : code, enhanced].filter((one) => one !== null).join(' ')}</b>{' '}
        <bdi>{text ?? (code === 0 ? '' : '(no longer stored)')}</bdi>
      </pre>
      <div class="meta">
        {stage !== null && <span>after {stage}</span>}
        {mx !== null && <span>{address === null || address === mx ? mx : `${mx}, ${address}`}</span>}
        {transport !== '' && (
          <span>
            <Icon name="lock" />
            {transport}
          </span>
        )}
      </div>
    </div>
  );
};

const StepEntry = ({ step, began }: { readonly step: Step; readonly began: number }): JSX.Element => {
  const times = useTimes();
  const state = stateOf(step.type);
  const afterMs = new Date(step.at).getTime() - began;
  return (
    <li class="step">
      <time dateTime={step.at}>
        {times.exactly(step.at)}
        {afterMs > 0 && <small>+{duration(afterMs)}</small>}
      </time>
      {state === null ? <span class="node" /> : <Mark state={state} />}
      <div class="body">
        <p>
          <bdi>{inZone(step.sentence, times)}</bdi>
        </p>
        {step.facts.smtp !== undefined && <SmtpReply smtp={step.facts.smtp} state={state ?? 'sending'} />}
      </div>
    </li>
  );
};

interface NextProps {
  readonly wait: Explanation['waiting_because'][number];
  readonly now: number;
}

const NextEntry = ({ wait, now }: NextProps): JSX.Element => {
  const times = useTimes();
  const { next_attempt_at: next } = wait;
  const inMs = next === null ? 0 : new Date(next).getTime() - now;
  return (
    <li class="step next">
      <time {...(next !== null && { dateTime: next })}>
        {next === null ? 'any moment' : times.clock(next)}
        {inMs > 0 && <small>in {duration(inMs)}</small>}
      </time>
      <Mark state="accepted" />
      <div class="body">
        <p>
          <bdi>{inZone(wait.sentence, times)}</bdi>
        </p>
      </div>
    </li>
  );
};

const isWebhook = ({ type }: Step): boolean => type.startsWith('webhook_');

interface StepsProps {
  readonly steps: readonly Step[];
  /** When the message was accepted, Unix time in milliseconds. */
  readonly began: number;
}

/** Webhook deliveries of the message, newest first. */
export const WebhookSteps = ({ steps, began }: StepsProps): JSX.Element => {
  const own = steps.filter(isWebhook).toReversed();
  if (own.length === 0) {
    return (
      <Empty icon="rotate" title="No webhook was told">
        No webhook subscribes to the events of this message.
      </Empty>
    );
  }
  return (
    <ol class="steps">
      {own.map((step, index) => (
        <StepEntry key={`${step.at} ${step.type} ${index}`} step={step} began={began} />
      ))}
    </ol>
  );
};

/** Number of attempts per response: `3 answered 200, 1 did not answer`. */
const answersOf = (tries: readonly Step[]): string => {
  const counts = Map.groupBy(tries, ({ facts }) =>
    facts.status == null ? 'did not answer' : `answered ${facts.status}`,
  );
  return [...counts].map(([answer, those]) => `${those.length} ${answer}`).join(', ');
};

/** All webhook attempts as one line, at the time of the last one. */
const WebhookFold = ({ steps, began }: StepsProps): JSX.Element => {
  const times = useTimes();
  const tries = steps.filter(({ type }) => type === 'webhook_tried');
  const at = steps.at(-1)?.at ?? '';
  return (
    <li class="step">
      <time dateTime={at}>
        {times.exactly(at)}
        <small>+{duration(new Date(at).getTime() - began)}</small>
      </time>
      <span class="node" />
      <div class="body">
        <a class="fold" href={withParameters({ tab: 'webhooks' })}>
          <Icon name="right" />
          {tries.length === 0 ? 'Webhook posts are pending' : `Webhook posts: ${answersOf(tries)}`}
        </a>
      </div>
    </li>
  );
};

/** A row has space for this many buttons. */
const BUTTONS_MAX = 4;

interface TimelineProps {
  readonly message: SerializedMessage;
  readonly explanation: Explanation;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The whole history, newest first, for one recipient or all of them. The next attempt comes first. */
export const Timeline = ({ message, explanation, now }: TimelineProps): JSX.Element => {
  const times = useTimes();
  const [only, setOnly] = useState<string | null>(null);
  const began = new Date(message.created_at).getTime();
  const isShown = (step: Step): boolean => only === null || step.recipient === undefined || isOf(step, only);
  const waits = explanation.waiting_because.filter(({ recipient }) => only === null || recipient.id === only);
  const steps = explanation.steps.filter(isShown);
  const webhooks = steps.filter(isWebhook);
  const { recipients } = message;
  return (
    <>
      <div class="tools">
        {recipients.length > 1 && recipients.length <= BUTTONS_MAX && (
          <fieldset class="seg">
            <legend class="vh">Recipient</legend>
            <button type="button" aria-pressed={only === null} onClick={() => setOnly(null)}>
              Everyone
            </button>
            {recipients.map(({ id, status, address }) => (
              <button key={id} type="button" aria-pressed={only === id} onClick={() => setOnly(id)}>
                <Mark state={status} />
                <bdi class="ell">{address?.split('@')[0] ?? id.slice(-4)}</bdi>
              </button>
            ))}
          </fieldset>
        )}
        <span class="sp" />
        <span class="muted">Newest first, {times.zone}</span>
      </div>
      <ol class="steps">
        {waits.map((wait) => (
          <NextEntry key={wait.recipient.id} wait={wait} now={now} />
        ))}
        {webhooks.length > 0 && <WebhookFold steps={webhooks} began={began} />}
        {steps
          .filter((step) => !isWebhook(step))
          .toReversed()
          .map((step, index) => (
            <StepEntry key={`${step.at} ${step.type} ${index}`} step={step} began={began} />
          ))}
      </ol>
      {explanation.left_out !== null && <p class="muted">{explanation.left_out}</p>}
    </>
  );
};
