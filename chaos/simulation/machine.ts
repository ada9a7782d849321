import type { Breakage } from './breakage.ts';
import { createLife, type Life } from './life.ts';
import type { World } from './world.ts';

/** Something that keeps one process of the service running, as a supervisor does. */
export interface Machine {
  /** null: it is down. */
  life(): Life | null;
  /** SIGTERM; it is started again like one that died. */
  stop(): void;
}

/** As long as a process may take to end before it is killed. */
const STOP_MS_MAX = 10_000;
const RESTART_MS_MAX = 12_000;
/** Once the trouble is over, processes that are down come up soon. */
const RESTART_MS_CALM = 500;
/** Two clocks are then less apart than the time between an attempt's deadline and the end of its lease. */
const SKEW_MS_MAX = 4000;

export const createMachine = (world: World, name: string, breakage: Breakage): Machine => {
  const { scheduler, random, faults } = world.ground;
  let lives = 0;
  let life: Life | null = null;

  const restart = (): void => {
    life = null;
    const waitMs = faults.haveEnded() ? RESTART_MS_CALM : random.between(1, RESTART_MS_MAX);
    scheduler.appoint(waitMs, `${name} is started`, start);
  };

  const start = (): void => {
    lives += 1;
    const skewMs = random.chance(0.5) ? 0 : random.between(-SKEW_MS_MAX, SKEW_MS_MAX);
    life = createLife(world, { name: `${name}${lives}`, skewMs }, breakage);
    life.process.onDeath(restart);
    life.workers.start();
  };

  start();
  return {
    life: () => life,
    stop: () => {
      if (life === null) return;
      const { process, workers } = life;
      scheduler.appoint(STOP_MS_MAX, `${process.name} is killed if it has not ended`, process.kill);
      void workers.stop().then(process.end);
    },
  };
};
