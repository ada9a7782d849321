import { setTimeout as sleep } from 'node:timers/promises';
import { startRedis } from '../../test/support/redis.ts';
import type { Environment } from '../harness/programs.ts';
import type { Scenario } from '../harness/scenario.ts';
import { createRandom } from '../simulation/random.ts';
import { REDIS_SKIPPED } from './dependencies.ts';
import { loadWhile } from './load-while.ts';
import { play, type StageOptions, type Undo } from './stage.ts';

const PROGRAMS: Readonly<Record<string, Environment>> = {
  api: { ROLES: 'api' },
  'one worker': { ROLES: 'workers' },
  'another worker': { ROLES: 'workers' },
  'one runner': { ROLES: 'projections' },
  'another runner': { ROLES: 'projections' },
};

const LASTS_MS = 3_000;

type Options = (undo: Undo) => Promise<StageOptions>;

const onPostgres: Options = async () => ({ programs: PROGRAMS });
const onRedis: Options = async (undo) => {
  const redis = await startRedis();
  undo(redis.stop);
  return { programs: PROGRAMS, env: () => ({ REDIS_URL: redis.url }) };
};

/** No fault occurs, so there is no excuse for an attempt in doubt. */
const sideBySide = (queue: string, options: Options, skipped: object = {}): Scenario => ({
  name: `two workers and two projection runners at once, the queue on ${queue}`,
  ...skipped,
  run: () =>
    play({
      options,
      doubles: 'never',
      act: ({ world }) => loadWhile(world.load, () => sleep(LASTS_MS)),
    }),
});

const oneOfEachDies: Scenario = {
  name: 'of two workers and two projection runners one each is killed under load',
  run: (seed) =>
    play({
      options: onPostgres,
      act: async ({ world: { load, programs } }) => {
        const random = createRandom(seed);
        const dying = [random.pick(['one worker', 'another worker']), random.pick(['one runner', 'another runner'])];
        await loadWhile(load, async () => {
          for (const name of dying) {
            await sleep(random.between(300, 1_000));
            programs.kill(name);
            await programs.died(name);
          }
          await sleep(1_000);
        });
      },
    }),
};

export const SEVERAL_PROCESSES: readonly Scenario[] = [
  sideBySide('PostgreSQL', onPostgres),
  sideBySide('Redis', onRedis, REDIS_SKIPPED),
  oneOfEachDies,
];
