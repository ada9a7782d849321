import type { Closers } from '../../src/composition/lifecycle.ts';
import type { Logger, System } from '../../src/lib/async/async.ts';
import type { Corpus } from './corpus.ts';
import type { DurablePostgres } from './durable-postgres.ts';
import type { Line } from './line.ts';

/** What every measure is given. */
export interface Bench {
  /** How often each contender of a line is measured, in turns. */
  readonly rounds: number;
  /** Of `soak`. */
  readonly minutes: number;
  readonly system: System;
  readonly logger: Logger;
  /** Whatever a measure opens is added here and closed after it, and also when the run is interrupted. */
  readonly closers: Closers;
  readonly postgres: DurablePostgres;
  readonly corpus: (eventsMin?: number) => Promise<Corpus>;
  /** A folder on a disk, removed at the end. */
  readonly folder: string;
  /** Arguments for a process that is to be profiled; none when no profile is wanted. */
  readonly profiling: readonly string[];
}

export interface Measure {
  readonly name: string;
  run(bench: Bench): Promise<readonly Line[]>;
}
