import type { Closers } from '../../src/composition/lifecycle.ts';
import type { Logger, System } from '../../src/lib/async/async.ts';
import type { Corpus } from './corpus.ts';
import type { DurablePostgres } from './durable-postgres.ts';
import type { Line } from './line.ts';

/** Context of every measurement. */
export interface Bench {
  /** Number of interleaved measurements of each contender of a line. */
  readonly rounds: number;
  /** Duration of `soak`. */
  readonly minutes: number;
  readonly system: System;
  readonly logger: Logger;
  /** Closes everything a measurement opens, both at its end and when the run is interrupted. */
  readonly closers: Closers;
  readonly postgres: DurablePostgres;
  readonly corpus: (eventsMin?: number) => Promise<Corpus>;
  /** A folder on a disk, removed at the end. */
  readonly folder: string;
  /** Node arguments that profile a process; empty if no profile is wanted. */
  readonly profiling: readonly string[];
}

export interface Measure {
  readonly name: string;
  run(bench: Bench): Promise<readonly Line[]>;
}
