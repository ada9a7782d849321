import type { Violation } from './violation.ts';

/** One bad day: it happens to a real program, and an oracle says what it broke. */
export interface Scenario {
  /** In words, unique among all: `npm run chaos -- <part of a name>` runs it alone. */
  readonly name: string;
  /** Why it cannot run on this machine, in one phrase: then it is not run, and said to be skipped. */
  readonly skipped?: string;
  /** Nothing else runs beside it: it needs the machine for itself. */
  readonly alone?: true;
  /** @param seed of whatever the scenario leaves to chance; the same seed makes the same scenario. */
  run(seed: number): Promise<readonly Violation[]>;
}
