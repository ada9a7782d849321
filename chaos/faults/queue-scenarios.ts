import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startRedis } from '../../test/support/redis.ts';
import type { Scenario } from '../harness/scenario.ts';
import { createRandom, type Random } from '../simulation/random.ts';
import { REDIS_SKIPPED } from './dependencies.ts';
import { loadWhile } from './load-while.ts';
import { play } from './stage.ts';

/** Faults of the queue never leave an attempt in doubt, because the queue holds no authoritative state. */
const scenario = (name: string, befall: (redis: RedisServer, random: Random) => Promise<void>): Scenario => ({
  name,
  ...REDIS_SKIPPED,
  run: async (seed) => {
    const redis = await startRedis();
    return play({
      options: async (undo) => {
        undo(redis.stop);
        return { env: () => ({ REDIS_URL: redis.url }) };
      },
      act: ({ world }) => loadWhile(world.load, () => befall(redis, createRandom(seed))),
    });
  },
});

const flushAgainAndAgain = async (redis: RedisServer, random: Random): Promise<void> => {
  for (let times = 0; times < 10; times += 1) {
    await sleep(random.between(50, 400));
    await redis.flush();
  }
};

const restart = async (redis: RedisServer, random: Random): Promise<void> => {
  await sleep(random.between(200, 800));
  await redis.crash();
  await sleep(random.between(200, 1_500));
  await redis.start();
  await sleep(500);
};

const comeBackEmpty = async (redis: RedisServer, random: Random): Promise<void> => {
  await sleep(random.between(200, 800));
  await redis.flush();
  await restart(redis, random);
};

export const QUEUE_SCENARIOS: readonly Scenario[] = [
  scenario('Redis is emptied again and again under load', flushAgainAndAgain),
  scenario('Redis is killed under load and comes back with what it had', restart),
  scenario('Redis is killed under load and comes back empty', comeBackEmpty),
];
