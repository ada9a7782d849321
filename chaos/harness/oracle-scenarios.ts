import { type Evidence, readEvidence } from './evidence.ts';
import { FORGERIES, type Forgery } from './forgeries.ts';
import { openObserver } from './observer.ts';
import { violationsIn } from './oracle.ts';
import { comeToRest } from './rest.ts';
import type { Scenario } from './scenario.ts';
import type { Violation } from './violation.ts';
import { openWorld, type World } from './world.ts';

const REST_MS = 60_000;

const honestEvidence = async (world: World): Promise<Evidence> => {
  const { programs, load } = world;
  await programs.start();
  await Promise.all([load.singles(2), load.toMany(2), load.scheduled(1)]);
  const observer = await openObserver(world);
  try {
    await comeToRest(observer, REST_MS);
    return await readEvidence(world, observer);
  } finally {
    await observer.close();
  }
};

const overlooked = (honest: Evidence, { name, promise, forge }: Forgery): readonly Violation[] => {
  const found = violationsIn(forge(honest)).some((violation) => violation.promise === promise);
  return found ? [] : [{ promise: 'scenario', what: `the oracle overlooks that ${name}` }];
};

/** Tests the oracle itself: evidence of a real run is forged in every way that it must detect. */
const findsForgeries: Scenario = {
  name: 'the oracle finds every forgery, and nothing else',
  run: async () => {
    const world = await openWorld();
    try {
      const honest = await honestEvidence(world);
      return [...violationsIn(honest), ...FORGERIES.flatMap((forgery) => overlooked(honest, forgery))];
    } finally {
      await world.close();
    }
  },
};

export const ORACLE_SCENARIOS: readonly Scenario[] = [findsForgeries];
