import type { CpuMicros } from './cpu.ts';

export type Unit =
  | 'events/s'
  | 'requests/s'
  | 'messages/s'
  | 'jobs/s'
  | 'posts/s'
  | 'events'
  | 'queries'
  | 'messages'
  | 'MB/min'
  | 's'
  | 'ms'
  | 'µs'
  | 'MB'
  | '%'
  | 'B/event'
  | 'B/message'
  | 'kB/message'
  | 'per message';

/** A bound for a figure or for its ratio to the limit. */
export type Floor = { readonly of: 'figure' | 'ratio' } & ({ readonly atLeast: number } | { readonly atMost: number });

/** A measured line of the table. */
export interface Line {
  /** The quantity and the load. */
  readonly measure: string;
  readonly unit: Unit;
  /** Our figure in each round. */
  readonly rounds: readonly number[];
  /** A theoretical bound or a comparable peer, measured in the same rounds. */
  readonly limit?: { readonly what: string; readonly rounds: readonly number[] };
  readonly floor?: Floor;
  /** Why it cannot be measured here. `rounds` is empty then. */
  readonly skipped?: string;
  /** Why the measurement failed. `rounds` is empty then. */
  readonly failed?: string;
  /** Processor time per unit by process, which shows what bounds the figure. */
  readonly cpuMicros?: CpuMicros;
  /** Cost of a unit in one process, by stage. */
  readonly budget?: Readonly<Record<string, number>>;
  /** Default: µs of processor time. */
  readonly budgetUnit?: string;
}

export interface JudgedLine extends Line {
  readonly ours: number;
  readonly limitFigure: number | null;
  readonly ratio: number | null;
  /** null if there is no floor. */
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
