import { setTimeout as sleep } from 'node:timers/promises';
import { killPostgres } from '../harness/kill-postgres.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { World } from '../harness/world.ts';
import { createRandom } from '../simulation/random.ts';
import { loadWhile } from './load-while.ts';
import { NO_SMALL_DISK, openOnSmallDisk } from './small-disk.ts';
import { play } from './stage.ts';

const builtIn = async () => ({ builtIn: true }) as const;

/** The program restarts its own database at the same address. */
const killed = (name: string, kill: (world: World) => Promise<void>): Scenario => ({
  name,
  run: (seed) =>
    play({
      options: builtIn,
      act: async ({ world }) => {
        const random = createRandom(seed);
        const end = world.disturbances.begin(name);
        await loadWhile(world.load, async () => {
          await sleep(random.between(300, 1_000));
          await kill(world);
          await sleep(2_500);
        });
        end();
      },
    }),
});

/** Kills the postmaster: all connections fail at once, and no process remains to clean up. */
const killPostmaster = async (world: World): Promise<void> => {
  process.kill(await world.postmasterPid(), 'SIGKILL');
};

const killAll = async (world: World): Promise<void> => killPostgres(await world.postmasterPid());

/** Long enough to interrupt writes and to time out requests that wait for a connection. */
const FULL_MS = 4_000;

const diskFull: Scenario = {
  name: 'the disk of PostgreSQL is full for a while',
  ...(NO_SMALL_DISK === undefined ? {} : { skipped: NO_SMALL_DISK }),
  run: async () => {
    let fill = async (): Promise<() => Promise<void>> => async () => undefined;
    return play({
      options: async (undo) => {
        const disk = await openOnSmallDisk();
        undo(disk.close);
        fill = disk.fill;
        return { postgresUrl: disk.url };
      },
      act: async ({ world }) => {
        const end = world.disturbances.begin('the disk is full');
        await loadWhile(world.load, async () => {
          await sleep(500);
          const empty = await fill();
          await sleep(FULL_MS);
          await empty();
        });
        end();
      },
    });
  },
};

export const DATABASE_SCENARIOS: readonly Scenario[] = [
  killed('the database is killed under load', killAll),
  killed('the postmaster is killed under load, and its children live on for a moment', killPostmaster),
  diskFull,
];
