import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '../harness/scenario.ts';
import { loadWhile } from './load-while.ts';
import { play } from './stage.ts';

const HOUR_MS = 3_600_000;

/** The database's clock does not jump, as if it were on another machine. */
const jump = (name: string, jumpsMs: readonly number[]): Scenario => ({
  name: `the clock ${name} under load`,
  run: () =>
    play({
      options: async () => ({}),
      act: async ({ world, clock }) => {
        await loadWhile(world.load, async () => {
          await world.load.scheduled(1);
          for (const ms of jumpsMs) {
            await sleep(1_000);
            // Attempts in flight lost their leases when the clock jumped. Later attempts have no excuse.
            const end = world.disturbances.begin(name);
            await clock.jump(ms);
            end();
          }
          await sleep(1_500);
        });
      },
    }),
});

export const CLOCK_SCENARIOS: readonly Scenario[] = [
  jump('goes forward by an hour', [HOUR_MS]),
  jump('goes back by an hour', [-HOUR_MS]),
  jump('goes forward by an hour and back again', [HOUR_MS, -HOUR_MS]),
];
