import { createSystem } from '../../src/adapters/system.ts';
import type { System } from '../../src/lib/async/async.ts';

export interface ShiftableSystem extends System {
  /** Advances the wall clock, so that later work becomes due. Time-outs are not affected. */
  shift(ms: number): void;
}

/** The real clock for tests with real sockets, with a wall clock that can be advanced. */
export const createShiftableSystem = (): ShiftableSystem => {
  const system = createSystem();
  let aheadMs = 0;
  return {
    ...system,
    now: () => new Date(system.now().getTime() + aheadMs),
    shift: (ms) => {
      aheadMs += ms;
    },
  };
};
