import { type Judging, judge } from '../harness/oracle.ts';
import type { Violation } from '../harness/violation.ts';
import { openWorld, type World, type WorldOptions } from '../harness/world.ts';

/**
 * Opens a world, runs a scenario in it, and judges the outcome after clients have repeated their unanswered requests.
 * @param act the scenario up to the point where all roles run again.
 */
export const inWorld = async (
  options: WorldOptions,
  act: (world: World) => Promise<void>,
  judging: Judging = {},
): Promise<readonly Violation[]> => {
  const world = await openWorld(options);
  try {
    await act(world);
    await world.load.settle();
    return await judge(world, judging);
  } finally {
    await world.close();
  }
};
