import { type Simulated, simulate } from './simulate.ts';

/** Which seeds, one after another. */
export interface Seeds {
  readonly from: number;
  /** No run is begun later than this. */
  readonly forMs: number;
}

export interface RanSeeds {
  readonly count: number;
  readonly steps: number;
  /** The first run that broke something, done again with its trace; null: none did. */
  readonly broken: Simulated | null;
  /** Its trace was the same the second time. */
  readonly repeats: boolean;
}

/** Simulates seed after seed, the first whatever the time, until one breaks something or time is up. */
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
