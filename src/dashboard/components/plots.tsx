import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { navigate, withParameters } from '../data/location.ts';
import { count, duration } from '../data/time.ts';

/** Our own plots. They follow the theme, link every bar and offer the numbers as a table. */

interface PlotCardProps {
  readonly title: string;
  /** URL parameter that shows the table. */
  readonly name: string;
  readonly shown: ReadonlySet<string>;
  readonly legend: ComponentChildren;
  readonly plot: JSX.Element;
  readonly table: JSX.Element;
}

export const PlotCard = ({ title, name, shown, legend, plot, table }: PlotCardProps): JSX.Element => {
  const isTable = shown.has(name);
  const toggle = (): void => {
    const others = [...shown].filter((one) => one !== name);
    const next = isTable ? others : [...others, name];
    navigate(withParameters({ tables: next.join(',') || null }), 'replace');
  };
  return (
    <section class="card plotcard" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span class="sp" />
        <div class="legend">{legend}</div>
        <button type="button" class="btn ghost small" aria-pressed={isTable} onClick={toggle}>
          {isTable ? 'Plot' : 'Table'}
        </button>
      </header>
      {isTable ? <div class="scroll">{table}</div> : <div class="pad">{plot}</div>}
    </section>
  );
};

/** Round axis steps: 1, 2 or 5 times a power of ten, at most four. */
const stepsTo = (most: number): readonly number[] => {
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
};

const short = (value: number): string =>
  value >= 1000 ? new Intl.NumberFormat('en', { notation: 'compact' }).format(value) : count(value);

export interface Bar {
  readonly key: string;
  /** Shown below the bar if there is space. */
  readonly label: string;
  readonly title: string;
  /** From bottom to top. */
  readonly parts: readonly { readonly name: string; readonly plot: string; readonly value: number }[];
  /** Value in the previous period. */
  readonly before: number | null;
  readonly href: string;
  readonly linkWord: string;
}

const Tip = ({ bar, left }: { readonly bar: Bar; readonly left: number }): JSX.Element => (
  <div class="tip" style={left > 50 ? { right: `${100 - left + 1}%` } : { left: `${left + 1}%` }}>
    <b class="b">{bar.title}</b>
    {bar.parts.map(({ name, plot, value }) => (
      <p key={name}>
        <i class={`sw ${plot}`} />
        {name} <b>{count(value)}</b>
      </p>
    ))}
    {bar.before !== null && (
      <p>
        <i class="sw plot-before" />
        period before <b>{count(bar.before)}</b>
      </p>
    )}
    <span class="lnk">{bar.linkWord}</span>
  </div>
);

const LABELS_MAX = 6;
const totalOf = ({ parts }: Bar): number => parts.reduce((sum, { value }) => sum + value, 0);

/** Interval between labelled bars. */
const everyOf = (bars: readonly unknown[]): number => Math.max(1, Math.ceil(bars.length / LABELS_MAX));

const Labels = ({ labels }: { readonly labels: readonly string[] }): JSX.Element => {
  const every = everyOf(labels);
  return (
    <div class="xax" aria-hidden="true">
      {labels.map((label, index) =>
        index % every === 0 ? (
          <span key={index} style={{ left: `${((index + 0.5) / labels.length) * 100}%` }}>
            {label}
          </span>
        ) : null,
      )}
    </div>
  );
};

/** Stacked bars, each a link. The arrow keys move between them. */
export const BarPlot = ({ bars, label }: { readonly bars: readonly Bar[]; readonly label: string }): JSX.Element => {
  const [at, setAt] = useState<number | null>(null);
  const most = Math.max(1, ...bars.map((bar) => Math.max(totalOf(bar), bar.before ?? 0)));
  const share = (value: number): string => `${(value / most) * 100}%`;
  const step = (event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.currentTarget.querySelectorAll('a')[(at ?? 0) + by]?.focus();
  };
  const bar = at === null ? undefined : bars[at];
  return (
    <div class="plot">
      <div class="yax" aria-hidden="true">
        {stepsTo(most).map((value) => (
          <span key={value} style={{ bottom: share(value) }}>
            <small>{short(value)}</small>
          </span>
        ))}
      </div>
      <nav class="area" aria-label={label} onKeyDown={step} onMouseLeave={() => setAt(null)}>
        {bars.map((one, index) => (
          <a
            key={one.key}
            href={one.href}
            tabIndex={index === (at ?? 0) ? 0 : -1}
            aria-label={`${one.title}: ${one.parts.map(({ name, value }) => `${count(value)} ${name}`).join(', ')}. ${one.linkWord}`}
            onMouseEnter={() => setAt(index)}
            onFocus={() => setAt(index)}
            onBlur={() => setAt(null)}
          >
            {one.parts
              .toReversed()
              .map(({ name, plot, value }) =>
                value === 0 ? null : <b key={name} class={plot} style={{ height: share(value) }} />,
              )}
            {one.before !== null && one.before > 0 && <i class="before" style={{ bottom: share(one.before) }} />}
          </a>
        ))}
        {bar !== undefined && at !== null && <Tip bar={bar} left={((at + 0.5) / bars.length) * 100} />}
      </nav>
      <Labels labels={bars.map((one) => one.label)} />
    </div>
  );
};

interface Line {
  readonly name: string;
  /** CSS class of the colour. */
  readonly plot: string;
  /** Milliseconds; null: no data, which leaves a gap. */
  readonly values: readonly (number | null)[];
}

const WIDTH = 1_000;
const HEIGHT = 200;

const isKnown = (value: number | null | undefined): value is number => value !== null && value !== undefined;

/** Splits a line at gaps into segments, and isolated values into points. */
const pathsOf = (values: readonly (number | null)[], y: (value: number) => number) => {
  const x = (index: number): number => ((index + 0.5) / values.length) * WIDTH;
  let lines = '';
  let points = '';
  for (const [index, value] of values.entries()) {
    if (value === null) continue;
    const [before, after] = [values[index - 1], values[index + 1]];
    const place = `${x(index)} ${y(value)}`;
    if (isKnown(before)) lines += `L${place}`;
    else if (isKnown(after)) lines += `M${place}`;
    else points += `M${place}h0`;
  }
  return { lines, points };
};

/** Grid lines of a plot of durations: familiar units, and powers of ten between them. */
const TICKS_MS = [
  1, 10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 86_400_000, 864_000_000, 8_640_000_000,
] as const;

interface LinePlotProps {
  readonly lines: readonly Line[];
  readonly labels: readonly string[];
  readonly label: string;
}

/** Durations on a logarithmic scale. */
export const LinePlot = ({ lines, labels, label }: LinePlotProps): JSX.Element => {
  const known = lines.flatMap(({ values }) => values.filter((value) => value !== null));
  const least = Math.min(100, ...known);
  const first = Math.max(
    0,
    TICKS_MS.findLastIndex((tick) => tick <= least),
  );
  const last = TICKS_MS.findIndex((tick, index) => index > first && tick >= Math.max(...known, 1));
  const ticks = TICKS_MS.slice(first, last === -1 ? TICKS_MS.length : last + 1);
  const [low, high] = [ticks[0] ?? 1, ticks.at(-1) ?? 10].map((tick) => Math.log10(tick)) as [number, number];
  const share = (value: number): number => (Math.log10(Math.max(1, value)) - low) / (high - low);
  return (
    <div class="plot lines">
      <div class="yax" aria-hidden="true">
        {ticks.map((value) => (
          <span key={value} style={{ bottom: `${share(value) * 100}%` }}>
            <small>{duration(value)}</small>
          </span>
        ))}
      </div>
      <svg class="area" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {lines.map(({ name, plot, values }) => {
          const drawn = pathsOf(values, (value) => HEIGHT * (1 - share(value)));
          return (
            <g key={name}>
              <path class={plot} d={drawn.lines} />
              <path class={`point ${plot}`} d={drawn.points} />
            </g>
          );
        })}
      </svg>
      <Labels labels={labels} />
    </div>
  );
};
