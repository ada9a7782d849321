import type { JSX } from 'preact';

const WIDTH = 300;
const HEIGHT = 44;
/** Margin above the highest value, so that the stroke is not clipped. */
const ROOM = 3;

const place = (value: number): string => value.toFixed(1);

interface SparklineProps {
  /** In chronological order; null: no data. */
  readonly values: readonly (number | null)[];
  /** Number of the plot colour, 1 to 6. */
  readonly plot: number;
  /** Default: 0. */
  readonly from?: number;
  /** Default: the highest value. */
  readonly to?: number;
}

/** A small line chart of a number over time. The text next to it gives the values. */
export const Sparkline = ({ values, plot, from = 0, to }: SparklineProps): JSX.Element => {
  const known = values.map((value, index) => ({ value, index })).filter(({ value }) => value !== null);
  const top = to ?? Math.max(...known.map(({ value }) => value ?? 0), from + Number.EPSILON);
  const across = WIDTH / Math.max(1, values.length - 1);
  const points = known.map(({ value, index }) => {
    const share = ((value ?? 0) - from) / (top - from);
    return `${place(index * across)} ${place(HEIGHT - 1 - Math.max(0, share) * (HEIGHT - 1 - ROOM))}`;
  });
  // A single value is drawn across its interval.
  const line = points.length === 1 ? `M${points[0]}h${-across}` : `M${points.join('L')}`;
  const first = (known[0]?.index ?? 0) * across;
  const last = points.length === 1 ? first - across : (known.at(-1)?.index ?? 0) * across;
  if (points.length === 0) return <span class="spark" />;
  return (
    <svg
      class={`spark plot-line-${plot}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="area" d={`${line}L${place(last)} ${HEIGHT}L${place(first)} ${HEIGHT}z`} />
      <path class="line" d={line} />
    </svg>
  );
};
