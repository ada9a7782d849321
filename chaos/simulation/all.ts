import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import type { RanSeeds, Seeds } from './run-seeds.ts';
import type { Simulated } from './simulate.ts';

/** Of one scenario: longer and a slice of a few minutes has no room for others, shorter and starting it costs as much. */
const RUN_MS = 30_000;
/** Scenarios begin so many seeds apart: more than one ever comes through. */
const SEEDS_APART = 100_000_000;
const PARTS = 4;

const inThread = async (seeds: Seeds): Promise<RanSeeds> => {
  const thread = new Worker(new URL('./thread.ts', import.meta.url), { workerData: seeds });
  const [ran] = await once(thread, 'message');
  await thread.terminate();
  return ran as RanSeeds; // what `thread.ts` posts
};

const told = async ({ seed, violations, trace }: Simulated, repeats: boolean): Promise<readonly Violation[]> => {
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
    return broken === null ? [] : told(broken, repeats);
  },
});

/**
 * The real commands, folds and workers, on parts in memory, in a time and with a chance of their own. Each seed is a run
 * with faults and an interleaving that no other has. The first part begins with the very seed that was asked for.
 */
export const SIMULATIONS: readonly Scenario[] = Array.from({ length: PARTS }, (_, part) => simulation(part));
