import type { Violation } from './violation.ts';

/** A fault or crash of real programs. An oracle reports which promises it broke. */
export interface Scenario {
  /** Unique description: `npm run chaos -- <part of a name>` selects it. */
  readonly name: string;
  /** Why this machine cannot run it, as a phrase. The scenario is then reported as skipped. */
  readonly skipped?: string;
  /** The scenario needs the whole machine, so no other runs at the same time. */
  readonly alone?: true;
  /** @param seed seed of all random choices; the same seed repeats the scenario. */
  run(seed: number): Promise<readonly Violation[]>;
}
