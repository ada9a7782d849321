import type { JSX } from 'preact';
import type { SerializedMessage } from '../../http/schemas/message.ts';
import { duration } from '../data/time.ts';
import { Mark, Status } from './icons.tsx';
import type { Explanation } from './peek.tsx';
import { STATES, type State } from './shapes.ts';

type Recipient = SerializedMessage['recipients'][number];
type Step = Explanation['steps'][number];

/** If there are more recipients, the worst are shown. */
const LANES_MAX = 8;
const OPEN: readonly string[] = ['accepted', 'scheduled', 'sending', 'deferred'];
/** States by severity, worst first. */
const ORDER: readonly State[] = ['failed', 'bounced', 'expired', 'deferred', 'suppressed', 'sending', 'scheduled'];
const TICKS_MS = [1_000, 10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000, 604_800_000] as const;
/** Ticks closer than this share of the axis overlap. */
const TICK_PERCENT = 9;
/** Smaller than for ticks, because the word "now" is shorter. */
const NOW_PERCENT = 6;
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
    <div class="lane">
      <div class="who">
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
      <div class="end">
        <Status state={status} {...(word !== undefined && { word })} />
      </div>
    </div>
  );
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
  const shown = message.recipients.toSorted((left, right) => rank(left) - rank(right)).slice(0, LANES_MAX);
  const ticks = TICKS_MS.filter((tick) => tick < mostMs)
    .map((tick) => ({ tick, left: at(tick) }))
    .filter(({ left }, index, all) => left - (all[index - 1]?.left ?? 0) > TICK_PERCENT && left < 96)
    .filter(({ left }) => nowAt === null || Math.abs(left - nowAt) > NOW_PERCENT);
  const spoken = shown.map(({ address, status }) => `${address ?? 'A recipient'}: ${STATES[status].word}`).join('. ');
  return (
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
      {message.recipients.length > shown.length && (
        <p class="muted">{message.recipients.length - shown.length} more recipients</p>
      )}
      <div class="axis">
        <i />
        <div>
          {(nowAt === null || nowAt >= TICK_PERCENT) && <span class="zero">0</span>}
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
  );
};

/** True if a step concerns the recipient. */
export const isOf = ({ recipient, facts }: Step, id: string): boolean =>
  recipient?.id === id || facts.recipient_ids?.includes(id) === true;
