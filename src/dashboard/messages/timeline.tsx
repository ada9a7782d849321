import type { JSX } from 'preact';
import type { SerializedMessage } from '../../http/resources/messages/message.ts';
import { Icon, Mark, STATES, type State, Status } from '../components/icons.tsx';
import { Empty } from '../components/states.tsx';
import { navigate, usePlace, withParameters } from '../data/location.ts';
import { useIsNarrow } from '../data/narrow.ts';
import { duration, inZone, useTimes } from '../data/time.ts';
import { withoutReply } from './outcome-words.ts';
import type { Explanation } from './peek.tsx';

type Recipient = SerializedMessage['recipients'][number];
type Step = Explanation['steps'][number];

/** If there are more recipients, the worst are shown. */
const LANES_MAX = 8;
const OPEN: readonly string[] = ['accepted', 'scheduled', 'sending', 'deferred'];
/** States by severity, worst first. */
const ORDER: readonly State[] = ['failed', 'bounced', 'expired', 'deferred', 'suppressed', 'sending', 'scheduled'];
const TICKS_MS = [1_000, 10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000, 604_800_000] as const;
/** Labels closer than this share of the axis overlap. `now` is for the word "now", which is shorter than a time. */
const APART_PERCENT = { wide: { tick: 9, now: 6 }, narrow: { tick: 18, now: 14 } } as const;
/** Start of the logarithmic axis: the first tenth of a second takes no space. */
const SMALLEST_MS = 100;

/** Position on the logarithmic axis, 0 to 1. */
const scale =
  (mostMs: number) =>
  (ms: number): number =>
    (Math.log10(1 + Math.max(0, ms) / SMALLEST_MS) / Math.log10(1 + mostMs / SMALLEST_MS)) * 100;

const rank = ({ status }: Recipient): number => {
  const at = ORDER.indexOf(status);
  return at === -1 ? ORDER.length : at;
};

const endOf = ({ status, next_attempt_at: next }: Recipient, now: number): string | undefined => {
  if (!OPEN.includes(status) || next === null) return undefined;
  const ms = new Date(next).getTime() - now;
  return ms > 0 ? `Next in ${duration(ms)}` : 'Due now';
};

interface LaneProps {
  readonly recipient: Recipient;
  readonly steps: readonly Step[];
  readonly began: number;
  readonly now: number;
  at(ms: number): number;
}

const Lane = ({ recipient, steps, began, now, at }: LaneProps): JSX.Element => {
  const { status, next_attempt_at: next } = recipient;
  const outcomes = steps.filter(({ type }) => type in STATES && type !== 'accepted' && type !== 'scheduled');
  const last = outcomes.at(-1);
  const lastAt = at(new Date(last?.at ?? recipient.updated_at).getTime() - began);
  const nextAt = OPEN.includes(status) && next !== null ? at(new Date(next).getTime() - began) : null;
  const word = endOf(recipient, now);
  return (
    <div class="lane cells">
      <div class="who flex">
        <bdi class="ell">{recipient.address ?? 'erased or expired'}</bdi>
      </div>
      <div class={`track ${STATES[status].tone}`}>
        <i class="seg2" style={{ left: '0', width: `${lastAt}%` }} />
        {nextAt !== null && nextAt > lastAt && (
          <>
            <i class="seg2 wait" style={{ left: `${lastAt}%`, width: `${nextAt - lastAt}%` }} />
            <span class="dot" style={{ left: `${nextAt}%` }}>
              <Mark state="accepted" />
            </span>
          </>
        )}
        <span class="dot" style={{ left: `${lastAt}%` }}>
          <Mark state={status} />
        </span>
      </div>
      <div class="end r quiet nw">
        <Status state={status} {...(word !== undefined && { word })} />
      </div>
    </div>
  );
};

interface Tick {
  readonly tick: number;
  readonly left: number;
}

/** Leaves out ticks that are too close to the one before. */
const withSpace = (ticks: readonly Tick[], apart: number): readonly Tick[] => {
  let last = 0;
  return ticks.filter(({ left }) => {
    const hasSpace = left - last > apart;
    if (hasSpace) last = left;
    return hasSpace;
  });
};

interface LanesProps {
  readonly message: SerializedMessage;
  readonly explanation: Explanation;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** One row per recipient on a logarithmic time axis: past events, the current wait and the next attempt. */
export const Lanes = ({ message, explanation, now }: LanesProps): JSX.Element => {
  const began = new Date(message.created_at).getTime();
  const isOpen = message.recipients.some(({ status }) => OPEN.includes(status));
  const times = message.recipients.flatMap(({ updated_at, next_attempt_at }) => [updated_at, next_attempt_at ?? '']);
  const latest = Math.max(...times.filter((one) => one !== '').map((one) => new Date(one).getTime() - began), 1_000);
  const mostMs = Math.max(latest, isOpen ? now - began : 0) * 1.15;
  const at = scale(mostMs);
  const nowAt = isOpen ? at(now - began) : null;
  const apart = APART_PERCENT[useIsNarrow() ? 'narrow' : 'wide'];
  const shown = message.recipients.toSorted((left, right) => rank(left) - rank(right)).slice(0, LANES_MAX);
  const ticks = withSpace(
    TICKS_MS.filter((tick) => tick < mostMs)
      .map((tick) => ({ tick, left: at(tick) }))
      .filter(({ left }) => left < 100 - apart.tick / 2)
      .filter(({ left }) => nowAt === null || Math.abs(left - nowAt) > apart.now),
    apart.tick,
  );
  const spoken = shown.map(({ address, status }) => `${address ?? 'A recipient'}: ${STATES[status].word}`).join('. ');
  return (
    <>
      <div class="lanes" role="img" aria-label={spoken}>
        <div class="tracks">
          {shown.map((recipient) => (
            <Lane
              key={recipient.id}
              recipient={recipient}
              steps={explanation.steps.filter((step) => isOf(step, recipient.id))}
              began={began}
              now={now}
              at={at}
            />
          ))}
          {nowAt !== null && (
            <div class="axis nowline">
              <i />
              <div>
                <i class="now" style={{ left: `${nowAt}%` }} />
              </div>
            </div>
          )}
        </div>
        <div class="axis">
          <i />
          <div>
            {(nowAt === null || nowAt >= apart.tick) && <span class="zero">0</span>}
            {ticks.map(({ tick, left }) => (
              <span key={tick} style={{ left: `${left}%` }}>
                {duration(tick)}
              </span>
            ))}
            {nowAt !== null && (
              <span class="n" style={{ left: `${nowAt}%` }}>
                now
              </span>
            )}
          </div>
          <i />
        </div>
      </div>
      {message.recipients.length > shown.length && (
        <p class="rest">
          <a class="lnk" href={withParameters({ tab: 'recipients' })}>
            {message.recipients.length - shown.length} more recipients
          </a>
        </p>
      )}
    </>
  );
};

/** True if a step concerns the recipient. */
const isOf = ({ recipient, facts }: Step, id: string): boolean =>
  recipient?.id === id || facts.recipient_ids?.includes(id) === true;

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
          <bdi>{inZone(withoutReply(step), times)}</bdi>
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
  /** The part of a long history that is not in the steps. */
  readonly leftOut: string | null;
  /** When the message was accepted, Unix time in milliseconds. */
  readonly began: number;
}

/** Webhook deliveries of the message, newest first. */
export const WebhookSteps = ({ steps, leftOut, began }: StepsProps): JSX.Element => {
  const own = steps.filter(isWebhook).toReversed();
  if (own.length === 0) {
    return (
      <Empty icon="rotate" title="No webhook was notified">
        No webhook subscribes to the events of this message.
      </Empty>
    );
  }
  return (
    <>
      <ol class="steps">
        {own.map((step, index) => (
          <StepEntry key={`${step.at} ${step.type} ${index}`} step={step} began={began} />
        ))}
      </ol>
      {leftOut !== null && <p class="muted">{leftOut}</p>}
    </>
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
const WebhookFold = ({ steps, leftOut, began }: StepsProps): JSX.Element => {
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
        <a class="fold inline" href={withParameters({ tab: 'webhooks' })}>
          <Icon name="right" />
          {tries.length === 0
            ? 'Webhook posts are pending'
            : `${leftOut === null ? 'Webhook posts' : 'Newest webhook posts'}: ${answersOf(tries)}`}
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
  const { recipients } = message;
  const asked = usePlace().query.get('recipient');
  const only = recipients.find(({ id }) => id === asked)?.id ?? null;
  const setOnly = (recipient: string | null): void => navigate(withParameters({ recipient }), 'replace');
  const began = new Date(message.created_at).getTime();
  const isShown = (step: Step): boolean => only === null || step.recipient === undefined || isOf(step, only);
  const waits = explanation.waiting_because.filter(({ recipient }) => only === null || recipient.id === only);
  const steps = explanation.steps.filter(isShown);
  const webhooks = steps.filter(isWebhook);
  return (
    <>
      <div class="tools flex wrap">
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
        {only !== null && recipients.length > BUTTONS_MAX && (
          <button type="button" class="btn small" onClick={() => setOnly(null)}>
            <bdi class="ell">{recipients.find(({ id }) => id === only)?.address ?? only}</bdi>
            <Icon name="cross" />
            <span class="vh">Show all recipients</span>
          </button>
        )}
        <span class="sp" />
        <span class="muted">Newest first, {times.zone}</span>
      </div>
      <ol class="steps">
        {waits.map((wait) => (
          <NextEntry key={wait.recipient.id} wait={wait} now={now} />
        ))}
        {webhooks.length > 0 && <WebhookFold steps={webhooks} leftOut={explanation.left_out} began={began} />}
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
