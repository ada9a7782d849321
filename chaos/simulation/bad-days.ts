import type { Machine } from './machine.ts';
import type { World } from './world.ts';

type BadDay = (world: World, machine: Machine) => void;

const FREEZE_MS_MIN = 1000;
const FREEZE_MS_MAX = 40_000;

/** Faults of whole machines, at any time. */
const BAD_DAYS: readonly BadDay[] = [
  (_world, machine) => machine.life()?.process.kill(),
  ({ ground }, machine) => machine.life()?.process.freeze(ground.random.between(FREEZE_MS_MIN, FREEZE_MS_MAX)),
  (_world, machine) => machine.stop(),
  ({ engine, ground }) => {
    ground.trace.note(ground.scheduler.nowMs(), 'the queue is wiped');
    engine.wipe();
  },
];
const DAYS_MAX = 4;

/** Plans faults of machines until `untilMs`. */
export const planBadDays = (world: World, machines: readonly Machine[], untilMs: number): void => {
  const { random, scheduler } = world.ground;
  const count = random.between(0, DAYS_MAX);
  for (let day = 0; day < count; day += 1) {
    const befalls = random.pick(BAD_DAYS);
    const machine = random.pick(machines);
    scheduler.appoint(random.between(0, untilMs), 'a bad day', () => befalls(world, machine));
  }
};
