import { expect } from 'vitest';
import { createHistory } from './history.ts';
import { caughtUp, openPool, startRunner } from './open.ts';

/** A random history of `steps` steps, and live read models that have caught up with it. */
export const openLiveHistory = async (steps: number, seed = 1) => {
  const pool = await openPool();
  const history = await createHistory({ seed });
  await history.go(steps);
  const runner = startRunner(pool, history.store);
  expect(await caughtUp(pool, history.store)).toBe(true);
  return { pool, history, runner };
};
