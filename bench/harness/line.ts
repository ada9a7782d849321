export type Unit = 'events/s' | 'requests/s' | 'messages/s' | 'jobs/s' | 's' | 'ms' | 'µs' | 'MB';

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
}

export interface JudgedLine extends Line {
  readonly ours: number;
  readonly limitFigure: number | null;
  readonly ratio: number | null;
  /** null: there is no floor. */
  readonly met: boolean | null;
}

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

export const judge = (line: Line): JudgedLine => {
  const ours = median(line.rounds);
  const limitFigure = line.limit === undefined ? null : median(line.limit.rounds);
  const ratio = limitFigure === null ? null : ours / limitFigure;
  return { ...line, ours, limitFigure, ratio, met: line.floor === undefined ? null : isMet(line.floor, ours, ratio) };
};
