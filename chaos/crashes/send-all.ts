import type { Load } from '../harness/load.ts';

/** Number of messages that `sendAll` sends; as many are accepted and attempted. */
export const ALL = 16;

/** Longer than a crash and the next start usually take. */
const SCHEDULED_SECONDS = 4;

/** Sends every kind of message at the same time. */
export const sendAll = async (load: Load): Promise<void> => {
  await Promise.all([load.singles(8), load.batch(6), load.toMany(3), load.scheduled(SCHEDULED_SECONDS)]);
};
