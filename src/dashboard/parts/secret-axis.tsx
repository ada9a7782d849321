import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SerializedKeySecret } from '../../http/schemas/key-secret.ts';
import { useAsOf } from '../data/as-of.ts';
import { client } from '../data/queries.ts';
import { count, duration, useTimes } from '../data/time.ts';
import type { Tone } from './shapes.ts';

export type Secret = SerializedKeySecret;

const TONES: Readonly<Record<Secret['status'], Tone>> = { current: 'ok', grace: 'go', ended: 'mute' };
/** Minimum width that keeps a short-lived value visible. */
const PERCENT_MIN = 1.5;
const TICKS = [0, 0.5];
/**
 * Percent. A tick closer to now than this overlaps its label; a label closer to an end than `END_WIDTH` is aligned with
 * that end.
 */
const TICK_WIDTH = 36;
const END_WIDTH = 12;
/** Shorter axes have no ticks, because they would all show the same minute. */
const TICKS_FROM_MS = 120_000;

const timeOf = (at: string): number => new Date(at).getTime();

const SECOND_MS = 1_000;

/** Remaining grace period of the previous value, in seconds. Data is reloaded when it ends. */
const Grace = ({ end }: { readonly end: string }): JSX.Element => {
  const times = useTimes();
  const [left, setLeft] = useState(() => timeOf(end) - Date.now());
  const isOver = left <= 0;
  useEffect(() => {
    const timer = setInterval(() => setLeft(timeOf(end) - Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, [end]);
  useEffect(() => {
    if (isOver) void client.invalidateQueries();
  }, [isOver]);
  if (isOver) return <>grace is over</>;
  return (
    <>
      grace ends in <b class="b">{duration(Math.ceil(left / SECOND_MS) * SECOND_MS)}</b>
      <small>{times.short(end)}</small>
    </>
  );
};

/** Whether a value works, and until when. */
const Ending = ({ secret: { status, ends_at: end, sends } }: { readonly secret: Secret }): JSX.Element => {
  const times = useTimes();
  const isPast = useAsOf() !== null;
  if (end === null) return <>{sends === 1 ? '1 send' : `${count(sends)} sends`}</>;
  if (status === 'grace' && !isPast) return <Grace end={end} />;
  return (
    <>
      {status === 'ended' ? 'ended' : 'grace until'} {times.short(end)}
    </>
  );
};

interface SecretAxisProps {
  readonly secrets: readonly Secret[];
  /** Displayed beginning of each value. */
  readonly prefix: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Position of the label for now. */
const placed = (percent: number): { readonly class: string; readonly style?: { readonly left: string } } => {
  if (percent > 100 - END_WIDTH) return { class: 'n last' };
  return { class: percent < END_WIDTH ? 'n first' : 'n', style: { left: `${percent}%` } };
};

/** Every value of a key on one time axis: when it was current and, hatched, its grace period. */
export const SecretAxis = ({ secrets, prefix, now }: SecretAxisProps): JSX.Element => {
  const times = useTimes();
  const isPast = useAsOf() !== null;
  const from = Math.min(...secrets.map(({ created_at }) => timeOf(created_at)));
  const ends = secrets.flatMap(({ ends_at }) => (ends_at === null ? [] : [timeOf(ends_at)]));
  const to = Math.max(now, ...ends.filter((end) => end - now < now - from + 86_400_000)) + 1;
  const at = (time: number): number => Math.min(100, Math.max(0, ((time - from) / (to - from)) * 100));
  const ticks = TICKS.filter((tick) => to - from > TICKS_FROM_MS && Math.abs(at(now) - tick * 100) > TICK_WIDTH);
  return (
    <div class="gantt">
      {secrets.map((secret, index) => {
        const begin = timeOf(secret.created_at);
        const next = secrets[index - 1];
        const end = secret.ends_at === null ? now : timeOf(secret.ends_at);
        const replaced = next === undefined ? end : Math.min(end, timeOf(next.created_at));
        const width = Math.max(PERCENT_MIN, at(replaced) - at(begin));
        const left = Math.min(at(begin), 100 - PERCENT_MIN);
        return (
          <div class="g" key={secret.number}>
            <code>
              {prefix}…{secret.last4}
            </code>
            <div class={`t ${TONES[secret.status]}`}>
              <i class="bar" style={{ left: `${left}%`, width: `${width}%` }} />
              {end > replaced && (
                <i
                  class="grace"
                  style={{ left: `${left + width}%`, width: `${Math.max(0, at(end) - left - width)}%` }}
                />
              )}
            </div>
            <div class="end">
              <Ending secret={secret} />
            </div>
          </div>
        );
      })}
      <div class="gx" aria-hidden="true">
        <i />
        <div>
          {ticks.map((tick) => (
            <span key={tick} style={{ left: `${tick * 100}%` }}>
              {times.short(from + (to - from) * tick)}
            </span>
          ))}
          <span {...placed(at(now))}>{isPast ? times.short(now) : 'now'}</span>
        </div>
        <i />
      </div>
    </div>
  );
};
