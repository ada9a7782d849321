import { createSystem } from '../../src/adapters/system.ts';
import type { System } from '../../src/lib/async/async.ts';

export interface ShiftableSystem extends System {
  /** Advances both clocks, so that later work becomes due. Timers that run are not affected. */
  shift(ms: number): void;
}

/** The real clocks for tests with real sockets, which can be advanced. */
export const createShiftableSystem = (): ShiftableSystem => {
  const system = createSystem();
  let aheadMs = 0;
  return {
    ...system,
    now: () => new Date(system.now().getTime() + aheadMs),
    monotonicMs: () => system.monotonicMs() + aheadMs,
    shift: (ms) => {
      aheadMs += ms;
    },
  };
};
