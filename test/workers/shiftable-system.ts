import { createSystem } from '../../src/adapters/system.ts';
import type { System } from '../../src/lib/async/async.ts';

export interface ShiftableSystem extends System {
  /** Makes the wall clock run ahead: what is due later is due now. Time-outs stay as they are. */
  shift(ms: number): void;
}

/** The machine's own clock for tests with real sockets, which can be told that it is later. */
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
