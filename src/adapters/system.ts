import { randomFillSync, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { System } from '../lib/async/async.ts';

/** Asking the kernel costs 3 us for any length, and every send asks twice. Larger only costs memory. */
const POOL_BYTES = 8192;

/** Random bytes from a pool. No byte is used twice. */
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

/** Offset after the version digit of a version 4. From here on, a version 7 is random too. */
const RANDOM_FROM = 15;

/** UUIDs of the same millisecond share their start. */
const createUuidStart = (): ((ms: number) => string) => {
  let lastMs = -1;
  let last = '';
  return (ms) => {
    if (ms === lastMs) return last;
    const digits = ms.toString(16).padStart(12, '0');
    lastMs = ms;
    last = `${digits.slice(0, 8)}-${digits.slice(8)}-7`;
    return last;
  };
};
const uuidStart = createUuidStart();

/** UUID version 7 (RFC 9562 §5.7): ids made together are adjacent in an index, however large it is. */
const uuid = (): string => uuidStart(Date.now()) + randomUUID().slice(RANDOM_FROM);

/** The machine's own clock and randomness: nothing else in the program reads them. */
export const createSystem = (): System => ({
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  randomBytes: createRandomBytes(),
  uuid,
  sleep: async (ms, signal) => {
    await sleep(ms, undefined, signal === undefined ? {} : { signal });
  },
});
