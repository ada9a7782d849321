import type { CpuMicros } from './cpu.ts';

export type Unit =
  | 'events/s'
  | 'requests/s'
  | 'messages/s'
  | 'jobs/s'
  | 'posts/s'
  | 'events'
  | 'queries'
  | 'MB/min'
  | 's'
  | 'ms'
  | 'µs'
  | 'MB'
  | '%'
  | 'B/event'
  | 'B/message';

/** What a figure, or its ratio to the limit, must reach or must not exceed. */
export type Floor = { readonly of: 'figure' | 'ratio' } & ({ readonly atLeast: number } | { readonly atMost: number });

/** One line of the table as it was measured. */
export interface Line {
  /** What is measured, and under which load. */
  readonly measure: string;
  readonly unit: Unit;
  /** Our figure in each round. */
  readonly rounds: readonly number[];
  /** What bounds it or a peer that does the same, measured in the same rounds. */
  readonly limit?: { readonly what: string; readonly rounds: readonly number[] };
  readonly floor?: Floor;
  /** Why it was not measured here; then there are no rounds. */
  readonly skipped?: string;
  /** Why it came to no figure though it should have; then there are no rounds either. */
  readonly failed?: string;
  /** What a unit took of each process: tells what bounds the figure. */
  readonly cpuMicros?: CpuMicros;
  /** What a unit took of one process, by stage. */
  readonly budget?: CpuMicros;
}

export interface JudgedLine extends Line {
  readonly ours: number;
  readonly limitFigure: number | null;
  readonly ratio: number | null;
  /** null: there is no floor. */
  readonly met: boolean | null;
}

export const skippedLine = (measure: string, unit: Unit, why: string): Line => ({
  measure,
  unit,
  rounds: [],
  skipped: why,
});

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const low = sorted[Math.ceil(middle) - 1] ?? Number.NaN;
  const high = sorted[Math.floor(middle)] ?? Number.NaN;
  return (low + high) / 2;
};

const isMet = (floor: Floor, ours: number, ratio: number | null): boolean => {
  const value = floor.of === 'figure' ? ours : (ratio ?? Number.NaN);
  return 'atLeast' in floor ? value >= floor.atLeast : value <= floor.atMost;
};

const verdict = (line: Line, ours: number, ratio: number | null): boolean | null => {
  if (line.failed !== undefined) return false;
  return line.floor === undefined || line.skipped !== undefined ? null : isMet(line.floor, ours, ratio);
};

export const judge = (line: Line): JudgedLine => {
  const ours = median(line.rounds);
  const limitFigure = line.limit === undefined ? null : median(line.limit.rounds);
  const ratio = limitFigure === null ? null : ours / limitFigure;
  return {
    ...line,
    ours,
    limitFigure,
    ratio,
    met: verdict(line, ours, ratio),
  };
};
