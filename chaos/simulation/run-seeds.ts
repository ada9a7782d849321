import { type RunResult, simulate } from './simulate.ts';

/** A range of seeds to run in sequence. */
export interface Seeds {
  readonly from: number;
  /** No run starts later than this. */
  readonly forMs: number;
}

export interface RanSeeds {
  readonly count: number;
  readonly steps: number;
  /** The first failing run, repeated with its trace; null: none failed. */
  readonly broken: RunResult | null;
  /** True if the repetition had the same trace. */
  readonly repeats: boolean;
}

/** Runs seeds until one breaks a rule or time is up. The first seed always runs. */
export const runSeeds = async ({ from, forMs }: Seeds): Promise<RanSeeds> => {
  const endMs = performance.now() + forMs;
  let steps = 0;
  for (let seed = from; ; seed += 1) {
    const run = await simulate(seed);
    steps += run.steps;
    const count = seed - from + 1;
    if (run.violations.length > 0) {
      const broken = await simulate(seed, { keepTrace: true });
      return { count, steps, broken, repeats: broken.digest === run.digest };
    }
    if (performance.now() >= endMs) return { count, steps, broken: null, repeats: true };
  }
};
