import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { System } from '../domain/system.ts';

/** The machine's own clock and randomness: nothing else in the program reads them. */
export const createSystem = (): System => ({
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  randomBytes: (length) => randomBytes(length),
  uuid: () => randomUUID(),
  sleep: async (ms, signal) => {
    await sleep(ms, undefined, signal === undefined ? {} : { signal });
  },
});
