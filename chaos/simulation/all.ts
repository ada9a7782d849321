import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import type { RanSeeds, Seeds } from './run-seeds.ts';
import type { RunResult } from './simulate.ts';

/**
 * Duration of one scenario. Longer: a slice of a few minutes fits no others. Shorter: most of the time goes into
 * starting.
 */
const RUN_MS = 30_000;
/** Distance between the first seeds of scenarios, larger than the number of runs in any of them. */
const SEEDS_APART = 100_000_000;
const PARTS = 4;

const inThread = async (seeds: Seeds): Promise<RanSeeds> => {
  const thread = new Worker(new URL('./thread.ts', import.meta.url), { workerData: seeds });
  const [ran] = await once(thread, 'message');
  await thread.terminate();
  return ran as RanSeeds; // posted by `thread.ts`
};

const violationsOf = async (
  { seed, violations, trace }: RunResult,
  repeats: boolean,
): Promise<readonly Violation[]> => {
  const file = join(tmpdir(), `outbox-simulation-${seed}.txt`);
  await writeFile(file, `${trace.join('\n')}\n`);
  const how = `seed ${seed}: npm run chaos -- simulation --seed ${seed} does it again; all that happened is in ${file}`;
  const unlike: readonly Violation[] = repeats ? [] : [{ promise: 'scenario', what: `seed ${seed} does not repeat` }];
  return [...violations, { promise: 'scenario', what: how }, ...unlike];
};

const simulation = (part: number): Scenario => ({
  name: `simulation of the core, part ${part + 1}`,
  run: async (seed) => {
    const from = seed + part * SEEDS_APART;
    const { broken, repeats, count, steps } = await inThread({ from, forMs: RUN_MS });
    console.log(`       ${count} seeds from ${from}, ${steps} steps`);
    return broken === null ? [] : violationsOf(broken, repeats);
  },
});

/**
 * The real commands, folds and workers on in-memory parts, with simulated time and seeded randomness. Each seed is a
 * run with its own faults and interleaving. The first part starts with exactly the requested seed.
 */
export const SIMULATIONS: readonly Scenario[] = Array.from({ length: PARTS }, (_, part) => simulation(part));
