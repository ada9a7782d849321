import { type Judging, judge } from '../harness/oracle.ts';
import type { Violation } from '../harness/violation.ts';
import { openWorld, type World, type WorldOptions } from '../harness/world.ts';

/**
 * Opens a world, lets something happen in it, and judges it once clients have asked again for what they were not
 * answered.
 * @param act everything up to where all roles run again.
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
