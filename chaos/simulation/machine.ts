import type { Breakage } from './breakage.ts';
import { createLife, type Life } from './life.ts';
import type { World } from './world.ts';

/** Keeps one process of the service running, like a supervisor. */
export interface Machine {
  /** null while the process is down. */
  life(): Life | null;
  /** Sends SIGTERM. The process is then restarted like one that died. */
  stop(): void;
}

/** Time that a process has to end before it is killed. */
const STOP_MS_MAX = 10_000;
const RESTART_MS_MAX = 12_000;
/** Restart delay after faults have ended. */
const RESTART_MS_CALM = 500;
/**
 * Maximum offset of a clock. Two clocks then differ by less than the time from an attempt's deadline to the end of its
 * lease.
 */
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
