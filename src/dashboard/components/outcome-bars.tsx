import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { SerializedStats } from '../../http/resources/stats.ts';
import { waitingOf } from '../data/rates.ts';
import { count, useTimes } from '../data/time.ts';

export type Stats = SerializedStats;
type Counts = Pick<
  Stats['totals'],
  'accepted' | 'delivered' | 'bounced' | 'failed' | 'expired' | 'suppressed' | 'cancelled'
>;

const BAR_PIXELS = 52;
/** More labels would overlap. */
const LABELS_MAX = 6;
/** Share of the width. Labels closer than this overlap. */
const LABEL_PERCENT = 12;

interface Outcomes {
  readonly accepted: number;
  readonly delivered: number;
  readonly waiting: number;
  readonly bounced: number;
  readonly other: number;
}

const outcomesOf = (counts: Counts): Outcomes => {
  const { accepted = 0, delivered = 0, bounced = 0, failed = 0, expired = 0, suppressed = 0, cancelled = 0 } = counts;
  const other = failed + expired + suppressed + cancelled;
  return { accepted, delivered, bounced, other, waiting: waitingOf(counts) };
};

const SHOWN = [
  ['delivered', 'delivered', 'delivered'],
  ['waiting', 'waiting', 'deferred'],
  ['bounced', 'bounced', 'bounced'],
  ['other', 'other', 'suppressed'],
] as const;

interface OutcomeBarsProps {
  readonly stats: Stats;
  /** Called with two times, ISO 8601, after a range was selected by dragging. */
  onNarrow(since: string, until: string): void;
}

/** Outcomes over time. Dragging over the bars narrows the time range. */
export const OutcomeBars = ({ stats, onNarrow }: OutcomeBarsProps): JSX.Element => {
  const times = useTimes();
  const bars = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<readonly [from: number, to: number] | null>(null);
  const { data, granularity } = stats;
  const totals = outcomesOf(stats.totals);
  const most = Math.max(1, ...data.map(({ accepted = 0 }) => accepted));

  const barAt = (event: PointerEvent): number => {
    const { left = 0, width = 1 } = bars.current?.getBoundingClientRect() ?? {};
    const at = Math.floor(((event.clientX - left) / width) * data.length);
    return Math.min(data.length - 1, Math.max(0, at));
  };
  const finish = (): void => {
    if (drag === null) return;
    setDrag(null);
    const [first, last] = [Math.min(...drag), Math.max(...drag)];
    const since = data[first]?.start;
    const until = data[last + 1]?.start ?? stats.to;
    if (since !== undefined && first !== last) onNarrow(since, until);
  };
  const isChosen = (index: number): boolean =>
    drag !== null && index >= Math.min(...drag) && index <= Math.max(...drag);
  const labels = data.flatMap(({ start }, index) => {
    const label = times.weekday(start);
    const before = data[index - 1];
    const isNew = before === undefined || times.weekday(before.start) !== label;
    return isNew ? [{ label, left: (index / data.length) * 100 }] : [];
  });
  const far = labels.filter(({ left }, index) => (labels[index + 1]?.left ?? 100) - left > LABEL_PERCENT);
  const every = Math.ceil(far.length / LABELS_MAX);

  return (
    <section class="hist frame" aria-label={`Outcomes by ${granularity}`}>
      <div class="legend">
        <span>
          <b>{count(totals.accepted)}</b> accepted
        </span>
        {SHOWN.map(([name, word, plot]) => (
          <span key={name}>
            <i class={`sw plot-${plot}`} />
            <b>{count(totals[name])}</b> {word}
          </span>
        ))}
        <span class="sp" />
        <span class="muted hide-s">Drag to select a period</span>
      </div>
      <div
        ref={bars}
        class="bars"
        role="img"
        aria-label={`${count(totals.accepted)} recipients accepted, ${count(totals.delivered)} delivered, ${count(totals.waiting)} waiting, ${count(totals.bounced)} bounced, ${count(totals.other)} other`}
        onPointerDown={(event) => setDrag([barAt(event), barAt(event)])}
        onPointerMove={(event) => drag !== null && setDrag([drag[0], barAt(event)])}
        onPointerUp={finish}
        onPointerLeave={finish}
      >
        {data.map((row, index) => {
          const outcomes = outcomesOf(row);
          return (
            <i
              key={row.start}
              class={isChosen(index) ? 'chosen' : ''}
              title={`${times.short(row.start)}: ${outcomes.accepted}`}
            >
              {SHOWN.toReversed().map(([name, , plot]) =>
                outcomes[name] === 0 ? null : (
                  <b
                    key={name}
                    class={`plot-${plot}`}
                    style={{ height: `${(outcomes[name] / most) * BAR_PIXELS}px` }}
                  />
                ),
              )}
            </i>
          );
        })}
      </div>
      <div class="ax" aria-hidden="true">
        {far
          .filter((_, index) => index % every === 0)
          .map(({ label, left }) => (
            <span key={left} style={{ left: `${left}%` }}>
              {label}
            </span>
          ))}
      </div>
    </section>
  );
};
