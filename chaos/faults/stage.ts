import { type Judging, judge } from '../harness/oracle.ts';
import type { Violation } from '../harness/violation.ts';
import { openWorld, type World, type WorldOptions } from '../harness/world.ts';
import { type Clock, createClock } from './clock.ts';
import { letTimePass } from './let-time-pass.ts';

/** A world with running programs and their clock. */
export interface Stage {
  readonly world: World;
  readonly clock: Clock;
}

/** Registers a cleanup. Cleanups run in reverse order. */
export type Undo = (close: () => Promise<unknown>) => void;

const withUndo = async <T>(work: (undo: Undo) => Promise<T>): Promise<T> => {
  const steps: (() => Promise<unknown>)[] = [];
  try {
    return await work((step) => steps.push(step));
  } finally {
    for (const step of steps.reverse()) await step();
  }
};

const openStage = async (options: StageOptions, undo: Undo): Promise<Stage> => {
  let world: World | undefined;
  const clock = await createClock(() => world?.programs);
  undo(clock.remove);
  const env: WorldOptions['env'] = async (addresses) => ({ ...clock.env, ...(await options.env?.(addresses)) });
  world = await openWorld({ ...options, env });
  undo(world.close);
  for (const name of options.firstStarted ?? []) await world.programs.start({}, name);
  await world.programs.start();
  return { world, clock };
};

export interface StageOptions extends WorldOptions {
  /** Programs to start before the others, in this order, because they must get something that only one can hold. */
  readonly firstStarted?: readonly string[];
}

export interface Play extends Judging {
  /** Engines opened here are closed after the world that uses them. */
  options(undo: Undo): Promise<StageOptions>;
  /**
   * Runs the scenario. When it ends, no fault is active and programs of all roles run.
   * @throws {Error} if the scenario itself observes a violation.
   */
  act(stage: Stage): Promise<void>;
}

/**
 * Opens a world, runs the scenario, and judges the outcome after clients have got their 202 and retries have had time.
 */
export const play = ({ options, act, ...judging }: Play): Promise<readonly Violation[]> =>
  withUndo(async (undo) => {
    const stage = await openStage(await options(undo), undo);
    const { world } = stage;
    await act(stage);
    await world.load.settle();
    await letTimePass(stage);
    return judge(world, judging);
  });
