import type { Load } from '../harness/load.ts';

/** How many messages `sendAll` sends: as many are accepted and attempted. */
export const ALL = 16;

/** Later than a crash and the next start usually take. */
const SCHEDULED_SECONDS = 4;

/** A little of everything that can be sent, all at once. */
export const sendAll = async (load: Load): Promise<void> => {
  await Promise.all([load.singles(8), load.batch(6), load.toMany(3), load.scheduled(SCHEDULED_SECONDS)]);
};
