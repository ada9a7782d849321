interface Point {
  readonly atMs: number;
  readonly value: number;
}

const MINUTE_MS = 60_000;

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Growth per minute by least squares; NaN for fewer than two points. */
export const slopePerMinute = (points: readonly Point[]): number => {
  const middleMs = mean(points.map(({ atMs }) => atMs));
  const middle = mean(points.map(({ value }) => value));
  const together = points.reduce((sum, { atMs, value }) => sum + (atMs - middleMs) * (value - middle), 0);
  const spread = points.reduce((sum, { atMs }) => sum + (atMs - middleMs) ** 2, 0);
  return (together / spread) * MINUTE_MS;
};
