import { randomFillSync, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { System } from '../domain/system.ts';

/** Asking the kernel costs 3 us whatever the length, and every send asks twice. Larger only costs memory. */
const POOL_BYTES = 8192;

/** Random bytes from a pool; no byte is given out twice. */
const createRandomBytes = (): System['randomBytes'] => {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  return (length) => {
    if (length > POOL_BYTES) return randomFillSync(Buffer.alloc(length));
    if (used + length > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const bytes = Buffer.from(pool.subarray(used, used + length));
    pool.fill(0, used, used + length);
    used += length;
    return bytes;
  };
};

/** The machine's own clock and randomness: nothing else in the program reads them. */
export const createSystem = (): System => ({
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  randomBytes: createRandomBytes(),
  uuid: () => randomUUID(),
  sleep: async (ms, signal) => {
    await sleep(ms, undefined, signal === undefined ? {} : { signal });
  },
});
